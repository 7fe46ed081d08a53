/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cow_break - three children write to 100 MB that they inherited. Nobody's resident memory moves,
 * and yet the job grows from 100 to 400 MB.
 */
#include "ledger.h"
#include "workload.h"

enum { CHILDREN = 3, HOLD_MS = 600 };
static const size_t bytes = 100 * MB;

struct inherited {
    char *memory;
    meeting *place;
};

static void act(void *data)
{
    const struct inherited *inherited = data;

    meet(inherited->place);
    meet(inherited->place);
    write_pages(inherited->memory, bytes);
    meet(inherited->place);
    meet(inherited->place);
    release(inherited->memory, bytes);
}

int main(void)
{
    struct inherited inherited;
    pid_t pids[CHILDREN];
    double base;

    ledger_open();
    base = resident_bytes();
    inherited.place = meeting_of(CHILDREN + 1);
    inherited.memory = touch(bytes);
    for (int i = 0; i < CHILDREN; i++)
        pids[i] = start(act, &inherited);
    meet(inherited.place);
    hold_ms(HOLD_MS);
    meet(inherited.place);
    meet(inherited.place); /* written */
    hold_ms(HOLD_MS);
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
