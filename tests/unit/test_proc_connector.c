/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <linux/cn_proc.h>
#include <linux/connector.h>
#include <linux/netlink.h>
#include <poll.h>
#include <string.h>

#include "fake_root.h"
#include "gated_job.h"
#include "source/events/proc_connector.h"
#include "unit_test.h"

/* A datagram as sent by the kernel: two headers, then the event. */
struct datagram {
    unsigned char bytes[256];
    size_t size;
};

static void make(struct datagram *datagram, const struct proc_event *event)
{
    struct nlmsghdr frame = { .nlmsg_type = NLMSG_DONE };
    struct cn_msg header = { .id = { CN_IDX_PROC, CN_VAL_PROC }, .len = sizeof(*event) };

    frame.nlmsg_len = sizeof(frame) + sizeof(header) + sizeof(*event);
    memcpy(datagram->bytes, &frame, sizeof(frame));
    memcpy(datagram->bytes + sizeof(frame), &header, sizeof(header));
    memcpy(datagram->bytes + sizeof(frame) + sizeof(header), event, sizeof(*event));
    datagram->size = frame.nlmsg_len;
}

static struct proc_event fork_event(int tid, int pid)
{
    struct proc_event event = { .what = PROC_EVENT_FORK, .timestamp_ns = 5000000000 };

    event.event_data.fork.parent_pid = 8; /* the thread that called fork() */
    event.event_data.fork.parent_tgid = 7;
    event.event_data.fork.child_pid = tid;
    event.event_data.fork.child_tgid = pid;
    return event;
}

static struct proc_event exit_event(int tid, int pid)
{
    struct proc_event event = { .what = PROC_EVENT_EXIT };

    event.event_data.exit.process_pid = tid;
    event.event_data.exit.process_tgid = pid;
    event.event_data.exit.exit_code = 256;
    return event;
}

TEST(forks_and_exits_are_read)
{
    struct proc_event event = fork_event(42, 42);
    struct process_event seen;
    struct datagram datagram;

    make(&datagram, &event);
    assert_int_equal(proc_connector_parse(datagram.bytes, datagram.size, &seen), 0);
    assert_int_equal(seen.kind, PROCESS_FORKED);
    assert_int_equal(seen.pid, 42);
    assert_int_equal(seen.parent_pid, 7);
    assert_int_equal(seen.time_ns, 5000000000);
    assert_false(seen.is_thread);
    event = exit_event(42, 42);
    make(&datagram, &event);
    assert_int_equal(proc_connector_parse(datagram.bytes, datagram.size, &seen), 0);
    assert_int_equal(seen.kind, PROCESS_EXITED);
    assert_true(seen.has_wait_status);
    assert_int_equal(seen.wait_status, 256);
    assert_int_equal(seen.pid, 42);
    assert_false(seen.is_thread);
}

TEST(threads_are_distinguished_from_processes)
{
    struct proc_event event = fork_event(43, 42);
    struct process_event seen;
    struct datagram datagram;

    make(&datagram, &event);
    assert_int_equal(proc_connector_parse(datagram.bytes, datagram.size, &seen), 0);
    assert_int_equal(seen.pid, 42);
    assert_true(seen.is_thread);
    event = exit_event(43, 42);
    make(&datagram, &event);
    assert_int_equal(proc_connector_parse(datagram.bytes, datagram.size, &seen), 0);
    assert_int_equal(seen.pid, 42);
    assert_true(seen.is_thread);
}

TEST(other_events_are_ignored)
{
    struct proc_event event = { .what = PROC_EVENT_EXEC };
    struct process_event seen = { .pid = -1 };
    struct datagram datagram;

    make(&datagram, &event);
    assert_int_equal(proc_connector_parse(datagram.bytes, datagram.size, &seen), -ENOMSG);
    event.what = PROC_EVENT_NONE; /* a reply to the request of another process */
    make(&datagram, &event);
    assert_int_equal(proc_connector_parse(datagram.bytes, datagram.size, &seen), -ENOMSG);
    event = fork_event(42, 42);
    make(&datagram, &event);
    datagram.bytes[sizeof(struct nlmsghdr)] = 9; /* another user of the connector */
    assert_int_equal(proc_connector_parse(datagram.bytes, datagram.size, &seen), -ENOMSG);
    assert_int_equal(seen.pid, -1);
}

