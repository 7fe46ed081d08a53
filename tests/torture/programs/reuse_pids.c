/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reuse_pids SHORT LONG MILLISECONDS - starts SHORT processes that exit at once and, spread among
 * them, LONG processes named "long-N" that use MILLISECONDS of CPU time and exit with N. Prints a line
 * for each of these, "N PID MICROSECONDS", and last the CPU time of all in microseconds.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "usage.h"

static void run_long(long number, long milliseconds)
{
    struct rusage usage;
    pid_t pid = fork();

    if (pid == 0) {
        char name[16];

        (void)snprintf(name, sizeof(name), "long-%ld", number);
        (void)prctl(PR_SET_NAME, name);
        burn_us(milliseconds * 1000ll);
        _exit((int)number);
    }
    if (pid < 0 || wait4(pid, NULL, 0, &usage) != pid)
        exit(1);
    (void)printf("%ld %d %lld\n", number, (int)pid, usage_us(&usage));
}

int main(int argc, char **argv)
{
    long short_count, long_count, milliseconds;

    if (argc != 4)
        return 2;
    short_count = strtol(argv[1], NULL, 10);
    long_count = strtol(argv[2], NULL, 10);
    milliseconds = strtol(argv[3], NULL, 10);
    for (long i = 0; i < short_count; i++) {
        pid_t pid;

        if (i % (short_count / long_count) == 0)
            run_long(i / (short_count / long_count), milliseconds);
        pid = fork();
        if (pid == 0)
            _exit(200);
        if (pid < 0 || waitpid(pid, NULL, 0) != pid)
            return 1;
    }
    (void)printf("%lld\n", used_us(RUSAGE_SELF) + used_us(RUSAGE_CHILDREN));
    return 0;
}
