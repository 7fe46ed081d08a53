/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cow_break MEGABYTES BEFORE_MS HOLD_MS - three children write to all the memory that they inherited,
 * and keep the copies for a while. The job grows to four times its size, but no process's resident
 * memory changes.
 */
#include "ledger.h"
#include "workload.h"

enum { CHILDREN = 3 };

struct inherited {
    char *memory;
    size_t bytes;
    meeting *place;
};

static void act(void *data)
{
    const struct inherited *inherited = data;

    meet(inherited->place);
    meet(inherited->place);
    write_pages(inherited->memory, inherited->bytes);
    meet(inherited->place);
    meet(inherited->place);
    release(inherited->memory, inherited->bytes);
}

int main(int argc, char **argv)
{
    size_t bytes = (size_t)number_argument(argc, argv, 1) * MB;
    struct inherited inherited = { .bytes = bytes };
    pid_t pids[CHILDREN];
    double base;

    ledger_open();
    base = resident_bytes();
    inherited.place = meeting_of(CHILDREN + 1);
    inherited.memory = touch(bytes);
    for (int i = 0; i < CHILDREN; i++)
        pids[i] = start(act, &inherited);
    meet(inherited.place);
    hold_ms(number_argument(argc, argv, 2));
    meet(inherited.place);
    meet(inherited.place); /* all copies are written */
    hold_ms(number_argument(argc, argv, 3));
    meet(inherited.place);
    for (int i = 0; i < CHILDREN; i++)
        wait_for(pids[i]);
    release(inherited.memory, bytes);
    ledger_set(PEAK_RSS_BYTES, base + (CHILDREN + 1) * (double)bytes);
    ledger_set(MAIN_RSS_BYTES, base + (double)bytes);
    ledger_set(DESCENDANTS_RSS_BYTES, base + CHILDREN * (double)bytes);
    ledger_set(PRIVATE_BYTES, (CHILDREN + 1) * (double)bytes);
    ledger_set(SHARED_BYTES, base + (double)bytes);
    ledger_set(ANON_BYTES, (CHILDREN + 1) * (double)bytes);
    ledger_set(PROCESSES, CHILDREN + 1);
    ledger_set(CONCURRENT, CHILDREN + 1);
    ledger_burn_to_ms(ENOUGH_CPU_MS);
    ledger_add_own_cpu();
    ledger_close();
    return 0;
}
