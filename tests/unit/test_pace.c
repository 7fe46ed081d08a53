/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above */
#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "session/pace.h"

#define MS NS_PER_MS
#define START (1000 * MS)

static struct pace begin(uint64_t interval_ns, bool has_gate)
{
    struct pace pace;

    pace_init(&pace, START, interval_ns, has_gate);
    return pace;
}

static void samples_come_at_multiples_of_the_interval(void **state)
{
    struct pace pace = begin(100 * MS, true);

    (void)state;
    pace.glance_ns = PACE_NEVER;
    assert_int_equal(pace_wake_ns(&pace), START + 100 * MS);
    assert_int_equal(pace_sampled(&pace, START + 103 * MS, 0), 0); /* 3 ms late: no drift */
    assert_int_equal(pace.deadline_ns, START + 200 * MS);
}

static void without_a_job_there_are_only_samples(void **state)
{
    struct pace pace;

    (void)state;
    pace_init_without_job(&pace, START, 100 * MS);
    for (unsigned i = 1; i <= 10; i++) {
        assert_int_equal(pace_wake_ns(&pace), START + i * 100 * MS);
        assert_int_equal(pace_sampled(&pace, START + i * 100 * MS, UINT64_MAX), 0);
        assert_true(pace.glance_ns == PACE_NEVER);
    }
}

static void missed_deadlines_are_counted_and_left_out(void **state)
{
    struct pace pace = begin(100 * MS, true);

    (void)state;
    assert_int_equal(pace_sampled(&pace, START + 350 * MS, 0), 2); /* those at 200 and 300 */
    assert_int_equal(pace.deadline_ns, START + 400 * MS);
}

static void a_sample_that_was_asked_for_moves_no_deadline(void **state)
{
    struct pace pace = begin(100 * MS, true);

    (void)state;
    assert_int_equal(pace_sampled(&pace, START + 50 * MS, 0), 0);
    assert_int_equal(pace.deadline_ns, START + 100 * MS);
}

static void a_job_at_rest_is_left_alone(void **state)
{
    struct pace pace = begin(1000 * MS, true);
    uint64_t now_ns = START;

    (void)state;
    for (int i = 0; i < 10; i++) {
        now_ns += 20 * MS;
        /* it has run at first, hardly since: the fifth time in a row it has come to rest */
        assert_false(pace_glanced(&pace, now_ns, 1000, 1 * MS + (unsigned)i * MS / 10));
        assert_int_equal(pace.is_at_rest, i == 5);
    }
    assert_true(pace.glance_ns == PACE_NEVER);
    assert_int_equal(pace_wake_ns(&pace), START + 1000 * MS);
    /* A sample that finds it active again has it glanced at again. */
    (void)pace_sampled(&pace, now_ns, 10 * MS);
    assert_true(pace.glance_ns != PACE_NEVER);
}

static void without_a_gate_a_job_at_rest_is_glanced_at(void **state)
{
    struct pace pace = begin(1000 * MS, false);

    (void)state;
    for (unsigned i = 0; i < 10; i++)
        assert_false(pace_glanced(&pace, START + i * MS, 1000, 42));
    assert_int_equal(pace.glance_ns, START + 9 * MS + 10 * MS);
}

static void an_open_gate_means_fast_glances_for_a_while(void **state)
{
    struct pace pace = begin(1000 * MS, true);
    uint64_t now_ns = START + 500 * MS;
    unsigned glances = 0;
    bool arms = false;

    (void)state;
    pace_gate_opened(&pace, now_ns);
    assert_int_equal(pace_wake_ns(&pace), now_ns);
    while (!arms) {
        arms = pace_glanced(&pace, now_ns, 4 * NS_PER_US, now_ns);
        glances++;
        now_ns = arms ? now_ns : pace.glance_ns;
    }
    /* 20 ms in steps of 2 ms, and the one that closes the window. */
    assert_int_equal(glances, 11);
    assert_int_equal(now_ns, START + 520 * MS);
    /* Active, so it is looked at every 20 ms from now on. */
    assert_int_equal(pace.glance_ns, now_ns + 20 * MS);
}

