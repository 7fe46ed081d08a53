/* SPDX-License-Identifier: Apache-2.0 */
/* steady MEGABYTES MILLISECONDS - one process that holds its memory, burns CPU time, and
 * records how long it ran. */
#include "ledger.h"
#include "workload.h"

int main(int argc, char **argv)
{
    size_t bytes = (size_t)number_argument(argc, argv, 1) * MB;
    double base;
    char *memory;

    ledger_open();
    base = resident_bytes();
    memory = touch(bytes);
    burn_ms(number_argument(argc, argv, 2));
    release(memory, bytes);
    read_zeros(10 * MB); /* through a buffer of 1 MB, which is not recorded */
    ledger_set_lone_memory(base + (double)bytes);
    ledger_set(READ_CHARS, 10 * (double)MB);
    ledger_set(PROCESSES, 1);
    ledger_set(CONCURRENT, 1);
    ledger_set(THREADS, 1);
    ledger_set_elapsed();
    ledger_add_own_cpu();
    ledger_close();
    return 0;
}
