/* SPDX-License-Identifier: Apache-2.0 */
/*
 * crowd COUNT - starts COUNT processes that wait, prints "ready" once all exist, and ends them
 * when it has read a byte. Then it prints the total CPU time in microseconds.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "usage.h"

int main(int argc, char **argv)
{
    long count = argc == 2 ? strtol(argv[1], NULL, 10) : 0;
    int gate[2];
    char byte;

    if (pipe(gate) < 0)
        return 2;
    for (long i = 0; i < count; i++) {
        pid_t pid = fork();

        if (pid < 0) {
            perror("fork");
            return 1;
        }
        if (pid == 0) {
            (void)close(gate[1]);
            (void)!read(gate[0], &byte, 1);
            _exit(0);
        }
    }
    (void)puts("ready");
    (void)fflush(stdout);
    (void)getchar();
    (void)close(gate[1]);
    while (wait(NULL) > 0)
        continue;
    (void)printf("%lld\n", used_us(RUSAGE_SELF) + used_us(RUSAGE_CHILDREN));
    return 0;
}
