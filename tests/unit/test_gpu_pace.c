/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above */
#include <cmocka.h>

#include "base/clock.h"
#include "session/gpu_pace.h"

#define MS(n) ((n)*NS_PER_MS)
#define US(n) ((n)*NS_PER_US)

static const struct gpu_activity computes = { .holds_context = true };
static const struct gpu_activity rests = { .holds_context = true, .is_quiet = true };
static const struct gpu_activity uses_none = { .holds_context = false };

static void looks_are_quick_while_the_job_uses_a_gpu(void **state)
{
    struct gpu_pace pace;

    (void)state;
    gpu_pace_init(&pace, MS(100), 0);
    assert_int_equal(gpu_pace_wake_ns(&pace), MS(100));
    gpu_pace_polled(&pace, MS(100), US(15), true);
    assert_int_equal(gpu_pace_wake_ns(&pace), MS(105));
    gpu_pace_polled(&pace, MS(105), US(15), false);
    assert_int_equal(gpu_pace_wake_ns(&pace), MS(205));
    gpu_pace_rested(&pace, MS(205), US(50), true);
    assert_int_equal(gpu_pace_wake_ns(&pace), MS(230));
    gpu_pace_rested(&pace, MS(230), US(50), false);
    assert_int_equal(gpu_pace_wake_ns(&pace), MS(330));
}

static void a_slow_look_comes_about_every_second(void **state)
{
    struct gpu_pace pace;

    (void)state;
    gpu_pace_init(&pace, 0, 0);
    assert_false(gpu_pace_read_is_due(&pace, MS(999)));
    assert_true(gpu_pace_read_is_due(&pace, MS(1000)));
    gpu_pace_has_read(&pace, MS(1000), US(300), &computes);
    assert_false(gpu_pace_read_is_due(&pace, MS(1999)));
    assert_true(gpu_pace_read_is_due(&pace, MS(2000)));
    gpu_pace_has_read(&pace, MS(2000), US(300), &rests);
    assert_false(gpu_pace_read_is_due(&pace, MS(11999)));
    assert_true(gpu_pace_read_is_due(&pace, MS(12000)));
}

struct costs {
    uint64_t start_ns, poll_ns, read_ns;
};

/* Steps through a run; returns the share of it that looks took, start and end included, in
 * millionths. */
static uint64_t cost_share(uint64_t seconds, struct costs costs,
                           const struct gpu_activity *activity)
{
    uint64_t cost_ns = costs.start_ns + costs.start_ns / 2, now_ns = 0;
    struct gpu_pace pace;

    gpu_pace_init(&pace, 0, costs.start_ns);
    while (now_ns < seconds * NS_PER_SECOND) {
        now_ns = gpu_pace_wake_ns(&pace);
        if (gpu_pace_read_is_due(&pace, now_ns)) {
            gpu_pace_has_read(&pace, now_ns, costs.read_ns, activity);
            cost_ns += costs.read_ns;
        } else {
            gpu_pace_polled(&pace, now_ns, costs.poll_ns, activity->holds_context);
            cost_ns += costs.poll_ns;
        }
    }
    return cost_ns * 1000000 / now_ns;
}

static void looks_take_half_a_percent_at_most(void **state)
{
    (void)state;
    assert_true(cost_share(60, (struct costs){ 0, US(15), US(300) }, &computes) < 3500);
    assert_in_range(cost_share(60, (struct costs){ 0, US(40), US(3500) }, &computes), 1000,
                    5000);
    assert_in_range(cost_share(60, (struct costs){ 0, US(500), US(3500) }, &computes), 1000,
                    5000);
    assert_in_range(cost_share(60, (struct costs){ 0, US(2000), US(300) }, &computes), 1000,
                    5000);
    assert_true(cost_share(60, (struct costs){ 0, US(40), US(300) }, &uses_none) < 2600);
}

/* As on an H200, in a job that computes all the time. Looks every 27 ms come first. */
static void the_start_is_paid_back(void **state)
{
    struct costs costs = { MS(25), US(90), US(4000) };

    (void)state;
    assert_in_range(cost_share(20, costs, &computes), 4000, 6500);
    assert_in_range(cost_share(120, costs, &computes), 4000, 5300);
    costs.start_ns = 0;
    assert_in_range(cost_share(20, costs, &computes), 4000, 5000);
}

