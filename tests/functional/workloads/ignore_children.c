/* SPDX-License-Identifier: Apache-2.0 */
/* ignore_children N - starts N children one after the other, each of which uses 10 ms of CPU
 * time, and lets the kernel reap them. */
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    long count = argc > 1 ? strtol(argv[1], NULL, 10) : 1;
    struct timespec used;

    signal(SIGCHLD, SIG_IGN);
    for (long i = 0; i < count; i++) {
        if (fork() == 0) {
            do
                clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
            while (used.tv_sec == 0 && used.tv_nsec < 10000000);
            _exit(0);
        }
        wait(NULL); /* SIGCHLD is ignored: blocks until no child is left */
    }
    return 0;
}
