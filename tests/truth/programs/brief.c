/* SPDX-License-Identifier: Apache-2.0 */
/* brief - a job that ends within the first interval: 30 MB and 30 ms of CPU time. */
#include "ledger.h"
#include "workload.h"

int main(void)
{
    size_t bytes = 30 * MB;
    double base;
    char *memory;

    ledger_open();
    base = resident_bytes();
    memory = touch(bytes);
    burn_ms(30);
    release(memory, bytes);
    ledger_set_lone_memory(base + (double)bytes);
    ledger_set(ANON_BYTES, (double)bytes);
    ledger_set(PROCESSES, 1);
    ledger_set(CONCURRENT, 1);
    ledger_set(THREADS, 1);
    ledger_add_own_cpu();
    ledger_close();
    return 0;
}
