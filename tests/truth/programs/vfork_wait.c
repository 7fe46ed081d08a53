/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vfork_wait - a child of vfork() uses the memory of its parent until it calls exec: two
 * processes of 100 MB use 100 MB together.
 */
#include <poll.h>
#include <unistd.h>

#include "ledger.h"
#include "workload.h"

int main(void)
{
    size_t bytes = 100 * MB;
    char *memory;
    double base;
    pid_t child;

    ledger_open();
    base = resident_bytes();
    memory = touch(bytes);
    child = vfork();
    if (child < 0)
        ledger_fail("vfork");
    if (child == 0) {
        poll(NULL, 0, 900);
        execl("/bin/true", "true", (char *)NULL);
        _exit(1);
    }
    wait_for(child);
    hold_ms(300);
    release(memory, bytes);
    ledger_set(PEAK_RSS_BYTES, base + (double)bytes);
    ledger_set(MAIN_RSS_BYTES, base + (double)bytes);
    ledger_set(DESCENDANTS_RSS_BYTES, 1.0 * MB); /* memory of /bin/true */
    ledger_set(PRIVATE_BYTES, (double)bytes);
    ledger_set(PROCESSES, 2);
    ledger_set(CONCURRENT, 2);
    ledger_add_waited_cpu();
    ledger_burn_to_ms(ENOUGH_CPU_MS);
    ledger_add_own_cpu();
    ledger_close();
    return 0;
}
