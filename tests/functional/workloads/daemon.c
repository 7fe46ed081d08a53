/* SPDX-License-Identifier: Apache-2.0 */
/*
 * daemon MODE - starts a daemon, which is forked twice and has its own session. The first
 * process exits once the daemon runs. The daemon prints its pid; with MODE "burn" it uses 0.3 s
 * of CPU time, with "wait" it exits at the end of its input.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    int is_waiting = argc > 1 && strcmp(argv[1], "wait") == 0;
    struct timespec used;
    char byte;
    int told[2];

    if (pipe(told) < 0)
        return 1;
    if (fork() != 0) {
        /* Exit only once the daemon exists. */
        return read(told[0], &byte, 1) == 1 ? 0 : 1;
    }
    setsid();
    if (fork() != 0)
        _exit(0);
    printf("%d\n", (int)getpid());
    fflush(stdout);
    if (write(told[1], "d", 1) != 1)
        _exit(1);
    if (is_waiting) {
        while (read(STDIN_FILENO, &byte, 1) > 0)
            ;
        return 0;
    }
    do
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    while (used.tv_sec == 0 && used.tv_nsec < 300000000);
    return 0;
}
