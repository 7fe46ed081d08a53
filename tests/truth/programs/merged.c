/* SPDX-License-Identifier: Apache-2.0 */
/*
 * merged - 100 MB of equal pages that the kernel has merged (KSM) before the counting begins:
 * the resident set of 100 MB consists of a few pages. Merging must be enabled on the machine.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "ledger.h"
#include "workload.h"

enum { PATIENCE_MS = 20000, LOOK_MS = 20, PAGE_BYTES = 4096 };

static double merged_bytes(void)
{
    char text[64] = "";
    int fd = open("/proc/self/ksm_merging_pages", O_RDONLY | O_CLOEXEC);

    if (fd < 0 || read(fd, text, sizeof(text) - 1) < 0)
        ledger_cannot("the kernel does not merge pages");
    close(fd);
    return (double)strtoul(text, NULL, 10) * PAGE_BYTES;
}

/* A merged page takes the place of at most 256 pages. */
static double distinct_bytes(void)
{
    return resident_bytes() - merged_bytes() * 255 / 256;
}

int main(void)
{
    size_t bytes = 100 * MB;
    char *memory = reserve(bytes);
    double peak;

    if (madvise(memory, bytes, MADV_MERGEABLE) < 0)
        ledger_cannot("the kernel does not merge pages");
    write_pages(memory, bytes);
    for (int waited = 0; merged_bytes() < (double)bytes * 0.98; waited += LOOK_MS) {
        if (waited > PATIENCE_MS)
            ledger_cannot("nobody merges pages (/sys/kernel/mm/ksm/run)");
        hold_ms(LOOK_MS);
    }
    peak = distinct_bytes(); /* the last pages may be merged as the counting begins */
    ledger_open();
    hold_ms(700);
    ledger_set(PEAK_RSS_BYTES, peak);
    ledger_set(PROCESSES, 1);
    ledger_burn_to_ms(ENOUGH_CPU_MS);
    ledger_add_own_cpu();
    ledger_close();
    return 0;
}
