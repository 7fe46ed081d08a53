/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above */
#include <cmocka.h>
#include <signal.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/helper.h"

#define FOREVER UINT64_MAX

/* A call that lasts until its pipe is closed. */
struct call {
    int wait_fds[2];
    int released_fds[2]; /* closed when the data are freed */
    int count;
    sigset_t mask; /* in the thread */
};

static void read_to_end(void *data)
{
    struct call *call = data;
    char byte;

    (void)pthread_sigmask(SIG_BLOCK, NULL, &call->mask);
    (void)!read(call->wait_fds[0], &byte, 1);
    call->count++;
}

static void note_release(void *data)
{
    struct call *call = data;

    close(call->released_fds[1]);
}

static const struct helper_work work = { "test-helper", read_to_end, note_release };

static void start_call(struct call *call)
{
    *call = (struct call){ .count = 0 };
    assert_int_equal(pipe(call->wait_fds), 0);
    assert_int_equal(pipe(call->released_fds), 0);
}

static void let_it_return(struct call *call)
{
    close(call->wait_fds[1]);
}

static void check_released(struct call *call)
{
    char byte;

    assert_int_equal(read(call->released_fds[0], &byte, 1), 0);
    close(call->released_fds[0]);
    close(call->wait_fds[0]);
}

static void it_can_be_asked_again(void **state)
{
    struct helper *helper;
    struct call call;

    (void)state;
    start_call(&call);
    let_it_return(&call);
    assert_int_equal(helper_open(&work, &call, &helper), 0);
    assert_true(helper_wait(helper, 0));
    for (int i = 1; i <= 3; i++) {
        assert_int_equal(helper_start(helper), 0);
        assert_true(helper_wait(helper, FOREVER));
        assert_int_equal(call.count, i);
    }
    assert_int_equal(sigismember(&call.mask, SIGTERM), 1);
    assert_null(helper_close(helper));
    check_released(&call);
}

static void one_that_hangs_is_left_behind(void **state)
{
    struct helper *helper;
    struct call call;

    (void)state;
    start_call(&call);
    assert_int_equal(helper_open(&work, &call, &helper), 0);
    assert_int_equal(helper_start(helper), 0);
    assert_false(helper_wait(helper, 0));
    assert_false(helper_wait(helper, clock_now().monotonic_ns + NS_PER_MS));
    assert_null(helper_close(helper));
    let_it_return(&call);
    check_released(&call); /* by its thread */
    assert_int_equal(call.count, 1);
}

static void nothing_is_closed_too(void **state)
{
    struct helper *helper;
    struct call call;

    (void)state;
    assert_null(helper_close(NULL));
    start_call(&call);
    assert_int_equal(helper_open(&work, &call, &helper), 0);
    assert_null(helper_close(helper)); /* never started */
    let_it_return(&call);
    check_released(&call);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_can_be_asked_again),
        cmocka_unit_test(one_that_hangs_is_left_behind),
        cmocka_unit_test(nothing_is_closed_too),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
