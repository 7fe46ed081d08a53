/* SPDX-License-Identifier: Apache-2.0 */
/*
 * writers MEBIBYTES - two children and a child of each write a file of that size, and are
 * waited for. The main process lives on: the kernel adds their figures to its own.
 */
#include <unistd.h>

#include "ledger.h"
#include "workload.h"

static void act_as_grandchild(void *data)
{
    write_file(*(const size_t *)data);
}

static void act_as_child(void *data)
{
    wait_for(start(act_as_grandchild, data));
    write_file(*(const size_t *)data);
}

int main(int argc, char **argv)
{
    size_t bytes = (size_t)number_argument(argc, argv, 1) * MIB;

    ledger_open();
    close(make_file()); /* fail early if files cannot be created */
    hold_ms(200);
    for (int i = 0; i < 2; i++) {
        wait_for(start(act_as_child, &bytes));
        hold_ms(600);
    }
    ledger_set(WRITTEN_BYTES, 4 * (double)bytes);
    ledger_set(WRITTEN_CHARS, 4 * (double)bytes);
    ledger_set(PROCESSES, 5);
    ledger_set(CONCURRENT, 3);
    ledger_burn_to_ms(ENOUGH_CPU_MS);
    ledger_add_own_cpu();
    ledger_close();
    return 0;
}
