/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/compiler.h"
#include "fake_root.h"
#include "gated_job.h"
#include "source/events/fork_ring.h"
#include "unit_test.h"

/* ---- cpu list -------------------------------------------------------------- */

FAKE_ROOT_TEST(all_online_cpus_are_used_if_few)
{
    struct fake_root *fake = *state;
    unsigned cpus[8];
    bool is_partial = true;

    fake_root_write(fake, "sys/devices/system/cpu/online", "0-4,6\n");
    assert_int_equal(cpu_list_of_process(&fake->root, getpid(), cpus, 8, &is_partial), 6);
    assert_int_equal(cpus[5], 6);
    assert_false(is_partial);
}

/* If the list of online CPUs is missing or too long, the process's own affinity mask is
 * used. */
FAKE_ROOT_TEST(the_cpus_of_the_process_are_used_if_many_are_online)
{
    struct fake_root *fake = *state;
    unsigned long available = (unsigned long)sysconf(_SC_NPROCESSORS_ONLN);
    unsigned cpus[4096];
    bool is_partial = false;
    int count;

    count = cpu_list_of_process(&fake->root, getpid(), cpus, ARRAY_SIZE(cpus), &is_partial);
    assert_in_range(count, 1, available);
    assert_true(is_partial); /* the process may move to other CPUs */
    fake_root_write(fake, "sys/devices/system/cpu/online", "0-8000\n");
    assert_int_equal(
        cpu_list_of_process(&fake->root, getpid(), cpus, ARRAY_SIZE(cpus), &is_partial), count);
    assert_int_equal(cpu_list_of_process(&fake->root, getpid(), cpus, 0, &is_partial), -E2BIG);
}

/* ---- task record ----------------------------------------------------------- */

enum { RING_BYTES = 256, TASK_BYTES = 32, LOST_BYTES = 24 };

/* A ring, filled in the same way as by the kernel. */
struct fixture {
    unsigned char data[RING_BYTES];
    struct record_ring ring;
};

static void begin(struct fixture *f, uint64_t position)
{
    memset(f->data, 0xee, sizeof(f->data));
    f->ring = (struct record_ring){ f->data, RING_BYTES, position, position };
}

static void put(struct fixture *f, const void *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        f->data[(f->ring.head + i) % RING_BYTES] = ((const unsigned char *)bytes)[i];
    f->ring.head += size;
}

static void put_header(struct fixture *f, uint32_t type, uint16_t size)
{
    struct perf_event_header header = { .type = type, .size = size };

    put(f, &header, sizeof(header));
}

static void put_task(struct fixture *f, uint32_t type, uint32_t pid, uint32_t tid)
{
    const uint32_t numbers[] = { pid, 7, tid, 8 };
    const uint64_t time_ns = 123456789012345;

    put_header(f, type, TASK_BYTES);
    put(f, numbers, sizeof(numbers));
    put(f, &time_ns, sizeof(time_ns));
}

static void put_lost(struct fixture *f, uint64_t count)
{
    const uint64_t body[] = { 99, count };

    put_header(f, PERF_RECORD_LOST, LOST_BYTES);
    put(f, body, sizeof(body));
}

TEST(a_fork_record_contains_child_and_parent)
{
    struct task_record record;
    struct fixture f;

    begin(&f, 0);
    put_task(&f, PERF_RECORD_FORK, 42, 42);
    assert_int_equal(task_record_peek(&f.ring, &record), 1);
    assert_int_equal(record.kind, RECORD_PROCESS);
    assert_int_equal(record.size_bytes, TASK_BYTES);
    assert_int_equal(record.event.kind, PROCESS_FORKED);
    assert_int_equal(record.event.pid, 42);
    assert_int_equal(record.event.parent_pid, 7);
    assert_int_equal(record.event.time_ns, 123456789012345);
    assert_false(record.event.is_thread);
}

TEST(threads_are_distinguished_from_processes)
{
    struct task_record record;
    struct fixture f;

    begin(&f, 0);
    put_task(&f, PERF_RECORD_EXIT, 42, 43);
    assert_int_equal(task_record_peek(&f.ring, &record), 1);
    assert_int_equal(record.event.kind, PROCESS_EXITED);
    assert_int_equal(record.event.pid, 42);
    assert_true(record.event.is_thread);
}