TEST(a_truncated_datagram_is_refused)
{
    struct proc_event event = fork_event(42, 42);
    struct process_event seen = { .pid = -1 };
    struct datagram datagram;

    make(&datagram, &event);
    for (size_t size = 0; size < datagram.size; size++)
        assert_int_equal(proc_connector_parse(datagram.bytes, size, &seen), -EBADMSG);
    assert_int_equal(seen.pid, -1);
}

/* Each length field in turn is larger than the data, or too small. */
TEST(wrong_lengths_are_refused)
{
    struct proc_event event = fork_event(42, 42);
    struct process_event seen = { .pid = -1 };
    struct datagram datagram;
    uint16_t length = 4096;

    make(&datagram, &event);
    memset(datagram.bytes, 0xff, 4);
    assert_int_equal(proc_connector_parse(datagram.bytes, datagram.size, &seen), -EBADMSG);
    memset(datagram.bytes, 0, 4);
    assert_int_equal(proc_connector_parse(datagram.bytes, datagram.size, &seen), -EBADMSG);
    make(&datagram, &event);
    memcpy(datagram.bytes + sizeof(struct nlmsghdr) + offsetof(struct cn_msg, len), &length, 2);
    assert_int_equal(proc_connector_parse(datagram.bytes, datagram.size, &seen), -EBADMSG);
    length = 17; /* an incomplete event */
    memcpy(datagram.bytes + sizeof(struct nlmsghdr) + offsetof(struct cn_msg, len), &length, 2);
    assert_true(proc_connector_parse(datagram.bytes, datagram.size, &seen) < 0);
    assert_int_equal(seen.pid, -1);
}

struct tally {
    pid_t parent_pid;
    unsigned forked, exited;
    pid_t children[64];
};

static void count(const struct process_event *event, void *data)
{
    struct tally *tally = data;

    if (event->is_thread)
        return;
    if (event->kind == PROCESS_FORKED && event->parent_pid == tally->parent_pid &&
        tally->forked < 64)
        tally->children[tally->forked++] = event->pid;
    for (unsigned i = 0; event->kind == PROCESS_EXITED && i < tally->forked; i++)
        tally->exited += tally->children[i] == event->pid;
}

static int start_forty(void)
{
    for (int i = 0; i < 40; i++) {
        if (run_child(do_nothing) != 0)
            return 1;
    }
    return 0;
}

TEST(the_kernel_reports_every_process)
{
    struct proc_connector connector;
    struct gated_job job;
    struct tally tally = { 0 };
    struct pollfd events = { .events = POLLIN };
    struct root root;
    bool has_ended = false;
    int r;

    assert_int_equal(root_open(NULL, &root), 0);
    r = proc_connector_open(&root, &connector);
    root_close(&root);
    if (r < 0) {
        print_message("proc connector: %s\n", strerror(-r));
        skip();
    }
    gated_job_start(&job, start_forty);
    tally.parent_pid = job.pid;
    events.fd = connector.fd;
    gated_job_begin(&job);
    /* Reads continuously, as a tracker does: events cover the whole machine, and the buffer
     * is limited. The last exit may be reported only after the wait for the process has
     * returned. */
    do {
        (void)poll(&events, 1, 5);
        has_ended = has_ended || gated_job_has_ended(&job);
        proc_connector_drain(&connector, count, &tally);
    } while (!has_ended || (tally.exited < tally.forked && connector.lost_count == 0));
    gated_job_end(&job);
    assert_int_equal(tally.forked, 40);
    assert_int_equal(tally.exited, 40);
    assert_int_equal(connector.lost_count, 0);
    proc_connector_close(&connector);
    assert_int_equal(connector.fd, -1);
    proc_connector_close(&connector);
}

FAKE_ROOT_TEST(another_pid_namespace_is_not_supported)
{
    struct fake_root *fake = *state;
    struct proc_connector connector;

    fake_root_link(fake, "proc/self/ns/pid", "pid:[4026532222]");
    assert_int_equal(proc_connector_open(&fake->root, &connector), -ENOTSUP);
    fake->root.is_live = true;
    assert_int_equal(proc_connector_open(&fake->root, &connector), -ENOTSUP);
    assert_int_equal(connector.fd, -1);
}
