/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rank VARIABLE RANKS together|in-turn MILLISECONDS - one rank of a parallel job. The
 * environment variable VARIABLE contains its number. Rank 0 holds 100 MB, rank 1 200 MB and so
 * on: all at the same time, or one after the other. The ranks meet through the file "meeting"
 * in the current folder, which is missing or empty at the start.
 */
#include "ledger.h"
#include "workload.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { POLL_MS = 5 };

static int meeting_file;
static off_t expected_bytes;

/* Each rank appends a byte, then waits for the bytes of the others. */
static void meet_ranks(long ranks)
{
    struct stat status;

    expected_bytes += ranks;
    if (write(meeting_file, "x", 1) != 1)
        ledger_fail("write");
    while (fstat(meeting_file, &status) == 0 && status.st_size < expected_bytes)
        hold_ms(POLL_MS);
}

int main(int argc, char **argv)
{
    const char *number = argc == 5 ? getenv(argv[1]) : NULL;
    long rank = number ? strtol(number, NULL, 10) : -1, ranks = number_argument(argc, argv, 2);
    long milliseconds = number_argument(argc, argv, 4);
    size_t bytes = (size_t)(rank + 1) * 100 * MB;
    double base;

    if (rank < 0)
        ledger_cannot("no rank");
    ledger_open();
    base = resident_bytes();
    meeting_file = open("meeting", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    meet_ranks(ranks);
    for (long turn = 0; turn < ranks; turn++) {
        char *memory = turn == rank || strcmp(argv[3], "together") == 0 ? touch(bytes) : NULL;

        meet_ranks(ranks);
        if (memory)
            burn_ms(milliseconds);
        meet_ranks(ranks);
        if (memory)
            release(memory, bytes);
        if (strcmp(argv[3], "together") == 0)
            break;
        meet_ranks(ranks); /* one rank frees its memory before the next one allocates */
    }
    ledger_set_lone_memory(base + (double)bytes);
    ledger_set(PROCESSES, 1);
    ledger_add_own_cpu();
    ledger_close();
    return 0;
}