static void dear_glances_are_rare(void **state)
{
    struct pace pace = begin(1000 * MS, true);

    (void)state;
    pace_gate_opened(&pace, START);
    assert_false(pace_glanced(&pace, START, 195 * NS_PER_US, 1));
    assert_int_equal(pace.glance_ns, START + 20 * MS); /* (195 + 5) us x 100 */
}

static void wake_ups_count(void **state)
{
    struct pace pace = begin(1000 * MS, true);

    (void)state;
    for (int i = 0; i < 100; i++) {
        pace_gate_opened(&pace, START);
        assert_false(pace_glanced(&pace, START, 20 * NS_PER_US, 1));
        pace_woke(&pace, 80 * NS_PER_US);
    }
    assert_in_range(pace.glance_ns, START + 9 * MS, START + 10 * MS);
}

static void a_job_is_calm_until_its_gate_opens(void **state)
{
    struct pace pace = begin(1000 * MS, true);

    (void)state;
    assert_true(pace_is_calm(&pace));
    pace_gate_opened(&pace, START);
    assert_false(pace_is_calm(&pace));
    assert_true(pace_glanced(&pace, START + 20 * MS, 1000, 1));
    assert_true(pace_is_calm(&pace));
    pace = begin(1000 * MS, false);
    assert_false(pace_is_calm(&pace)); /* nobody would tell */
}

static void a_single_process_needs_fewer(void **state)
{
    struct pace pace = begin(1000 * MS, true);

    (void)state;
    pace.is_single = true;
    pace_gate_opened(&pace, START);
    assert_false(pace_glanced(&pace, START, 1000, 1));
    assert_int_equal(pace.glance_ns, START + 10 * MS);
    assert_true(pace_glanced(&pace, START + 20 * MS, 1000, 5 * MS)); /* active */
    assert_int_equal(pace.glance_ns, START + 40 * MS);
    for (unsigned i = 1; i < 10; i++) /* less and less */
        assert_false(pace_glanced(&pace, START + i * 100 * MS, 1000, i * 50 * MS));
    assert_int_equal(pace.glance_ns, START + 900 * MS + 200 * MS);
    assert_false(
        pace_glanced(&pace, START + 950 * MS, 1000, 450 * MS)); /* it may come to rest */
    assert_int_equal(pace.glance_ns, START + 970 * MS);
    pace_gate_opened(&pace, START + 1000 * MS);
    assert_true(pace_glanced(&pace, START + 1020 * MS, 1000, 600 * MS));
    assert_int_equal(pace.glance_ns, START + 1040 * MS);
}

static void a_gate_that_is_dear_to_arm_stays_open_longer(void **state)
{
    struct pace pace = begin(1000 * MS, true);

    (void)state;
    pace.arm_cost_ns = MS; /* a thousand processes */
    pace_gate_opened(&pace, START);
    assert_int_equal(pace.window_end_ns, START + 100 * MS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_come_at_multiples_of_the_interval),
        cmocka_unit_test(without_a_job_there_are_only_samples),
        cmocka_unit_test(missed_deadlines_are_counted_and_left_out),
        cmocka_unit_test(a_sample_that_was_asked_for_moves_no_deadline),
        cmocka_unit_test(a_job_at_rest_is_left_alone),
        cmocka_unit_test(without_a_gate_a_job_at_rest_is_glanced_at),
        cmocka_unit_test(an_open_gate_means_fast_glances_for_a_while),
        cmocka_unit_test(dear_glances_are_rare),
        cmocka_unit_test(wake_ups_count),
        cmocka_unit_test(a_job_is_calm_until_its_gate_opens),
        cmocka_unit_test(a_single_process_needs_fewer),
        cmocka_unit_test(a_gate_that_is_dear_to_arm_stays_open_longer),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
