/* SPDX-License-Identifier: Apache-2.0 */
/* spin COUNT SECONDS - COUNT processes that compute for SECONDS each. */
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS_PER_LOOK = 1000000 };

static double seconds_now(void)
{
    struct timespec now = { 0 };

    (void)clock_gettime(CLOCK_MONOTONIC, &now); /* cannot fail */
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void compute_until(double end)
{
    volatile unsigned x = 1;

    do {
        for (int i = 0; i < ROUNDS_PER_LOOK; i++)
            x = x * 1664525u + 1013904223u;
    } while (seconds_now() < end);
}

int main(int argc, char **argv)
{
    long count = argc == 3 ? strtol(argv[1], NULL, 10) : 0;
    double end;

    if (count <= 0)
        return 2;
    end = seconds_now() + strtod(argv[2], NULL);
    for (long i = 0; i < count; i++) {
        pid_t pid = fork();

        if (pid < 0)
            return 1;
        if (pid == 0) {
            compute_until(end);
            _exit(0);
        }
    }
    while (wait(NULL) > 0)
        continue;
    return 0;
}