/* Tries every position in the ring, with offsets beyond 32 bits. */
TEST(a_record_may_wrap_around_the_end)
{
    for (uint64_t start = 0; start < RING_BYTES; start += 8) {
        struct task_record record;
        struct fixture f;

        begin(&f, start + (UINT64_C(1) << 40));
        put_task(&f, PERF_RECORD_FORK, 0x11223344, 0x11223344);
        assert_int_equal(task_record_peek(&f.ring, &record), 1);
        assert_int_equal(record.event.pid, 0x11223344);
        assert_int_equal(record.event.parent_pid, 7);
        assert_int_equal(record.event.time_ns, 123456789012345);
        f.ring.tail += record.size_bytes;
        assert_int_equal(task_record_peek(&f.ring, &record), 0);
    }
}

TEST(lost_records_are_reported)
{
    struct task_record record;
    struct fixture f;

    begin(&f, RING_BYTES - 8); /* the record wraps after its header */
    put_lost(&f, 1234);
    assert_int_equal(task_record_peek(&f.ring, &record), 1);
    assert_int_equal(record.kind, RECORD_LOST);
    assert_int_equal(record.lost_count, 1234);
    assert_int_equal(record.size_bytes, LOST_BYTES);
}

TEST(other_records_are_skipped)
{
    struct task_record record;
    struct fixture f;

    begin(&f, 0);
    put_header(&f, PERF_RECORD_COMM, 16);
    f.ring.head += 8;
    put_task(&f, PERF_RECORD_EXIT, 5, 5);
    assert_int_equal(task_record_peek(&f.ring, &record), 1);
    assert_int_equal(record.kind, RECORD_OTHER);
    f.ring.tail += record.size_bytes;
    assert_int_equal(task_record_peek(&f.ring, &record), 1);
    assert_int_equal(record.event.pid, 5);
}

/* Events with more attributes append fields to their records. */
TEST(unknown_fields_at_the_end_of_a_record_are_ignored)
{
    const uint32_t numbers[] = { 5, 1, 5, 1 };
    const uint64_t rest[] = { 77, 88, 99 };
    struct task_record record;
    struct fixture f;

    begin(&f, 0);
    put_header(&f, PERF_RECORD_FORK, 8 + sizeof(numbers) + sizeof(rest));
    put(&f, numbers, sizeof(numbers));
    put(&f, rest, sizeof(rest));
    assert_int_equal(task_record_peek(&f.ring, &record), 1);
    assert_int_equal(record.event.time_ns, 77);
    assert_int_equal(record.size_bytes, 48);
}

TEST(an_empty_ring_has_no_record)
{
    struct task_record record = { .size_bytes = 99 };
    struct fixture f;

    begin(&f, 24);
    assert_int_equal(task_record_peek(&f.ring, &record), 0);
    assert_int_equal(record.size_bytes, 99);
}

TEST(a_truncated_record_is_refused)
{
    for (uint64_t written = 1; written < TASK_BYTES; written++) {
        struct task_record record = { .size_bytes = 99 };
        struct fixture f;

        begin(&f, 0);
        put_task(&f, PERF_RECORD_FORK, 42, 42);
        f.ring.head = written;
        assert_int_equal(task_record_peek(&f.ring, &record), -EBADMSG);
        assert_int_equal(record.size_bytes, 99);
    }
}

TEST(impossible_sizes_are_refused)
{
    static const struct {
        uint32_t type;
        uint16_t size;
    } wrong[] = {
        { PERF_RECORD_FORK, 0 },  { PERF_RECORD_FORK, 4 },      { PERF_RECORD_FORK, 24 },
        { PERF_RECORD_EXIT, 16 }, { PERF_RECORD_EXIT, 33 },     { PERF_RECORD_LOST, 16 },
        { PERF_RECORD_COMM, 0 },  { PERF_RECORD_COMM, 0xfff8 },
    };

    for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
        struct task_record record;
        struct fixture f;

        begin(&f, 0);
        put_header(&f, wrong[i].type, wrong[i].size);
        f.ring.head = 64;
        assert_int_equal(task_record_peek(&f.ring, &record), -EBADMSG);
    }
}

/* If the head is beyond the ring or behind the tail, the data is unusable. */
TEST(impossible_positions_are_refused)
{
    struct task_record record;
    struct fixture f;

    begin(&f, 0);
    put_task(&f, PERF_RECORD_FORK, 42, 42);
    f.ring.head = RING_BYTES + 8;
    assert_int_equal(task_record_peek(&f.ring, &record), -EBADMSG);
    f.ring = (struct record_ring){ f.data, RING_BYTES, 0, 32 };
    assert_int_equal(task_record_peek(&f.ring, &record), -EBADMSG);
}

/* ---- fork ring ------------------------------------------------------------- */

enum { CHILDREN = 100, STORM = 2500 };

struct tally {
    pid_t main_pid;
    uint64_t last_ns;
    unsigned forked, exited, strangers, disordered;
    pid_t living;
};

