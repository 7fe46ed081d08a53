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
    gpu_pace_init(&pace, MS(100));
    assert_int_equal(gpu_pace_wake_ns(&pace), MS(100));
    gpu_pace_polled(&pace, MS(100), US(15), &computes);
    assert_int_equal(gpu_pace_wake_ns(&pace), MS(105));
    gpu_pace_polled(&pace, MS(105), US(15), &uses_none);
    assert_int_equal(gpu_pace_wake_ns(&pace), MS(205));
    gpu_pace_rested(&pace, MS(205), &rests);
    assert_int_equal(gpu_pace_wake_ns(&pace), MS(230));
    gpu_pace_rested(&pace, MS(230), &uses_none);
    assert_int_equal(gpu_pace_wake_ns(&pace), MS(330));
}

static void a_slow_look_comes_about_every_second(void **state)
{
    struct gpu_pace pace;

    (void)state;
    gpu_pace_init(&pace, 0);
    assert_false(gpu_pace_read_is_due(&pace, MS(999)));
    assert_true(gpu_pace_read_is_due(&pace, MS(1000)));
    gpu_pace_has_read(&pace, MS(1000), US(300), &computes);
    assert_false(gpu_pace_read_is_due(&pace, MS(1999)));
    assert_true(gpu_pace_read_is_due(&pace, MS(2000)));
    gpu_pace_has_read(&pace, MS(2000), US(300), &rests);
    assert_false(gpu_pace_read_is_due(&pace, MS(11999)));
    assert_true(gpu_pace_read_is_due(&pace, MS(12000)));
}

/* Steps through a minute; returns the share of it that looks took, in millionths. */
static uint64_t cost_share(uint64_t poll_cost_ns, uint64_t read_cost_ns,
                           const struct gpu_activity *activity)
{
    struct gpu_pace pace;
    uint64_t cost_ns = 0, now_ns = 0;

    gpu_pace_init(&pace, 0);
    while (now_ns < 60 * NS_PER_SECOND) {
        now_ns = gpu_pace_wake_ns(&pace);
        if (gpu_pace_read_is_due(&pace, now_ns)) {
            gpu_pace_has_read(&pace, now_ns, read_cost_ns, activity);
            cost_ns += read_cost_ns;
        } else {
            gpu_pace_polled(&pace, now_ns, poll_cost_ns, activity);
            cost_ns += poll_cost_ns;
        }
    }
    return cost_ns * 1000000 / now_ns;
}

static void looks_take_half_a_percent_at_most(void **state)
{
    (void)state;
    assert_true(cost_share(US(15), US(300), &computes) < 3500);
    assert_in_range(cost_share(US(40), US(3500), &computes), 1000, 5100);
    assert_in_range(cost_share(US(500), US(3500), &computes), 1000, 5100);
    assert_in_range(cost_share(US(2000), US(300), &computes), 1000, 5100);
    assert_true(cost_share(US(40), US(300), &uses_none) < 2600);
}

/* 30 ms of memory must not fall between two looks at usual costs. */
static void a_look_as_dear_as_on_an_h200_still_comes_every_20_ms(void **state)
{
    struct gpu_pace pace;

    (void)state;
    gpu_pace_init(&pace, 0);
    for (int i = 0; i < 20; i++)
        gpu_pace_has_read(&pace, MS(1000), US(3500), &computes);
    gpu_pace_polled(&pace, MS(2000), US(70), &computes);
    assert_in_range(gpu_pace_wake_ns(&pace), MS(2005), MS(2020));
}

/* A burst of work after a rest: memory that comes and goes then is seen every 5 ms. */
static void what_was_saved_is_spent_at_once(void **state)
{
    struct gpu_pace pace;
    uint64_t now_ns = MS(700);
    unsigned quick = 0;

    (void)state;
    gpu_pace_init(&pace, 0);
    for (int i = 0; i < 30; i++) {
        gpu_pace_polled(&pace, now_ns, US(150), &computes);
        quick += gpu_pace_wake_ns(&pace) == now_ns + MS(5);
        now_ns = gpu_pace_wake_ns(&pace);
    }
    assert_in_range(quick, 15, 29); /* then it is used up */
}

static void even_the_dearest_look_comes_once_a_second(void **state)
{
    struct gpu_pace pace;

    (void)state;
    gpu_pace_init(&pace, 0);
    gpu_pace_polled(&pace, 0, MS(100), &computes);
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
        cmocka_unit_test(a_look_as_dear_as_on_an_h200_still_comes_every_20_ms),
        cmocka_unit_test(what_was_saved_is_spent_at_once),
        cmocka_unit_test(even_the_dearest_look_comes_once_a_second),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
