/* SPDX-License-Identifier: Apache-2.0 */
/*
 * daemon MEGABYTES MILLISECONDS stay|leave - a process that was forked twice and has its own
 * session holds the memory and burns the CPU time. With "leave", the main process exits at
 * once.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "ledger.h"
#include "workload.h"

struct work {
    size_t bytes;
    long milliseconds;
    bool is_last; /* the daemon exits last and writes the ledger */
    int done[2];
};

static void act_as_daemon(void *data)
{
    const struct work *work = data;
    char *memory = touch(work->bytes);

    burn_ms(work->milliseconds);
    release(memory, work->bytes);
    if (work->is_last) {
        ledger_add_own_cpu();
        ledger_close();
        _exit(0);
    }
    /* The other end reads end of file once this process has exited. */
}

static void act_between(void *data)
{
    if (setsid() < 0)
        ledger_fail("setsid");
    start(act_as_daemon, data);
}

int main(int argc, char **argv)
{
    struct work work = {
        .bytes = (size_t)number_argument(argc, argv, 1) * MB,
        .milliseconds = number_argument(argc, argv, 2),
        .is_last = argc > 3 && strcmp(argv[3], "leave") == 0,
    };
    char byte;

    ledger_open();
    ledger_set(PEAK_RSS_BYTES, (double)work.bytes + resident_bytes());
    ledger_set(DESCENDANTS_RSS_BYTES, (double)work.bytes + resident_bytes());
    ledger_set(PRIVATE_BYTES, (double)work.bytes);
    ledger_set(JOB_PEAK_BYTES, (double)work.bytes + resident_bytes());
    ledger_set(PROCESSES, 3);
    if (pipe2(work.done, O_CLOEXEC) < 0)
        ledger_fail("pipe");
    wait_for(start(act_between, &work));
    close(work.done[1]);
    if (work.is_last) {
        ledger_add_own_cpu();
        return 0;
    }
    if (read(work.done[0], &byte, 1) != 0)
        ledger_fail("daemon");
    ledger_add_own_cpu();
    ledger_close();
    return 0;
}
