/* SPDX-License-Identifier: Apache-2.0 */
/* cache MEGABYTES - reads a file through a small buffer: page cache, which is not its memory. */
#include <unistd.h>

#include "ledger.h"
#include "workload.h"

int main(int argc, char **argv)
{
    size_t bytes;
    char *buffer;
    double base;
    ssize_t n;
    int fd;

    ledger_open();
    bytes = (size_t)number_argument(argc, argv, 1) * MB;
    fd = make_sparse_file(bytes);
    buffer = touch(MIB);
    base = resident_bytes();
    while ((n = read(fd, buffer, MIB)) > 0)
        ;
    if (n < 0)
        ledger_fail("read");
    hold_ms(1200);
    ledger_set_lone_memory(base);
    ledger_set(JOB_PEAK_BYTES, (double)bytes + base);
    ledger_set(PAGE_CACHE_BYTES, (double)bytes);
    ledger_set(READ_CHARS, (double)bytes);
    close(fd); /* and with it goes the cache */
    ledger_add_own_cpu();
    ledger_close();
    return 0;
}
