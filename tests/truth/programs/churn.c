/* SPDX-License-Identifier: Apache-2.0 */
/*
 * churn MILLISECONDS - children that start and exit while a tracker reads their memory: a
 * process of 100 MB forks one every 4 ms; each writes 5 MiB of its inherited memory and exits
 * after 15 ms.
 */
#include <errno.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "ledger.h"
#include "workload.h"

static const size_t inherited_bytes = 100 * MB;
static const size_t step_bytes = 65536;
static const size_t written_bytes = 80 * 65536;

struct copies {
    atomic_long now, most; /* bytes copied by the living children, and their peak */
    char *memory;
};

static void note_copied(struct copies *copies, long bytes)
{
    long now = atomic_fetch_add(&copies->now, bytes) + bytes;
    long most = atomic_load(&copies->most);

    while (now > most && !atomic_compare_exchange_weak(&copies->most, &most, now))
        ;
}

static void act(void *data)
{
    struct copies *copies = data;

    for (size_t done = 0; done < written_bytes; done += step_bytes) {
        write_pages(copies->memory + done, step_bytes);
        note_copied(copies, (long)step_bytes);
    }
    hold_ms(15);
    release(copies->memory, written_bytes);
    atomic_fetch_sub(&copies->now, (long)written_bytes);
    _exit(0); /* the parent's wait counts its CPU time, including the exit */
}

static double now_ms(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e3 + (double)time.tv_nsec / 1e6;
}

int main(int argc, char **argv)
{
    long milliseconds = number_argument(argc, argv, 1);
    struct copies *copies = shared_memory(sizeof(*copies));
    double base, copied, end;
    long count = 0;

    ledger_open();
    base = resident_bytes();
    copies->memory = touch(inherited_bytes);
    for (end = now_ms() + (double)milliseconds; now_ms() < end; count++) {
        start(act, copies);
        hold_ms(4);
        while (waitpid(-1, NULL, WNOHANG) > 0)
            ;
    }
    while (wait(NULL) > 0 || errno == EINTR)
        ;
    release(copies->memory, inherited_bytes);
    copied = (double)atomic_load(&copies->most);
    ledger_set(PEAK_RSS_BYTES, base + (double)inherited_bytes + copied);
    ledger_set(MAIN_RSS_BYTES, base + (double)inherited_bytes);
    ledger_set(PROCESSES, (double)count + 1);
    ledger_add_waited_cpu();
    ledger_burn_to_ms(ENOUGH_CPU_MS);
    ledger_add_own_cpu();
    ledger_close();
    return 0;
}
