/* SPDX-License-Identifier: Apache-2.0 */
#include "cgroup/scope_keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/hidden_child.h"
#include "spoor/spoor.h"

static _Noreturn void keep(int end_fd)
{
    char byte;

    /* The job, or others, may wait to see files of the tracker closed. */
    if (hidden_child_keep_only(end_fd, 0) < 0)
        _exit(1);
    while (read(0, &byte, 1) < 0 && errno == EINTR)
        continue;
    _exit(0);
}

int scope_keeper_start(struct scope_keeper *ret)
{
    AUTO_CLOSE int read_fd = -1;
    AUTO_CLOSE int write_fd = -1;
    int fds[2];
    pid_t pid;

    /* Closes none: whether there is such a call. */
    if (syscall(__NR_close_range, UINT_MAX, UINT_MAX, 0u) < 0 || pipe2(fds, O_CLOEXEC) < 0)
        return -errno;
    read_fd = fds[0];
    write_fd = fds[1];
    pid = hidden_child_fork(SPOOR_AGENT_NAME); /* it belongs to no job */
    if (pid == 0)
        keep(read_fd);
    if (pid < 0)
        return pid;
    *ret = (struct scope_keeper){ .pid = pid, .fd = take_fd(&write_fd) };
    return 0;
}

void scope_keeper_stop(struct scope_keeper *keeper)
{
    siginfo_t info = { 0 };

    if (keeper->pid == 0)
        return;
    close(keeper->fd);
    /* It may have been stopped: then it would not notice. As long as it has not been
     * waited for, the pid is its own. */
    if (waitid(P_PID, (id_t)keeper->pid, &info, WEXITED | WNOHANG | WNOWAIT | __WALL) == 0)
        (void)kill(keeper->pid, SIGKILL);
    hidden_child_reap(keeper->pid);
    *keeper = (struct scope_keeper){ 0 };
}
