/* SPDX-License-Identifier: Apache-2.0 */
/* duty SECONDS - alternates between 20 ms of CPU time and 20 ms of sleep. Prints its CPU time
 * and its wall time. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now(clockid_t clock)
{
    struct timespec time;

    clock_gettime(clock, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
    double seconds = argc > 1 ? strtod(argv[1], NULL) : 1;
    double start = now(CLOCK_MONOTONIC);
    volatile unsigned work = 0;

    while (now(CLOCK_MONOTONIC) - start < seconds) {
        double turn = now(CLOCK_PROCESS_CPUTIME_ID) + 0.02;
        struct timespec rest = { .tv_nsec = 20000000 };

        while (now(CLOCK_PROCESS_CPUTIME_ID) < turn)
            work = work + 1;
        nanosleep(&rest, NULL);
    }
    printf("%f %f\n", now(CLOCK_PROCESS_CPUTIME_ID), now(CLOCK_MONOTONIC) - start);
    return 0;
}