/* 30 ms of memory must not fall between two looks at usual costs, even while the start is paid
 * back. */
static void a_look_as_dear_as_on_an_h200_still_comes_in_time(void **state)
{
    struct gpu_pace pace;
    uint64_t now_ns = MS(100);

    (void)state;
    gpu_pace_init(&pace, 0, MS(40));
    for (int i = 0; i < 20; i++)
        gpu_pace_has_read(&pace, MS(100), US(3500), &computes);
    for (int i = 0; i < 100; i++) { /* what is saved is used up then */
        gpu_pace_polled(&pace, now_ns, US(110), true);
        assert_in_range(gpu_pace_wake_ns(&pace), now_ns + MS(5), now_ns + MS(27));
        now_ns = gpu_pace_wake_ns(&pace);
    }
}

static void a_job_that_is_waited_for_is_looked_at_slowly_alone(void **state)
{
    struct gpu_pace pace;

    (void)state;
    gpu_pace_init(&pace, 0, 0);
    gpu_pace_has_read(&pace, MS(1000), US(300), &rests);
    gpu_pace_gate(&pace, true);
    assert_int_equal(gpu_pace_wake_ns(&pace), MS(11000));
    assert_false(gpu_pace_poll_is_due(&pace, MS(3000)));
    gpu_pace_gate(&pace, false); /* it runs */
    assert_true(gpu_pace_poll_is_due(&pace, MS(3000)));
}

/* One that rests and runs in turn has no more looks than one that runs. */
static void a_gate_that_opens_is_no_way_around_the_pace(void **state)
{
    struct gpu_pace pace;

    (void)state;
    gpu_pace_init(&pace, 0, 0);
    gpu_pace_polled(&pace, MS(100), MS(2), true); /* all that was saved is spent */
    gpu_pace_gate(&pace, true);
    gpu_pace_gate(&pace, false);
    assert_false(gpu_pace_poll_is_due(&pace, MS(120)));
    assert_true(gpu_pace_poll_is_due(&pace, MS(600)));
}

/* A burst of work after a rest: memory that comes and goes then is seen every 5 ms. */
static void what_was_saved_is_spent_at_once(void **state)
{
    struct gpu_pace pace;
    uint64_t now_ns = MS(700);
    unsigned quick = 0;

    (void)state;
    gpu_pace_init(&pace, 0, 0);
    for (int i = 0; i < 30; i++) {
        gpu_pace_polled(&pace, now_ns, US(150), true);
        quick += gpu_pace_wake_ns(&pace) == now_ns + MS(5);
        now_ns = gpu_pace_wake_ns(&pace);
    }
    assert_in_range(quick, 15, 29); /* then it is used up */
}

static void even_the_dearest_look_comes_once_a_second(void **state)
{
    struct gpu_pace pace;

    (void)state;
    gpu_pace_init(&pace, 0, 0);
    gpu_pace_polled(&pace, 0, MS(100), true);
    assert_int_equal(gpu_pace_wake_ns(&pace), MS(1000));
    gpu_pace_has_read(&pace, 0, MS(500), &computes);
    assert_true(gpu_pace_read_is_due(&pace, MS(5000)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(looks_are_quick_while_the_job_uses_a_gpu),
        cmocka_unit_test(a_slow_look_comes_about_every_second),
        cmocka_unit_test(looks_take_half_a_percent_at_most),
        cmocka_unit_test(the_start_is_paid_back),
        cmocka_unit_test(a_look_as_dear_as_on_an_h200_still_comes_in_time),
        cmocka_unit_test(a_job_that_is_waited_for_is_looked_at_slowly_alone),
        cmocka_unit_test(a_gate_that_opens_is_no_way_around_the_pace),
        cmocka_unit_test(what_was_saved_is_spent_at_once),
        cmocka_unit_test(even_the_dearest_look_comes_once_a_second),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
