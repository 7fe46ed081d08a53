/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spike MEGABYTES MILLISECONDS write|read - one process holds memory for a moment of a long
 * run. With "read", the kernel fills the memory, so the program has no page faults there.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "ledger.h"
#include "workload.h"

static void fill_by_read(char *memory, size_t bytes)
{
    int fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);
    size_t done = 0;

    if (fd < 0)
        ledger_fail("/dev/zero");
    while (done < bytes) {
        ssize_t n = read(fd, memory + done, bytes - done);

        if (n <= 0)
            ledger_fail("read");
        done += (size_t)n;
    }
    close(fd);
    ledger_set(READ_CHARS, (double)bytes);
}

int main(int argc, char **argv)
{
    size_t bytes;
    double before;
    char *memory;

    ledger_open();
    bytes = (size_t)number_argument(argc, argv, 1) * MB;
    hold_ms(300);
    before = resident_bytes();
    memory = reserve(bytes);
    if (argc > 3 && strcmp(argv[3], "read") == 0)
        fill_by_read(memory, bytes);
    else
        write_pages(memory, bytes);
    hold_ms(number_argument(argc, argv, 2));
    release(memory, bytes);
    hold_ms(1100);
    ledger_set_lone_memory(before + (double)bytes);
    ledger_set(JOB_PEAK_BYTES, before + (double)bytes);
    ledger_set(ANON_BYTES, (double)bytes);
    ledger_set(PROCESSES, 1);
    ledger_set(CONCURRENT, 1);
    ledger_burn_to_ms(ENOUGH_CPU_MS);
    ledger_add_own_cpu();
    ledger_close();
    return 0;
}
