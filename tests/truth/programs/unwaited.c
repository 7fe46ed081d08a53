/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unwaited COUNT read|write MEGABYTES - COUNT children in a row, each of which reads or writes
 * MEGABYTES and exits within milliseconds. Their parent ignores SIGCHLD: the kernel adds their
 * usage to no other process.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "ledger.h"
#include "workload.h"

struct work {
    size_t bytes;
    bool is_write;
    int done[2]; /* reads end of file once the child has exited */
};

static void act(void *data)
{
    const struct work *work = data;

    if (work->is_write)
        write_nowhere(work->bytes);
    else
        read_zeros(work->bytes);
}

static void run_child(struct work *work)
{
    char byte;

    if (pipe2(work->done, O_CLOEXEC) < 0)
        ledger_fail("pipe");
    start(act, work);
    close(work->done[1]);
    while (read(work->done[0], &byte, 1) < 0 && errno == EINTR)
        ;
    close(work->done[0]);
}

int main(int argc, char **argv)
{
    long count = number_argument(argc, argv, 1);
    struct work work = { .bytes = (size_t)number_argument(argc, argv, 3) * MB,
                         .is_write = strcmp(argv[2], "write") == 0 };

    ledger_open();
    signal(SIGCHLD, SIG_IGN);
    for (long i = 0; i < count; i++)
        run_child(&work);
    ledger_set(work.is_write ? WRITTEN_CHARS : READ_CHARS, (double)work.bytes * (double)count);
    ledger_set(PROCESSES, (double)count + 1);
    ledger_burn_to_ms(ENOUGH_CPU_MS);
    ledger_add_own_cpu();
    ledger_close();
    return 0;
}
