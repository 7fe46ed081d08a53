/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sharing - three regions of MAP_SHARED memory and three inherited by fork, in four processes.
 *
 * First all of it is shared: 6 x 30 MB, counted once. Then each child writes to the first shared
 * region, which changes nothing, to all of the first inherited one and to half of the second: it
 * gets copies of these, and the originals, which only main still maps, become private.
 */
#include "ledger.h"
#include "workload.h"

enum { CHILDREN = 3, REGIONS = 3, HOLD_MS = 700 };
static const size_t region_bytes = 30 * MB / 8192 * 8192;

struct regions {
    char *shared[REGIONS];
    char *inherited[REGIONS];
    meeting *place;
};

static void release_all(const struct regions *regions)
{
    for (int i = 0; i < REGIONS; i++) {
        release(regions->shared[i], region_bytes);
        release(regions->inherited[i], region_bytes);
    }
}

static void act(void *data)
{
    const struct regions *regions = data;

    for (int i = 0; i < REGIONS; i++) {
        read_pages(regions->shared[i], region_bytes);
        read_pages(regions->inherited[i], region_bytes);
    }
    meet(regions->place); /* all memory is shared */
    meet(regions->place);
    write_pages(regions->shared[0], region_bytes);
    write_pages(regions->inherited[0], region_bytes);
    write_pages(regions->inherited[1], region_bytes / 2);
    meet(regions->place); /* the children have written their copies */
    meet(regions->place);
    release_all(regions);
}

static void note_truth(double base)
{
    double region = (double)region_bytes;
    double all = 2 * REGIONS * region;
    double copies = CHILDREN * 1.5 * region;

    ledger_set(PEAK_RSS_BYTES, base + all + copies);
    ledger_set(MAIN_RSS_BYTES, base + all);
    /* The children map everything except the part of main's memory that all of them have
     * copied. */
    ledger_set(DESCENDANTS_RSS_BYTES, base + all - 1.5 * region + copies);
    ledger_set(PRIVATE_BYTES, copies + 1.5 * region);
    ledger_set(SHARED_BYTES, base + all);
    ledger_set(PROCESSES, CHILDREN + 1);
    ledger_set(CONCURRENT, CHILDREN + 1);
}

int main(void)
{
    struct regions regions;
    pid_t pids[CHILDREN];
    double base;

    ledger_open();
    base = resident_bytes();
    regions.place = meeting_of(CHILDREN + 1);
    for (int i = 0; i < REGIONS; i++) {
        regions.shared[i] = shared_memory(region_bytes);
        write_pages(regions.shared[i], region_bytes);
        regions.inherited[i] = touch(region_bytes);
    }
    for (int i = 0; i < CHILDREN; i++)
        pids[i] = start(act, &regions);
    meet(regions.place);
    hold_ms(HOLD_MS);
    meet(regions.place);
    meet(regions.place);
    hold_ms(HOLD_MS);
    meet(regions.place);
    for (int i = 0; i < CHILDREN; i++)
        wait_for(pids[i]);
    release_all(&regions);
    note_truth(base);
    ledger_burn_to_ms(ENOUGH_CPU_MS);
    ledger_add_own_cpu();
    ledger_close();
    return 0;
}
