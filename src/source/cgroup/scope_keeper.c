/* SPDX-License-Identifier: Apache-2.0 */
#include "source/cgroup/scope_keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"

static int close_all_from(unsigned first)
{
    return syscall(SYS_close_range, first, UINT_MAX, 0u) < 0 ? -errno : 0;
}

/* Runs in a copy of a process that may have had other threads: only system calls. */
static _Noreturn void keep(int end_fd)
{
    char byte;

    (void)prctl(PR_SET_NAME, "spoor-keeper"); /* for those who look at a list of processes */
    (void)setsid();                           /* signals of the job's group are not for it */
    /* Files of the tracker that the job waits on, or that others wait to see closed. */
    if (dup2(end_fd, 0) < 0 || close_all_from(1) < 0)
        _exit(1);
    while (read(0, &byte, 1) < 0 && errno == EINTR)
        continue;
    _exit(0);
}

int scope_keeper_start(struct scope_keeper *ret)
{
    AUTO_CLOSE int read_fd = -1;
    AUTO_CLOSE int write_fd = -1;
    sigset_t all, before;
    int fds[2];
    long pid;
    int r = close_all_from(UINT_MAX); /* closes none: only asks whether there is such a call */

    if (r < 0)
        return r;
    if (pipe2(fds, O_CLOEXEC) < 0)
        return -errno;
    read_fd = fds[0];
    write_fd = fds[1];
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pid = syscall(SYS_clone, 0ul, NULL, NULL, NULL, 0ul); /* a fork without a SIGCHLD */
    if (pid == 0)
        keep(read_fd);
    r = pid < 0 ? -errno : 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (r < 0)
        return r;
    *ret = (struct scope_keeper){ .pid = (pid_t)pid, .fd = take_fd(&write_fd) };
    return 0;
}

void scope_keeper_stop(struct scope_keeper *keeper)
{
    siginfo_t info = { 0 };

    if (keeper->pid == 0)
        return;
    close(keeper->fd);
    /* Somebody may have stopped it: then it would not notice. As long as it has not been
     * waited for, the pid is its own. */
    if (waitid(P_PID, (id_t)keeper->pid, &info, WEXITED | WNOHANG | WNOWAIT | __WALL) == 0)
        (void)kill(keeper->pid, SIGKILL);
    while (waitid(P_PID, (id_t)keeper->pid, &info, WEXITED | __WALL) < 0 && errno == EINTR)
        continue;
    *keeper = (struct scope_keeper){ 0 };
}
