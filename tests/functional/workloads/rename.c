/* SPDX-License-Identifier: Apache-2.0 */
/* rename NAME SECONDS - sets the name of its process and forks a child with the same name that
 * uses SECONDS of CPU time: a reader that misparses the name loses that time. Prints the
 * child's CPU time. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    double seconds = argc > 2 ? strtod(argv[2], NULL) : 0.2;
    struct timespec used;
    struct rusage spent;

    prctl(PR_SET_NAME, argc > 1 ? argv[1] : "");
    if (fork() == 0) {
        do
            clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
        while ((double)used.tv_sec + (double)used.tv_nsec / 1e9 < seconds);
        _exit(0);
    }
    wait(NULL);
    getrusage(RUSAGE_CHILDREN, &spent);
    printf("%f\n", (double)(spent.ru_utime.tv_sec + spent.ru_stime.tv_sec) +
                       (double)(spent.ru_utime.tv_usec + spent.ru_stime.tv_usec) / 1e6);
    return 0;
}