static void count(const struct process_event *event, void *data)
{
    struct tally *tally = data;

    tally->disordered += event->time_ns < tally->last_ns;
    tally->last_ns = event->time_ns;
    if (event->is_thread)
        return; /* a thread started by a sanitizer */
    if (event->kind == PROCESS_FORKED) {
        tally->forked++;
        tally->strangers += event->parent_pid != tally->main_pid;
        tally->living = event->pid;
    } else if (event->pid != tally->main_pid) {
        /* Processes run one after another: the process that exits is the one that was forked
         * last. */
        tally->exited++;
        tally->disordered += event->pid != tally->living;
    }
}

static int start_children(void)
{
    for (int i = 0; i < CHILDREN; i++) {
        if (run_child(do_nothing) != 0)
            return 1;
    }
    return 0;
}

/* Runs on one CPU, so that one ring gets all records. Executes a shell, because forking the
 * test itself is slow under a memory checker. */
static int start_a_storm(void)
{
    cpu_set_t one;
    unsigned cpu;

    CPU_ZERO(&one);
    if (getcpu(&cpu, NULL) < 0)
        return 1;
    CPU_SET(cpu, &one);
    if (sched_setaffinity(0, sizeof(one), &one) < 0)
        return 1;
    execl("/bin/sh", "sh", "-c", "i=0; while [ $i -lt 2500 ]; do (:); i=$((i+1)); done",
          (char *)NULL);
    return 1;
}

/* Opens rings. If perf is not permitted, prints a message and opens none. */
static void watch(struct fork_ring *ring, pid_t pid)
{
    struct root root;
    int r;

    assert_int_equal(root_open(NULL, &root), 0);
    r = fork_ring_open(&root, pid, ring);
    root_close(&root);
    if (r == 0)
        return;
    assert_int_equal(ring->count, 0);
    print_message("perf's fork ring: %s\n", strerror(-r));
}

TEST(every_process_is_reported_in_order)
{
    struct tally tally = { 0 };
    struct gated_job job;
    struct fork_ring ring;

    gated_job_start(&job, start_children);
    watch(&ring, job.pid);
    tally.main_pid = job.pid;
    assert_int_equal(run_child(do_nothing), 0); /* does not belong to the job */
    gated_job_begin(&job);
    gated_job_end(&job);
    if (ring.count == 0)
        skip();
    fork_ring_drain(&ring, count, &tally);
    assert_int_equal(tally.forked, CHILDREN);
    assert_int_equal(tally.exited, CHILDREN);
    assert_int_equal(tally.strangers, 0);
    assert_int_equal(tally.disordered, 0);
    assert_int_equal(ring.lost_count, 0);
    assert_false(ring.was_full);
    fork_ring_drain(&ring, count, &tally);
    assert_int_equal(tally.forked, CHILDREN); /* not reported again */
    fork_ring_close(&ring);
    fork_ring_close(&ring);
}

/* The ring is not drained while the job runs, so it cannot hold all records. */
TEST(lost_records_are_counted)
{
    struct tally tally = { 0 };
    struct gated_job job;
    struct fork_ring ring;

    gated_job_start(&job, start_a_storm);
    watch(&ring, job.pid);
    gated_job_begin(&job);
    gated_job_end(&job);
    if (ring.count == 0)
        skip();
    fork_ring_drain(&ring, count, &tally);
    assert_true(tally.forked <= STORM); /* equal if large pages make the ring larger */
    assert_int_equal(ring.was_full, tally.forked < STORM);
    fork_ring_close(&ring);
}

FAKE_ROOT_TEST(no_ring_is_opened_for_a_fixture)
{
    struct fake_root *fake = *state;
    struct fork_ring ring;

    assert_int_equal(fork_ring_open(&fake->root, 1, &ring), -ENOTSUP);
    assert_int_equal(ring.count, 0);
    fork_ring_close(&ring);
}

TEST(no_ring_is_opened_for_a_missing_process)
{
    struct fork_ring ring;
    struct root root;

    assert_int_equal(root_open(NULL, &root), 0);
    assert_true(fork_ring_open(&root, 0x7ffffffe, &ring) < 0);
    assert_int_equal(ring.count, 0);
    root_close(&root);
}

TEST(the_ring_size_is_independent_of_the_page_size)
{
    assert_int_equal(fork_ring_pages(128 << 10, 4096), 32);
    assert_int_equal(fork_ring_pages(32 << 10, 4096), 8);
    assert_int_equal(fork_ring_pages(128 << 10, 16384), 8);
    assert_int_equal(fork_ring_pages(128 << 10, 65536), 2);
    assert_int_equal(fork_ring_pages(32 << 10, 65536), 1);
}
