/* SPDX-License-Identifier: Apache-2.0 */
/* burn SECONDS [CHILDREN] - uses that much CPU time, divided among CHILDREN children if given.
 * Prints the total CPU time used, which is slightly above SECONDS, and more so on a busy
 * machine. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double cpu_seconds(void)
{
    struct timespec used;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (double)used.tv_sec + (double)used.tv_nsec / 1e9;
}

/* Starts the measurement here: the clock of a process includes the time before exec. */
static void spin(double seconds)
{
    double end = cpu_seconds() + seconds;
    volatile unsigned work = 0;

    do {
        for (int i = 0; i < 10000; i++)
            work = work + 1;
    } while (cpu_seconds() < end);
}

static double used(int who)
{
    struct rusage usage;

    getrusage(who, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

int main(int argc, char **argv)
{
    double seconds = argc > 1 ? strtod(argv[1], NULL) : 1;
    long children = argc > 2 ? strtol(argv[2], NULL, 10) : 0;

    if (children == 0)
        spin(seconds);
    for (long i = 0; i < children; i++) {
        if (fork() == 0) {
            spin(seconds / (double)children);
            _exit(0);
        }
        wait(NULL);
    }
    printf("%f\n", used(RUSAGE_SELF) + used(RUSAGE_CHILDREN));
    return 0;
}
