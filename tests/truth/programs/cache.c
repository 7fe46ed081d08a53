/* SPDX-License-Identifier: Apache-2.0 */
/* cache MEGABYTES - reads a file through a small buffer: the page cache does not count as its
 * memory. */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "ledger.h"
#include "workload.h"

/* Returns the bytes of the file that are in the page cache. */
static double cached_bytes(int fd, size_t bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), count = (bytes + page - 1) / page, cached = 0;
    void *map = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);
    unsigned char *is_cached = malloc(count);

    if (map == MAP_FAILED || !is_cached || mincore(map, bytes, is_cached) < 0)
        ledger_fail("mincore");
    for (size_t i = 0; i < count; i++)
        cached += is_cached[i] & 1;
    munmap(map, bytes);
    free(is_cached);
    return (double)(cached * page);
}

/* Reads the file until all of it is in the page cache at once, which is the peak: a virtual
 * machine was seen to drop 15 MB of 1000 MB at once. Returns the bytes read. */
static double fill_cache(int fd, char *buffer, size_t bytes)
{
    enum { ROUNDS_MAX = 10 };
    double read_bytes = 0;

    for (int round = 0; cached_bytes(fd, bytes) < (double)bytes; round++) {
        ssize_t n;

        if (round == ROUNDS_MAX || lseek(fd, 0, SEEK_SET) < 0)
            ledger_fail("page cache");
        while ((n = read(fd, buffer, MIB)) > 0)
            read_bytes += (double)n;
        if (n < 0)
            ledger_fail("read");
    }
    return read_bytes;
}

int main(int argc, char **argv)
{
    size_t bytes;
    double base, read_bytes;
    char *buffer;
    int fd;

    ledger_open();
    bytes = (size_t)number_argument(argc, argv, 1) * MB;
    fd = make_sparse_file(bytes);
    buffer = touch(MIB);
    base = resident_bytes();
    read_bytes = fill_cache(fd, buffer, bytes);
    /* On a virtual machine perf's clock was 5 to 27 % ahead of the process's own while the
     * cache was filled, for unknown reasons. Burning CPU time makes the difference small. */
    burn_ms(1200);
    ledger_set_lone_memory(base);
    ledger_set(JOB_PEAK_BYTES, (double)bytes + base);
    ledger_set(PAGE_CACHE_BYTES, (double)bytes);
    ledger_set(READ_CHARS, read_bytes);
    close(fd); /* this also drops the cache */
    ledger_add_own_cpu();
    ledger_close();
    return 0;
}
