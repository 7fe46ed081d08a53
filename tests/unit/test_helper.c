/* SPDX-License-Identifier: Apache-2.0 */
#include <semaphore.h>
#include <signal.h>

#include "base/clock.h"
#include "base/helper.h"
#include "unit_test.h"

#define FOREVER UINT64_MAX

struct call {
    sem_t may_return;
    sem_t released; /* posted when the helper releases its data */
    int count;
    sigset_t mask; /* signal mask of the thread */
};

static void wait_and_count(void *data)
{
    struct call *call = data;

    (void)pthread_sigmask(SIG_BLOCK, NULL, &call->mask);
    (void)sem_wait(&call->may_return);
    call->count++;
}

static void note_release(void *data)
{
    struct call *call = data;

    (void)sem_post(&call->released);
}

static const struct helper_work work = { "test-helper", wait_and_count, note_release };

static void start_call(struct call *call)
{
    *call = (struct call){ .count = 0 };
    assert_int_equal(sem_init(&call->may_return, 0, 0), 0);
    assert_int_equal(sem_init(&call->released, 0, 0), 0);
}

static void let_it_return(struct call *call)
{
    (void)sem_post(&call->may_return);
}

static void check_released(struct call *call)
{
    assert_int_equal(sem_wait(&call->released), 0);
}

TEST(a_helper_can_be_used_again)
{
    struct helper *helper;
    struct call call;

    start_call(&call);
    assert_int_equal(helper_open(&work, &call, &helper), 0);
    assert_true(helper_wait(helper, 0));
    for (int i = 1; i <= 3; i++) {
        let_it_return(&call);
        assert_int_equal(helper_start(helper), 0);
        assert_true(helper_wait(helper, FOREVER));
        assert_int_equal(call.count, i);
    }
    assert_int_equal(sigismember(&call.mask, SIGTERM), 1);
    assert_null(helper_close(helper));
    check_released(&call);
}

TEST(a_hanging_helper_is_abandoned)
{
    struct helper *helper;
    struct call call;

    start_call(&call);
    assert_int_equal(helper_open(&work, &call, &helper), 0);
    assert_int_equal(helper_start(helper), 0);
    assert_false(helper_wait(helper, 0));
    assert_false(helper_wait(helper, clock_now().monotonic_ns + NS_PER_MS));
    assert_null(helper_close(helper));
    let_it_return(&call);
    check_released(&call); /* released by the thread */
    assert_int_equal(call.count, 1);
}

TEST(a_closed_helper_can_be_closed)
{
    struct helper *helper;
    struct call call;

    assert_null(helper_close(NULL));
    start_call(&call);
    assert_int_equal(helper_open(&work, &call, &helper), 0);
    assert_null(helper_close(helper)); /* never started */
    let_it_return(&call);
    check_released(&call);
}
