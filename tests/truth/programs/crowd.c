/* SPDX-License-Identifier: Apache-2.0 */
/*
 * crowd COUNT KILOBYTES [MEGABYTES] - COUNT children of KILOBYTES each, all alive at once. With
 * so little memory, their stacks and their copies of the parent's pages matter, so each child
 * reads its own size from the kernel. Each also shares MEGABYTES with its parent.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "ledger.h"
#include "workload.h"

struct crowd {
    meeting *place;
    size_t bytes;              /* of each child */
    atomic_long private_bytes; /* sum over all children */
};

static void act(void *data)
{
    struct crowd *crowd = data;
    char *memory = touch(crowd->bytes);

    meet(crowd->place);
    atomic_fetch_add(&crowd->private_bytes, (long)private_bytes());
    meet(crowd->place);
    meet(crowd->place);
    release(memory, crowd->bytes);
    /* The children's CPU time is read when they are waited for, to include the cost of many
     * exits. */
    _exit(0);
}

static void note_truth(const struct crowd *crowd, double base, long count)
{
    double private = (double)atomic_load(&crowd->private_bytes);

    ledger_set(PEAK_RSS_BYTES, private + base);
    ledger_set(DESCENDANTS_RSS_BYTES, private + base);
    ledger_set(PRIVATE_BYTES, private);
    ledger_set(PROCESSES, (double)count + 1);
    ledger_set(CONCURRENT, (double)count + 1);
    ledger_set(THREADS, (double)count + 1);
}

int main(int argc, char **argv)
{
    long count = number_argument(argc, argv, 1);
    struct crowd *crowd = shared_memory(sizeof(*crowd));
    pid_t *pids = calloc((size_t)count, sizeof(*pids));
    double base;

    ledger_open();
    if (!pids)
        ledger_fail("memory");
    if (argc > 3)
        (void)touch((size_t)number_argument(argc, argv, 3) * MB); /* freed at exit */
    crowd->bytes = (size_t)number_argument(argc, argv, 2) * 1000;
    crowd->place = meeting_of((unsigned)count + 1);
    for (long i = 0; i < count; i++)
        pids[i] = start(act, crowd);
    meet(crowd->place);
    meet(crowd->place); /* all have read their size */
    base = resident_bytes();
    hold_ms(600);
    meet(crowd->place);
    for (long i = 0; i < count; i++)
        wait_for(pids[i]);
    free(pids);
    note_truth(crowd, base, count);
    ledger_add_waited_cpu();
    ledger_burn_to_ms(ENOUGH_CPU_MS);
    ledger_add_own_cpu();
    ledger_close();
    return 0;
}
