/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above */
#include <cmocka.h>
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/unknown.h"
#include "session/gpu_board.h"
#include "source/proc/pid_stat.h"

#define SECONDS(n) ((n)*NS_PER_SECOND)

/* A thread that is in a driver's call until it is told to leave it. */
struct caller {
    struct gpu_board *board;
    pthread_t thread;
    int fds[2];
};

static void *call(void *data)
{
    struct caller *caller = data;
    char byte;

    gpu_board_begin_call(caller->board);
    (void)!read(caller->fds[0], &byte, 1);
    return NULL;
}

static bool sleeps(struct gpu_board *board)
{
    struct kept file = KEPT_CLOSED;
    struct pid_stat stat = { 0 };
    bool is_called;

    pthread_mutex_lock(&board->mutex);
    is_called = board->calling_since_ns != 0 &&
                pid_stat_read(&file, &board->root, board->thread_id, &stat) == 0;
    pthread_mutex_unlock(&board->mutex);
    kept_close(&file);
    return is_called && stat.state == 'S';
}

/* Returns when it waits for the driver. */
static void begin_call(struct caller *caller, struct gpu_board *board)
{
    caller->board = board;
    assert_int_equal(pipe2(caller->fds, O_CLOEXEC), 0);
    assert_int_equal(pthread_create(&caller->thread, NULL, call, caller), 0);
    while (!sleeps(board))
        (void)usleep(100);
}

static void end_call(struct caller *caller)
{
    (void)close(caller->fds[1]);
    assert_int_equal(pthread_join(caller->thread, NULL), 0);
    (void)close(caller->fds[0]);
}

static void publish(struct gpu_board *board, uint64_t memory_bytes)
{
    struct gpu_watch watch = { .account_bytes = UNKNOWN };

    gpu_totals_clear(&watch.tally.totals);
    watch.tally.totals.levels.job_memory_bytes = memory_bytes;
    watch.tally.totals.job_busy_ns = SECONDS(1);
    gpu_board_publish(board, &watch);
}

static uint64_t take_memory(struct gpu_board *board, uint64_t after_ns, enum gpu_state state)
{
    struct gpu_view view = { 0 };

    gpu_board_take(board, clock_now().monotonic_ns + after_ns, &view);
    assert_int_equal(view.state, state);
    if (state == GPU_SILENT)
        assert_false(is_known(view.totals.job_busy_ns));
    return view.totals.levels.job_memory_bytes;
}

static void a_peak_is_not_what_is_there_now(void **state)
{
    struct gpu_view view = { 0 };
    struct gpu_board board;

    (void)state;
    assert_int_equal(gpu_board_init(&board), 0);
    publish(&board, 5);
    publish(&board, 2);
    gpu_board_take(&board, clock_now().monotonic_ns, &view);
    assert_int_equal(view.totals.levels.job_memory_bytes, 5);
    assert_int_equal(view.now.job_memory_bytes, 2);
    gpu_board_done(&board);
}

static void what_was_seen_before_a_driver_fell_silent_is_told_once(void **state)
{
    struct gpu_board board;
    struct caller caller;

    (void)state;
    assert_int_equal(gpu_board_init(&board), 0);
    publish(&board, 1);
    assert_int_equal(take_memory(&board, 0, GPU_READY), 1);
    publish(&board, 5);
    publish(&board, 2);
    begin_call(&caller, &board);
    assert_int_equal(take_memory(&board, SECONDS(10), GPU_SILENT), 5);
    assert_false(is_known(take_memory(&board, SECONDS(20), GPU_SILENT)));
    publish(&board, 1); /* it answers: how much there was meanwhile is not known */
    assert_int_equal(take_memory(&board, 0, GPU_READY), 1);
    end_call(&caller);
    gpu_board_done(&board);
}

static void levels_of_before_the_last_sample_are_not_told_of_a_silent_driver(void **state)
{
    struct gpu_board board;
    struct caller caller;

    (void)state;
    assert_int_equal(gpu_board_init(&board), 0);
    publish(&board, 3);
    assert_int_equal(take_memory(&board, 0, GPU_READY), 3);
    begin_call(&caller, &board);
    assert_int_equal(take_memory(&board, SECONDS(1), GPU_READY), 3); /* it may just be slow */
    assert_false(is_known(take_memory(&board, SECONDS(10), GPU_SILENT)));
    end_call(&caller);
    gpu_board_done(&board);
}

static void a_driver_that_never_spoke_has_not_stopped(void **state)
{
    struct gpu_view view = { 0 };
    struct gpu_board board;
    struct caller caller;

    (void)state;
    assert_int_equal(gpu_board_init(&board), 0);
    begin_call(&caller, &board);
    gpu_board_take(&board, clock_now().monotonic_ns + SECONDS(10), &view);
    assert_int_equal(view.state, GPU_PENDING);
    assert_string_equal(view.reason, "the GPU driver does not respond");
    end_call(&caller);
    gpu_board_done(&board);
}

static void add_member(struct members *members, pid_t pid)
{
    const struct member member = { .pid = pid,
                                   .stat_file = KEPT_CLOSED,
                                   .statm_file = KEPT_CLOSED,
                                   .io_file = KEPT_CLOSED,
                                   .children_file = KEPT_CLOSED };

    assert_non_null(members_add(members, &member));
}

/* One is let go, as a tracker in the job is, and another comes. */
static void as_many_as_before_are_told_where_they_are_others(void **state)
{
    struct members members = { 0 };
    struct gpu_watch watch = { 0 };
    struct gpu_board board;
    bool has_run;

    (void)state;
    assert_int_equal(gpu_board_init(&board), 0);
    assert_int_equal(gpu_kin_init(&watch.kin, 41, 0), 0);
    add_member(&members, 41);
    add_member(&members, 42);
    gpu_board_tell(&board, &members);
    assert_true(gpu_board_goes_on(&board, &watch, &has_run));
    assert_int_equal(gpu_kin_pids(&watch.kin).count, 2);
    members_find(&members, 42)->has_left = true;
    members_remove_left(&members);
    add_member(&members, 43);
    gpu_board_tell(&board, &members);
    assert_true(gpu_board_goes_on(&board, &watch, &has_run));
    assert_int_equal(gpu_kin_pids(&watch.kin).list[2], 43);
    gpu_kin_done(&watch.kin);
    members_done(&members);
    gpu_board_done(&board);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_many_as_before_are_told_where_they_are_others),
        cmocka_unit_test(a_peak_is_not_what_is_there_now),
        cmocka_unit_test(what_was_seen_before_a_driver_fell_silent_is_told_once),
        cmocka_unit_test(levels_of_before_the_last_sample_are_not_told_of_a_silent_driver),
        cmocka_unit_test(a_driver_that_never_spoke_has_not_stopped),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
