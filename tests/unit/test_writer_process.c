/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/writer_process.h"
#include "unit_test.h"

enum { ADD, FAIL, STALL, SLOW };
#define WAIT_NS (60 * NS_PER_SECOND)

/* Memory shared with the child. */
struct seen {
    _Atomic uint64_t sum;
    _Atomic bool has_ended;
};

static int carry_out(void *data, unsigned kind, const void *bytes, size_t size,
                     struct spoor_error *err)
{
    struct seen *seen = data;
    struct timespec moment = clock_timespec(20 * NS_PER_MS);
    unsigned char number = 0;

    if (size > 0)
        memcpy(&number, bytes, 1);
    if (kind == FAIL)
        return error_set(err, ENOSPC, "no room for %d", number);
    if (kind == STALL)
        (void)pause();
    if (kind == SLOW)
        (void)nanosleep(&moment, NULL);
    seen->sum = seen->sum * 10 + number;
    return 0;
}

static int end_seen(void *data, UNUSED struct spoor_error *err)
{
    struct seen *seen = data;

    seen->has_ended = true;
    return 0;
}

static struct writer_process start(struct seen **ret)
{
    struct writer_process process;

    *ret = mmap(NULL, sizeof(**ret), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(*ret, MAP_FAILED);
    assert_int_equal(
        writer_process_start(
            &process,
            &(struct writer_target){ .carry_out = carry_out, .end = end_seen, .data = *ret }),
        0);
    return process;
}

static void put(struct writer_process *process, unsigned kind, unsigned char number)
{
    writer_process_put(process, kind, 1, &number, sizeof(number));
}

TEST(records_are_processed_in_order)
{
    struct seen *seen;
    struct writer_process process = start(&seen);
    struct writer_end end;

    for (unsigned char i = 1; i <= 3; i++)
        put(&process, ADD, i);
    assert_true(writer_process_wait(&process, WAIT_NS));
    assert_int_equal(seen->sum, 123);
    assert_false(seen->has_ended);
    end = writer_process_close(&process, NULL);
    assert_int_equal(end.error, 0);
    assert_int_equal(end.lost_rows, 0);
    assert_true(seen->has_ended);
    (void)munmap(seen, sizeof(*seen));
}

TEST(the_first_failure_is_reported)
{
    struct spoor_error err = { 0 };
    struct seen *seen;
    struct writer_process process = start(&seen);
    struct writer_end end;

    assert_int_equal(writer_process_error(&process, &err), 0);
    put(&process, FAIL, 1);
    put(&process, ADD, 2);
    put(&process, FAIL, 3);
    assert_true(writer_process_wait(&process, WAIT_NS));
    assert_int_equal(writer_process_error(&process, &err), -ENOSPC);
    assert_string_equal(err.message, "no room for 1");
    end = writer_process_close(&process, &err);
    assert_int_equal(end.error, -ENOSPC);
    assert_int_equal(end.lost_rows, 2);
    assert_int_equal(seen->sum, 2);
    (void)munmap(seen, sizeof(*seen));
}

TEST(closing_does_not_wait_for_a_stalled_record)
{
    struct seen *seen;
    struct writer_process process = start(&seen);
    pid_t pid = process.pid;
    struct writer_end end;

    put(&process, STALL, 1);
    put(&process, ADD, 2);
    assert_false(writer_process_wait(&process, NS_PER_MS));
    end = writer_process_close(&process, NULL);
    assert_int_equal(end.error, -ETIMEDOUT);
    assert_int_equal(end.lost_rows, 2);
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, __WALL), pid);
    (void)munmap(seen, sizeof(*seen));
}

/* The queue of the killed writer fills up; later rows must not wait for room. */
TEST(adding_records_does_not_wait_for_a_killed_writer)
{
    static const char filler[4000];
    enum { ROWS = 600 }; /* more than the queue can hold */
    struct seen *seen;
    struct writer_process process = start(&seen);
    struct writer_end end;
    uint64_t start_ns;

    put(&process, ADD, 1);
    assert_true(writer_process_wait(&process, WAIT_NS));
    assert_int_equal(kill(process.pid, SIGKILL), 0);
    start_ns = clock_now().monotonic_ns;
    for (int i = 0; i < ROWS; i++)
        writer_process_put(&process, ADD, 1, filler, sizeof(filler));
    assert_true(process.dropped_rows > ROWS / 2);
    /* Waiting 50 ms for each row would take longer. */
    assert_true(clock_now().monotonic_ns - start_ns < process.dropped_rows * 50 * NS_PER_MS);
    end = writer_process_close(&process, NULL);
    assert_int_equal(end.error, -ECHILD);
    assert_int_equal(end.lost_rows, ROWS);
    assert_string_equal(writer_end_reason(&end), "its writer process was killed");
    (void)munmap(seen, sizeof(*seen));
}

