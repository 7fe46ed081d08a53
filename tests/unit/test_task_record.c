/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above */
#include <cmocka.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>

#include "base/compiler.h"
#include "source/events/task_record.h"

enum { RING_BYTES = 256, TASK_BYTES = 32, LOST_BYTES = 24 };

/* A ring as the kernel fills it. */
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

static void a_fork_names_child_and_parent(void **state)
{
    struct task_record record;
    struct fixture f;

    (void)state;
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

static void a_thread_is_told_from_a_process(void **state)
{
    struct task_record record;
    struct fixture f;

    (void)state;
    begin(&f, 0);
    put_task(&f, PERF_RECORD_EXIT, 42, 43);
    assert_int_equal(task_record_peek(&f.ring, &record), 1);
    assert_int_equal(record.event.kind, PROCESS_EXITED);
    assert_int_equal(record.event.pid, 42);
    assert_true(record.event.is_thread);
}

/* At every place where a record of 32 bytes can start, also far beyond 32 bits. */
static void a_record_may_wrap_around_the_end(void **state)
{
    (void)state;
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

static void losses_are_told(void **state)
{
    struct task_record record;
    struct fixture f;

    (void)state;
    begin(&f, RING_BYTES - 8); /* the count stands at the start of the ring */
    put_lost(&f, 1234);
    assert_int_equal(task_record_peek(&f.ring, &record), 1);
    assert_int_equal(record.kind, RECORD_LOST);
    assert_int_equal(record.lost_count, 1234);
    assert_int_equal(record.size_bytes, LOST_BYTES);
}

static void other_records_are_passed_over(void **state)
{
    struct task_record record;
    struct fixture f;

    (void)state;
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

/* What an event with more attributes appends is not looked at. */
static void a_longer_record_is_read_as_far_as_it_is_known(void **state)
{
    const uint32_t numbers[] = { 5, 1, 5, 1 };
    const uint64_t rest[] = { 77, 88, 99 };
    struct task_record record;
    struct fixture f;

    (void)state;
    begin(&f, 0);
    put_header(&f, PERF_RECORD_FORK, 8 + sizeof(numbers) + sizeof(rest));
    put(&f, numbers, sizeof(numbers));
    put(&f, rest, sizeof(rest));
    assert_int_equal(task_record_peek(&f.ring, &record), 1);
    assert_int_equal(record.event.time_ns, 77);
    assert_int_equal(record.size_bytes, 48);
}

static void an_empty_ring_has_no_record(void **state)
{
    struct task_record record = { .size_bytes = 99 };
    struct fixture f;

    (void)state;
    begin(&f, 24);
    assert_int_equal(task_record_peek(&f.ring, &record), 0);
    assert_int_equal(record.size_bytes, 99);
}

static void a_truncated_record_is_refused(void **state)
{
    (void)state;
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

static void sizes_that_cannot_be_are_refused(void **state)
{
    static const struct {
        uint32_t type;
        uint16_t size;
    } wrong[] = {
        { PERF_RECORD_FORK, 0 },  { PERF_RECORD_FORK, 4 },      { PERF_RECORD_FORK, 24 },
        { PERF_RECORD_EXIT, 16 }, { PERF_RECORD_EXIT, 33 },     { PERF_RECORD_LOST, 16 },
        { PERF_RECORD_COMM, 0 },  { PERF_RECORD_COMM, 0xfff8 },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
        struct task_record record;
        struct fixture f;

        begin(&f, 0);
        put_header(&f, wrong[i].type, wrong[i].size);
        f.ring.head = 64;
        assert_int_equal(task_record_peek(&f.ring, &record), -EBADMSG);
    }
}

/* A head that ran past us, or behind our tail, leaves nothing to trust. */
static void positions_that_cannot_be_are_refused(void **state)
{
    struct task_record record;
    struct fixture f;

    (void)state;
    begin(&f, 0);
    put_task(&f, PERF_RECORD_FORK, 42, 42);
    f.ring.head = RING_BYTES + 8;
    assert_int_equal(task_record_peek(&f.ring, &record), -EBADMSG);
    f.ring = (struct record_ring){ f.data, RING_BYTES, 0, 32 };
    assert_int_equal(task_record_peek(&f.ring, &record), -EBADMSG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_fork_names_child_and_parent),
        cmocka_unit_test(a_thread_is_told_from_a_process),
        cmocka_unit_test(a_record_may_wrap_around_the_end),
        cmocka_unit_test(losses_are_told),
        cmocka_unit_test(other_records_are_passed_over),
        cmocka_unit_test(a_longer_record_is_read_as_far_as_it_is_known),
        cmocka_unit_test(an_empty_ring_has_no_record),
        cmocka_unit_test(a_truncated_record_is_refused),
        cmocka_unit_test(sizes_that_cannot_be_are_refused),
        cmocka_unit_test(positions_that_cannot_be_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
