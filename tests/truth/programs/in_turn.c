/* SPDX-License-Identifier: Apache-2.0 */
/*
 * in_turn COUNT MEGABYTES - children that never call exec, one after the other, each with its own
 * private memory. They share only the little memory that they inherit.
 */
#include "ledger.h"
#include "workload.h"

enum { HOLD_MS = 40 };

static void act(void *data)
{
    size_t bytes = *(const size_t *)data;
    char *memory = touch(bytes);

    hold_ms(HOLD_MS);
    release(memory, bytes);
}

int main(int argc, char **argv)
{
    long count = number_argument(argc, argv, 1);
    size_t bytes = (size_t)number_argument(argc, argv, 2) * MB;
    double base;

    ledger_open();
    base = resident_bytes();
    for (long i = 0; i < count; i++)
        wait_for(start(act, &bytes));
    ledger_set(PEAK_RSS_BYTES, base + (double)bytes);
    ledger_set(MAIN_RSS_BYTES, base);
    ledger_set(DESCENDANTS_RSS_BYTES, base + (double)bytes);
    ledger_set(PRIVATE_BYTES, (double)bytes);
    ledger_set(SHARED_BYTES, base);
    ledger_set(PROCESSES, (double)count + 1);
    ledger_set(CONCURRENT, 2);
    ledger_burn_to_ms(ENOUGH_CPU_MS);
    ledger_add_own_cpu();
    ledger_close();
    return 0;
}
