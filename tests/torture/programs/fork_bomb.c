/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fork_bomb MILLISECONDS - every process forks as fast as it can, lives for some 20 ms, and
 * leaves its children as orphans. Run it only in a cgroup with a limit: if no fork fails, it
 * stops at 2,000 concurrent processes. Exits after MILLISECONDS and prints the number of
 * processes started, the most that were alive at once, and the number of forks that failed or
 * were skipped at this limit.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "usage.h"

enum { AT_ONCE_MAX = 2000, LIFE_US = 20000 };

struct counts {
    atomic_long started, alive, peak, refused;
};

static void note_start(struct counts *counts)
{
    long alive = atomic_fetch_add(&counts->alive, 1) + 1, peak = atomic_load(&counts->peak);

    atomic_fetch_add(&counts->started, 1);
    while (alive > peak && !atomic_compare_exchange_weak(&counts->peak, &peak, alive))
        continue;
}

static void multiply(struct counts *counts, long long end_us, long long life_us)
{
    long long own_end_us = clock_us(CLOCK_MONOTONIC) + life_us;

    while (clock_us(CLOCK_MONOTONIC) < (own_end_us < end_us ? own_end_us : end_us)) {
        pid_t pid = atomic_load(&counts->alive) < AT_ONCE_MAX ? fork() : -1;

        if (pid == 0) {
            note_start(counts);
            multiply(counts, end_us, LIFE_US);
            atomic_fetch_sub(&counts->alive, 1);
            _exit(0);
        }
        if (pid < 0) {
            atomic_fetch_add(&counts->refused, 1);
            (void)usleep(1000);
        }
        while (waitpid(-1, NULL, WNOHANG) > 0)
            continue;
    }
}

int main(int argc, char **argv)
{
    long long milliseconds = argc == 2 ? strtol(argv[1], NULL, 10) : 0;
    struct counts *counts =
        mmap(NULL, sizeof(*counts), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (counts == MAP_FAILED)
        return 2;
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); /* to wait for orphans, too */
    multiply(counts, clock_us(CLOCK_MONOTONIC) + milliseconds * 1000, milliseconds * 1000);
    while (wait(NULL) > 0)
        continue;
    (void)printf("%ld %ld %ld\n", atomic_load(&counts->started), atomic_load(&counts->peak),
                 atomic_load(&counts->refused));
    return 0;
}
