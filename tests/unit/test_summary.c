/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above */
#include <cmocka.h>
#include <math.h>

#include "base/clock.h"
#include "series/summary.h"

static void assert_near(double found, double expected)
{
    assert_true(fabs(found - expected) < 1e-9);
}

/* A sample with one metric known, at a time in milliseconds. */
static void add(struct summary *summary, uint64_t ms, enum metric metric, uint64_t value)
{
    struct sample sample;

    sample_clear(&sample);
    sample.elapsed_ns = ms * NS_PER_MS;
    sample.realtime_ns = (5000 + ms) * NS_PER_MS;
    sample.value[metric] = value;
    summary_add(summary, &sample);
}

static void without_samples_nothing_is_known(void **state)
{
    struct summary summary;

    (void)state;
    summary_init(&summary, NS_PER_SECOND);
    assert_int_equal(summary.sample_count, 0);
    for (int i = 0; i < METRIC_COUNT; i++) {
        assert_false(is_known(summary.tally[i].first));
        assert_false(is_known(summary.tally[i].max));
        assert_true(isnan(summary.tally[i].max_rate));
    }
}

static void first_last_and_peak_are_kept(void **state)
{
    const struct tally *tally;
    struct summary summary;

    (void)state;
    summary_init(&summary, NS_PER_SECOND);
    tally = &summary.tally[METRIC_JOB_RSS];
    add(&summary, 1000, METRIC_JOB_RSS, UNKNOWN);
    add(&summary, 2000, METRIC_JOB_RSS, 30);
    add(&summary, 3000, METRIC_JOB_RSS, 70);
    add(&summary, 4000, METRIC_JOB_RSS, 0);
    add(&summary, 5000, METRIC_JOB_RSS, UNKNOWN);
    assert_int_equal(tally->first, 30);
    assert_int_equal(tally->max, 70);
    assert_int_equal(tally->last, 0);
    assert_int_equal(tally->first_ns, 2000 * NS_PER_MS);
    assert_int_equal(tally->last_ns, 4000 * NS_PER_MS);
    assert_true(isnan(tally->max_rate)); /* gauges have none */
    assert_int_equal(summary.sample_count, 5);
    assert_int_equal(summary.started_ns, 1000 * NS_PER_MS);
    assert_int_equal(summary.ended_ns, 5000 * NS_PER_MS);
    assert_int_equal(summary.started_realtime_ns, 6000 * NS_PER_MS);
    assert_int_equal(summary.ended_realtime_ns, 10000 * NS_PER_MS);
}

static void the_fastest_interval_is_kept(void **state)
{
    struct summary summary;

    (void)state;
    summary_init(&summary, NS_PER_SECOND);
    add(&summary, 0, METRIC_JOB_CPU, 0);
    add(&summary, 1000, METRIC_JOB_CPU, 500 * NS_PER_MS);
    add(&summary, 2000, METRIC_JOB_CPU, 4000 * NS_PER_MS);
    add(&summary, 3000, METRIC_JOB_CPU, 4100 * NS_PER_MS);
    assert_near(summary.tally[METRIC_JOB_CPU].max_rate, 3.5);
}

static void a_moment_makes_no_peak_rate(void **state)
{
    struct summary summary;

    (void)state;
    summary_init(&summary, NS_PER_SECOND);
    add(&summary, 0, METRIC_JOB_CPU, 0);
    add(&summary, 1000, METRIC_JOB_CPU, 1000 * NS_PER_MS);
    add(&summary, 1001, METRIC_JOB_CPU, 1100 * NS_PER_MS); /* 100 cores for 1 ms */
    assert_near(summary.tally[METRIC_JOB_CPU].max_rate, 1);
    /* The moment is not lost: it counts in the window that it is part of. */
    add(&summary, 2000, METRIC_JOB_CPU, 2500 * NS_PER_MS);
    assert_near(summary.tally[METRIC_JOB_CPU].max_rate, 1.5);
}

static void samples_at_the_same_time_are_harmless(void **state)
{
    struct summary summary;

    (void)state;
    summary_init(&summary, 1); /* a window of 0 */
    add(&summary, 1000, METRIC_JOB_CPU, 0);
    add(&summary, 1000, METRIC_JOB_CPU, 50);
    assert_true(isnan(summary.tally[METRIC_JOB_CPU].max_rate));
    assert_int_equal(summary.tally[METRIC_JOB_CPU].last, 50);
}

static void a_reset_counter_has_no_negative_rate(void **state)
{
    struct summary summary;

    (void)state;
    summary_init(&summary, NS_PER_SECOND);
    add(&summary, 0, METRIC_JOB_CPU, 5000 * NS_PER_MS);
    add(&summary, 1000, METRIC_JOB_CPU, 100 * NS_PER_MS);
    assert_near(summary.tally[METRIC_JOB_CPU].max_rate, 0);
    add(&summary, 2000, METRIC_JOB_CPU, 1100 * NS_PER_MS);
    assert_near(summary.tally[METRIC_JOB_CPU].max_rate, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_samples_nothing_is_known),
        cmocka_unit_test(first_last_and_peak_are_kept),
        cmocka_unit_test(the_fastest_interval_is_kept),
        cmocka_unit_test(a_moment_makes_no_peak_rate),
        cmocka_unit_test(samples_at_the_same_time_are_harmless),
        cmocka_unit_test(a_reset_counter_has_no_negative_rate),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
