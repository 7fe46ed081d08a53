/* SPDX-License-Identifier: Apache-2.0 */
/*
 * orphan_writer MEBIBYTES - a process whose parent has ended writes a file. No process of the
 * job waits for it, so none inherits its count of written bytes.
 */
#include <errno.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "ledger.h"
#include "workload.h"

struct orphan {
    size_t bytes;
    meeting *place; /* where main and the orphan meet */
    pid_t *pid;     /* pid of the orphan, in shared memory */
};

static void act_as_orphan(void *data)
{
    const struct orphan *orphan = data;

    *orphan->pid = getpid();
    meet(orphan->place); /* main has waited for the parent by now */
    write_file(orphan->bytes);
    meet(orphan->place);
    meet(orphan->place); /* main waits for its exit */
}

static void act_between(void *data)
{
    start(act_as_orphan, data);
}

static void watch_end(pid_t pid, meeting *place)
{
    struct pollfd end = { .fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN };

    if (end.fd < 0)
        ledger_fail("pidfd");
    meet(place);
    while (poll(&end, 1, -1) < 0 && errno == EINTR)
        ;
}

int main(int argc, char **argv)
{
    struct orphan orphan = { .bytes = (size_t)number_argument(argc, argv, 1) * MIB };

    ledger_open();
    close(make_file()); /* fail early if files cannot be created */
    orphan.place = meeting_of(2);
    orphan.pid = shared_memory(sizeof(*orphan.pid));
    wait_for(start(act_between, &orphan));
    meet(orphan.place);
    meet(orphan.place);
    watch_end(*orphan.pid, orphan.place);
    ledger_set(WRITTEN_BYTES, (double)orphan.bytes);
    ledger_set(WRITTEN_CHARS, (double)orphan.bytes);
    ledger_set(PROCESSES, 3);
    ledger_burn_to_ms(ENOUGH_CPU_MS);
    ledger_add_own_cpu();
    ledger_close();
    return 0;
}
