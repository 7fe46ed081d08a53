/* SPDX-License-Identifier: Apache-2.0 */
/* rename - a process whose name looks like the fields that follow the name in
 * /proc/PID/stat. */
#include <sys/prctl.h>

#include "ledger.h"
#include "workload.h"

static const size_t bytes = 60 * MB;

static void act(void *data)
{
    char *memory = touch(bytes);

    (void)data;
    prctl(PR_SET_NAME, ") Z 0 (\n");
    burn_ms(500);
    release(memory, bytes);
}

int main(void)
{
    char *memory;
    pid_t child;
    double base;

    ledger_open();
    prctl(PR_SET_NAME, "a) R 1 (b");
    base = resident_bytes();
    child = start(act, NULL);
    memory = touch(bytes);
    burn_ms(500);
    wait_for(child);
    release(memory, bytes);
    ledger_set(MAIN_RSS_BYTES, base + (double)bytes);
    ledger_set(DESCENDANTS_RSS_BYTES, base + (double)bytes);
    ledger_set(PROCESSES, 2);
    ledger_set(CONCURRENT, 2);
    ledger_set(THREADS, 2);
    ledger_add_own_cpu();
    ledger_close();
    return 0;
}
