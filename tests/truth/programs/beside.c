/* SPDX-License-Identifier: Apache-2.0 */
/*
 * beside FILE - a process that does not belong to the job: it holds 200 MB, and reads and
 * computes until FILE exists, for at most 15 s. Writes an empty line to standard output once it
 * holds its memory.
 */
#include <time.h>
#include <unistd.h>

#include "ledger.h"
#include "workload.h"

enum { PATIENCE_SECONDS = 15 };

int main(int argc, char **argv)
{
    time_t end = time(NULL) + PATIENCE_SECONDS;

    touch(200 * MB);
    read_zeros(500 * MB);
    if (write(STDOUT_FILENO, "\n", 1) != 1)
        ledger_fail("standard output");
    close(STDOUT_FILENO);
    while (argc > 1 && access(argv[1], F_OK) < 0 && time(NULL) < end) {
        read_zeros(5 * MB);
        burn_ms(5);
        hold_ms(5);
    }
    return 0;
}
