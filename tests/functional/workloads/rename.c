/* SPDX-License-Identifier: Apache-2.0 */
/* rename NAME SECONDS - takes a name as the kernel shows it, in the parent and in a child
 * that spends CPU time, so that a reader who stumbles over the name loses that time. */
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    double seconds = argc > 2 ? strtod(argv[2], NULL) : 0.2;
    struct timespec used;

    prctl(PR_SET_NAME, argc > 1 ? argv[1] : "");
    if (fork() == 0) {
        do
            clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
        while ((double)used.tv_sec + (double)used.tv_nsec / 1e9 < seconds);
        _exit(0);
    }
    wait(NULL);
    return 0;
}