TEST(an_abandoned_writer_processes_no_more_records)
{
    struct seen *seen =
        mmap(NULL, sizeof(*seen), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    struct writer_process process;
    struct writer_end end;
    pid_t pid;

    assert_ptr_not_equal(seen, MAP_FAILED);
    assert_int_equal(
        writer_process_start(&process, &(struct writer_target){ .carry_out = carry_out,
                                                                .end = end_seen,
                                                                .data = seen,
                                                                .has_reader = true }),
        0);
    pid = process.pid;
    put(&process, ADD, 1);
    put(&process, STALL, 1);
    put(&process, ADD, 2);
    end = writer_process_close(&process, NULL);
    assert_int_equal(end.error, -ETIMEDOUT);
    assert_int_equal(end.lost_rows, 2);
    assert_int_equal(waitpid(pid, NULL, __WALL), -1); /* it was killed and reaped */
    assert_int_equal(seen->sum, 1);
    assert_false(seen->has_ended);
    (void)munmap(seen, sizeof(*seen));
}

/* Adding does not wait, although there would be room within 20 ms. */
TEST(records_for_a_slow_reader_are_dropped_if_the_queue_is_full)
{
    static const char filler[4000];
    struct seen seen = { 0 };
    struct writer_process process;
    pid_t pid;

    assert_int_equal(
        writer_process_start(&process, &(struct writer_target){ .carry_out = carry_out,
                                                                .end = end_seen,
                                                                .data = &seen,
                                                                .has_reader = true }),
        0);
    pid = process.pid;
    for (int i = 0; i < 600; i++) /* more than the queue can hold */
        writer_process_put(&process, SLOW, 1, filler, sizeof(filler));
    assert_true(process.dropped_rows > 0);
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(writer_process_close(&process, NULL).error, -ECHILD);
}

TEST(the_writer_exits_when_its_parent_exits)
{
    struct timespec moment = { 0, 1000000 };
    struct seen *seen =
        mmap(NULL, sizeof(*seen), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    struct writer_process process;
    pid_t pid;

    assert_ptr_not_equal(seen, MAP_FAILED);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        if (writer_process_start(&process, &(struct writer_target){ .carry_out = carry_out,
                                                                    .end = end_seen,
                                                                    .data = seen }) == 0)
            put(&process, ADD, 7);
        _exit(0);
    }
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    while (!seen->has_ended)
        (void)nanosleep(&moment, NULL);
    assert_int_equal(seen->sum, 7);
    (void)munmap(seen, sizeof(*seen));
}

static size_t resident_bytes(const struct writer_process *process)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    unsigned char pages[4096] = { 0 };
    size_t count = 0;

    assert_int_equal(mincore(process->queue, 2u << 20, pages), 0);
    for (size_t i = 0; i < (2u << 20) / page; i++)
        count += pages[i] & 1;
    return count * page;
}

TEST(processed_records_use_no_memory)
{
    static const char filler[4000];
    struct seen *seen;
    struct writer_process process = start(&seen);
    size_t most = 0;

    for (int i = 0; i < 600; i++) { /* more than the queue can hold */
        writer_process_put(&process, ADD, 1, filler, sizeof(filler));
        assert_true(writer_process_wait(&process, WAIT_NS));
        most = resident_bytes(&process) > most ? resident_bytes(&process) : most;
    }
    put(&process, ADD, 5);
    assert_int_equal(writer_process_close(&process, NULL).lost_rows, 0);
    assert_int_equal(seen->sum, 5);
    assert_true(most <= 256 << 10);
    (void)munmap(seen, sizeof(*seen));
}

TEST(a_closed_writer_ignores_calls)
{
    struct writer_process process = { 0 };

    put(&process, ADD, 1);
    assert_true(writer_process_wait(&process, WAIT_NS));
    assert_int_equal(writer_process_error(&process, NULL), 0);
    assert_int_equal(writer_process_close(&process, NULL).lost_rows, 0);
}
