/* SPDX-License-Identifier: Apache-2.0 */
#include "base/hidden_child.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

pid_t hidden_child_fork(const char *name)
{
    sigset_t all, before;
    char own_name[16];
    long pid;

    (void)prctl(PR_GET_NAME, own_name);
    (void)prctl(PR_SET_NAME, name);
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    pid = syscall(SYS_clone, 0ul, NULL, NULL, NULL, 0ul); /* a fork without a SIGCHLD */
    if (pid == 0) {
        (void)setsid(); /* signals to our process group must not reach the child */
        return 0;
    }
    if (pid < 0)
        pid = -errno;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    (void)prctl(PR_SET_NAME, own_name);
    return (pid_t)pid;
}

int hidden_child_keep_only(int fd, int output_fd)
{
    unsigned first = output_fd == 0 ? 1 : 2;

    if ((output_fd != 0 && dup2(output_fd, 1) < 0) || dup2(fd, 0) < 0 ||
        syscall(__NR_close_range, first, UINT_MAX, 0u) < 0)
        return -errno;
    return 0;
}

void child_reap(pid_t pid)
{
    siginfo_t info;

    while (waitid(P_PID, (id_t)pid, &info, WEXITED | __WALL) < 0 && errno == EINTR)
        continue;
}
