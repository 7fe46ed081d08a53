/* SPDX-License-Identifier: Apache-2.0 */
/*
 * huge transparent|reserved - memory in pages of 2 MiB.
 *
 * transparent: 256 MiB; a child inherits them and writes a quarter of them
 * reserved:    32 MiB of hugetlb, which no resident set includes, and 50 MB of ordinary memory
 */
#include <string.h>
#include <sys/mman.h>

#include "ledger.h"
#include "workload.h"

enum { HOLD_MS = 700 };
static const size_t page_bytes = 2 * MIB;
static const size_t transparent_bytes = 256 * MIB;

struct inherited {
    char *memory;
    meeting *place;
};

static void act(void *data)
{
    const struct inherited *inherited = data;

    write_pages(inherited->memory, transparent_bytes / 4);
    meet(inherited->place);
    meet(inherited->place);
    release(inherited->memory, transparent_bytes);
}

static void use_transparent(void)
{
    char *region = reserve(transparent_bytes + page_bytes);
    uintptr_t aligned = ((uintptr_t)region + page_bytes - 1) / page_bytes * page_bytes;
    struct inherited inherited = { region + (aligned - (uintptr_t)region), meeting_of(2) };
    double base = resident_bytes();
    pid_t child;

    if (madvise(inherited.memory, transparent_bytes, MADV_HUGEPAGE) < 0)
        ledger_cannot("the kernel has no transparent huge pages");
    write_pages(inherited.memory, transparent_bytes);
    if (rollup_bytes("\nAnonHugePages:") < (double)transparent_bytes * 0.9)
        ledger_cannot("no transparent huge pages are to be had here");
    child = start(act, &inherited);
    meet(inherited.place);
    hold_ms(HOLD_MS);
    meet(inherited.place);
    wait_for(child);
    release(region, transparent_bytes + page_bytes);
    ledger_set(PEAK_RSS_BYTES, base + 1.25 * (double)transparent_bytes);
    ledger_set(MAIN_RSS_BYTES, base + (double)transparent_bytes);
    ledger_set(DESCENDANTS_RSS_BYTES, base + (double)transparent_bytes);
    ledger_set(ANON_BYTES, 1.25 * (double)transparent_bytes);
    ledger_set(PROCESSES, 2);
    ledger_set(CONCURRENT, 2);
}

static void use_reserved(void)
{
    size_t bytes = 16 * page_bytes;
    char *reserved = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);
    double base = resident_bytes();
    char *ordinary;

    if (reserved == MAP_FAILED)
        ledger_cannot("no pages in /proc/sys/vm/nr_hugepages");
    write_pages(reserved, bytes);
    ordinary = touch(50 * MB);
    hold_ms(HOLD_MS);
    release(ordinary, 50 * MB);
    release(reserved, bytes);
    ledger_set_lone_memory(base + 50.0 * MB + (double)bytes);
}

int main(int argc, char **argv)
{
    ledger_open();
    if (argc > 1 && strcmp(argv[1], "reserved") == 0)
        use_reserved();
    else
        use_transparent();
    ledger_burn_to_ms(ENOUGH_CPU_MS);
    ledger_add_own_cpu();
    ledger_close();
    return 0;
}
