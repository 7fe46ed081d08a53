/* SPDX-License-Identifier: Apache-2.0 */
/*
 * twins together|apart - spikes of 200 MB in two processes, which coincide for 80 ms or do not.
 * Only together do they make a peak of 400 MB.
 */
#include <string.h>

#include "ledger.h"
#include "workload.h"

enum { HOLD_MS = 80 };
static const size_t spike_bytes = 200 * MB;

struct twins {
    bool are_together;
    bool is_second;
    meeting *place; /* where the two processes meet */
};

static void have_spike(void)
{
    char *memory = touch(spike_bytes);

    hold_ms(HOLD_MS);
    release(memory, spike_bytes);
}

static void act(void *data)
{
    const struct twins *twins = data;

    hold_ms(300);
    if (twins->are_together) {
        char *memory = touch(spike_bytes);

        meet(twins->place);
        hold_ms(HOLD_MS);
        meet(twins->place);
        release(memory, spike_bytes);
    } else {
        if (!twins->is_second)
            have_spike();
        meet(twins->place);
        if (twins->is_second)
            have_spike();
        meet(twins->place);
    }
    hold_ms(800);
}

int main(int argc, char **argv)
{
    struct twins first = { .are_together = argc > 1 && strcmp(argv[1], "together") == 0 };
    struct twins second;
    pid_t pids[2];
    double peak;

    ledger_open();
    peak = (double)spike_bytes * (first.are_together ? 2 : 1);
    first.place = meeting_of(2);
    second = first;
    second.is_second = true;
    pids[0] = start(act, &first);
    pids[1] = start(act, &second);
    for (int i = 0; i < 2; i++)
        wait_for(pids[i]);
    ledger_set(PEAK_RSS_BYTES, peak + resident_bytes());
    ledger_set(DESCENDANTS_RSS_BYTES, peak + resident_bytes());
    ledger_set(PRIVATE_BYTES, peak);
    ledger_set(JOB_PEAK_BYTES, peak + resident_bytes());
    ledger_set(ANON_BYTES, peak);
    ledger_set(PROCESSES, 3);
    ledger_set(CONCURRENT, 3);
    ledger_burn_to_ms(ENOUGH_CPU_MS);
    ledger_add_own_cpu();
    ledger_close();
    return 0;
}
