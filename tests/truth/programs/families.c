/* SPDX-License-Identifier: Apache-2.0 */
/*
 * families - the main process reads 50 MB and burns 0.3 s; two children that it waits for read
 * 300 MB and burn 0.2 s each. The truth counts the main process alone.
 */
#include <unistd.h>

#include "ledger.h"
#include "workload.h"

static void act(void *data)
{
    char *memory = touch(60 * MB);

    (void)data;
    read_zeros(300 * MB);
    write_nowhere(100 * MB);
    burn_ms(200);
    release(memory, 60 * MB);
    _exit(0); /* without adding its CPU time to the truth */
}

int main(void)
{
    double base;
    char *memory;

    ledger_open();
    base = resident_bytes();
    memory = touch(40 * MB);
    wait_for(start(act, NULL));
    hold_ms(300);
    wait_for(start(act, NULL));
    release(memory, 40 * MB);
    read_zeros(50 * MB);
    write_nowhere(20 * MB);
    burn_ms(300);
    ledger_set(MAIN_RSS_BYTES, base + 40 * (double)MB);
    ledger_set(PEAK_RSS_BYTES, base + 40 * (double)MB);
    ledger_set(READ_CHARS, 50 * (double)MB);
    ledger_set(WRITTEN_CHARS, 20 * (double)MB);
    ledger_set(PROCESSES, 1);
    ledger_add_own_cpu();
    ledger_close();
    return 0;
}
