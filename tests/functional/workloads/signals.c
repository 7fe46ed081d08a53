/* SPDX-License-Identifier: Apache-2.0 */
/*
 * signals - prints the number of each signal that it receives, one per line, and exits at the
 * end of its input. The first line is "ready" and its pid.
 */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/signalfd.h>
#include <unistd.h>

int main(void)
{
    struct pollfd ready[2] = { { .fd = STDIN_FILENO, .events = POLLIN } };
    struct signalfd_siginfo info;
    sigset_t all;
    char byte;

    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, NULL);
    ready[1] = (struct pollfd){ .fd = signalfd(-1, &all, SFD_CLOEXEC), .events = POLLIN };
    printf("ready %d\n", (int)getpid());
    fflush(stdout);
    for (;;) {
        if (poll(ready, 2, -1) < 0)
            return 1;
        if (ready[1].revents && read(ready[1].fd, &info, sizeof(info)) == sizeof(info)) {
            printf("%u\n", info.ssi_signo);
            fflush(stdout);
        } else if (ready[0].revents && read(STDIN_FILENO, &byte, 1) <= 0) {
            return 0;
        }
    }
}
