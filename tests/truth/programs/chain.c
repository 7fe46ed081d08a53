/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chain [LEFT PEAK] - a process that executes itself again and again. The first program uses
 * the most memory: exec resets the kernel's high-water mark, but not the peak of the job. The
 * CPU clock continues.
 */
#include <stdio.h>
#include <unistd.h>

#include "ledger.h"
#include "workload.h"

int main(int argc, char **argv)
{
    long left = argc > 1 ? number_argument(argc, argv, 1) : 4;
    double peak = argc > 2 ? (double)number_argument(argc, argv, 2) : 0;
    size_t bytes = argc > 1 ? 10 * MB : 150 * MB;
    char left_text[32], peak_text[32];
    char *memory;

    ledger_open();
    memory = touch(bytes);
    if (argc == 1)
        peak = resident_bytes();
    burn_ms(200);
    hold_ms(100);
    if (left > 0) {
        snprintf(left_text, sizeof(left_text), "%ld", left - 1);
        snprintf(peak_text, sizeof(peak_text), "%.0f", peak);
        execl("/proc/self/exe", argv[0], left_text, peak_text, (char *)NULL);
        ledger_fail("exec");
    }
    release(memory, bytes);
    ledger_set_lone_memory(peak);
    ledger_set(PROCESSES, 1);
    ledger_set(CONCURRENT, 1);
    ledger_add_own_cpu();
    ledger_close();
    return 0;
}
