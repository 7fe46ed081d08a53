/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reuse_pids COUNT MILLISECONDS - starts COUNT processes with the same pid, one after the
 * other, if the kernel has few pids: between two of them, up to 500 short processes use up the
 * other pids. The COUNT processes are named "long-N", use MILLISECONDS of CPU time each and
 * exit with status N.
 *
 * Prints a line for each of them, "N PID MICROSECONDS"; then the number of all processes, this
 * one included, and their CPU time in microseconds.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "usage.h"

static long started = 1;

static pid_t start(void)
{
    pid_t pid = fork();

    if (pid < 0) {
        perror("fork");
        exit(1);
    }
    started++;
    return pid;
}

static pid_t run_long(long number, long milliseconds)
{
    struct rusage usage;
    pid_t pid = start();

    if (pid == 0) {
        char name[16];

        (void)snprintf(name, sizeof(name), "long-%ld", number);
        (void)prctl(PR_SET_NAME, name);
        burn_us(milliseconds * 1000ll);
        _exit((int)number);
    }
    if (wait4(pid, NULL, 0, &usage) != pid)
        exit(1);
    (void)printf("%ld %d %lld\n", number, (int)pid, usage_us(&usage));
    return pid;
}

/* Starts processes until `wanted` is the next pid: the kernel assigns pids in order. */
static void wait_for_turn(pid_t wanted)
{
    pid_t pid = 0;

    for (int i = 0; i < 500 && pid != wanted - 1; i++) {
        pid = start();
        if (pid == 0)
            _exit(200);
        (void)waitpid(pid, NULL, 0);
    }
}

int main(int argc, char **argv)
{
    long count, milliseconds;
    pid_t pid;

    if (argc != 3)
        return 2;
    count = strtol(argv[1], NULL, 10);
    milliseconds = strtol(argv[2], NULL, 10);
    wait_for_turn(305); /* pids below 300 are assigned only in the first round */
    pid = run_long(0, milliseconds);
    for (long i = 1; i < count; i++) {
        wait_for_turn(pid);
        (void)run_long(i, milliseconds);
    }
    (void)printf("%ld\n%lld\n", started, used_us(RUSAGE_SELF) + used_us(RUSAGE_CHILDREN));
    return 0;
}
