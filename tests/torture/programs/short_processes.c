/* SPDX-License-Identifier: Apache-2.0 */
/*
 * short_processes COUNT [AT_ONCE] - starts COUNT processes that exit at once and waits for
 * each, AT_ONCE (1) at a time. After each hundredth of them it prints their number and waits
 * for a byte, so that a test can read the tracker's usage. The last line is the total CPU time
 * in microseconds.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "usage.h"

static _Noreturn void die(const char *message)
{
    perror(message);
    exit(1);
}

static void start(void)
{
    pid_t pid = fork();

    if (pid == 0)
        _exit(0);
    if (pid < 0)
        die("fork");
}

int main(int argc, char **argv)
{
    long count = argc > 1 ? strtol(argv[1], NULL, 10) : 0;
    long at_once = argc > 2 ? strtol(argv[2], NULL, 10) : 1;

    for (long i = 1; i <= count; i++) {
        start();
        if (i >= at_once && wait(NULL) < 0)
            die("wait");
        if (count >= 100 && i % (count / 100) == 0) {
            (void)printf("%ld\n", i);
            (void)fflush(stdout);
            if (getchar() == EOF)
                break;
        }
    }
    while (wait(NULL) > 0)
        continue;
    (void)printf("%lld\n", used_us(RUSAGE_SELF) + used_us(RUSAGE_CHILDREN));
    return 0;
}
