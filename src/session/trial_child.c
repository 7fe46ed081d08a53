/* SPDX-License-Identifier: Apache-2.0 */
#include "session/trial_child.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* The child: says that it is ready, and waits for the end of its input. */
static _Noreturn void be_child(int fd, bool is_foreign)
{
    enum { NOBODY = 65534 };
    char byte = 0;

    if (is_foreign && setresuid(NOBODY, NOBODY, NOBODY) < 0)
        _exit(1);
    _exit(write(fd, &byte, 1) == 1 && read(fd, &byte, 1) == 0 ? 0 : 1);
}

void trial_child_end(pid_t pid, int end_fd)
{
    close(end_fd);
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        continue;
}

pid_t trial_child_start(bool is_foreign, int *ret_end_fd)
{
    int fds[2];
    pid_t pid;
    char byte;

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0)
        return -errno;
    pid = fork();
    if (pid == 0) {
        close(fds[1]);
        be_child(fds[0], is_foreign);
    }
    if (pid < 0)
        pid = -errno;
    close(fds[0]);
    if (pid > 0 && read(fds[1], &byte, 1) != 1) {
        trial_child_end(pid, fds[1]);
        return -EPERM;
    }
    if (pid > 0)
        *ret_end_fd = fds[1];
    else
        close(fds[1]);
    return pid;
}
