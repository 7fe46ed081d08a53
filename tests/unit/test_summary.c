/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "base/clock.h"
#include "series/summary.h"
#include "unit_test.h"

static void assert_near(double found, double expected)
{
    assert_true(fabs(found - expected) < 1e-9);
}

/* Adds a sample with one known metric, at a time in milliseconds. */
static void add(struct summary *summary, uint64_t ms, enum metric metric, uint64_t value)
{
    struct sample sample;

    sample_clear(&sample);
    sample.elapsed_ns = ms * NS_PER_MS;
    sample.realtime_ns = (5000 + ms) * NS_PER_MS;
    sample.value[metric] = value;
    summary_add(summary, &sample);
}

TEST(without_samples_every_metric_is_unknown)
{
    struct summary summary;

    summary_init(&summary, NS_PER_SECOND);
    assert_int_equal(summary.sample_count, 0);
    for (int i = 0; i < METRIC_COUNT; i++) {
        assert_false(is_known(summary.tally[i].first));
        assert_false(is_known(summary.tally[i].max));
        assert_true(isnan(summary.tally[i].max_rate));
    }
}

TEST(first_last_and_peak_are_kept)
{
    const struct tally *tally;
    struct summary summary;

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
    assert_true(isnan(tally->max_rate)); /* gauges have no rate */
    assert_int_equal(summary.sample_count, 5);
    assert_int_equal(summary.started_ns, 1000 * NS_PER_MS);
    assert_int_equal(summary.ended_ns, 5000 * NS_PER_MS);
    assert_int_equal(summary.started_realtime_ns, 6000 * NS_PER_MS);
    assert_int_equal(summary.ended_realtime_ns, 10000 * NS_PER_MS);
}

TEST(the_fastest_interval_is_kept)
{
    struct summary summary;

    summary_init(&summary, NS_PER_SECOND);
    add(&summary, 0, METRIC_JOB_CPU, 0);
    add(&summary, 1000, METRIC_JOB_CPU, 500 * NS_PER_MS);
    add(&summary, 2000, METRIC_JOB_CPU, 4000 * NS_PER_MS);
    add(&summary, 3000, METRIC_JOB_CPU, 4100 * NS_PER_MS);
    assert_near(summary.tally[METRIC_JOB_CPU].max_rate, 3.5);
}

TEST(a_short_interval_causes_no_peak_rate)
{
    struct summary summary;

    summary_init(&summary, NS_PER_SECOND);
    add(&summary, 0, METRIC_JOB_CPU, 0);
    add(&summary, 1000, METRIC_JOB_CPU, 1000 * NS_PER_MS);
    add(&summary, 1001, METRIC_JOB_CPU, 1100 * NS_PER_MS); /* 100 cores for 1 ms */
    assert_near(summary.tally[METRIC_JOB_CPU].max_rate, 1);
    /* The usage is not lost: it counts in the window that contains it. */
    add(&summary, 2000, METRIC_JOB_CPU, 2500 * NS_PER_MS);
    assert_near(summary.tally[METRIC_JOB_CPU].max_rate, 1.5);
}

/* The tracker was delayed between taking the time and reading the counter. */
TEST(a_rate_is_taken_between_the_readings_of_its_counter)
{
    struct summary summary;
    struct sample sample;

    summary_init(&summary, 0);
    for (uint64_t i = 0; i < 3; i++) {
        sample_clear(&sample);
        sample.elapsed_ns = i * NS_PER_SECOND;
        sample.clocks[CLOCK_JOB_CPU].late_ns = i == 1 ? NS_PER_SECOND / 2 : 0;
        sample.value[METRIC_JOB_CPU] =
            sample.elapsed_ns + sample.clocks[CLOCK_JOB_CPU].late_ns; /* one core */
        sample.value[METRIC_JOB_READ] = i * 1000;
        summary_add(&summary, &sample);
    }
    assert_near(summary.tally[METRIC_JOB_CPU].max_rate, 1);
    assert_int_equal(summary.tally[METRIC_JOB_CPU].last_ns, 2 * NS_PER_SECOND);
    assert_near(summary.tally[METRIC_JOB_READ].max_rate, 1000);
}

/* The job exits in the middle of a second; the machine's counter is read two seconds later. */
TEST(a_late_reading_does_not_raise_the_peak_of_the_machine)
{
    struct summary summary;
    const struct tally *tally = &summary.tally[METRIC_HOST_CPU];

    summary_init(&summary, NS_PER_SECOND);
    for (uint64_t i = 0; i < 4; i++) {
        struct sample sample;

        sample_clear(&sample);
        sample.elapsed_ns = i < 3 ? i * NS_PER_SECOND : 5 * NS_PER_SECOND / 2;
        sample.clocks[CLOCK_HOST_CPU] =
            (struct sample_clock){ i < 3 ? NS_PER_MS : 2 * NS_PER_SECOND, 30 * NS_PER_MS };
        sample.value[METRIC_HOST_CPU] =
            2 * (sample.elapsed_ns + sample.clocks[CLOCK_HOST_CPU].late_ns); /* two cores */
        summary_add(&summary, &sample);
    }
    assert_near(summary_max_rate(&summary, METRIC_HOST_CPU), 2);
    assert_near(
        (double)(tally->last - tally->first) / (double)(tally->last_ns - tally->first_ns), 2);
    assert_int_equal(tally->last_ns, 5 * NS_PER_SECOND / 2);
}

/* One core is busy; the counter grows in steps of 10 ms and is read every millisecond. */
TEST(a_coarse_counter_causes_no_fast_rate)
{
    struct summary summary;
    struct sample sample;

    summary_init(&summary, NS_PER_MS);
    for (uint64_t ms = 0; ms < 1000; ms++) {
        sample_clear(&sample);
        sample.elapsed_ns = ms * NS_PER_MS;
        sample.clocks[CLOCK_JOB_CPU].resolution_ns = 10 * NS_PER_MS;
        sample.value[METRIC_JOB_CPU] = ms / 10 * 10 * NS_PER_MS;
        summary_add(&summary, &sample);
    }
    assert_near(summary.tally[METRIC_JOB_CPU].max_rate, 1);
}

TEST(simultaneous_samples_are_harmless)
{
    struct summary summary;

    summary_init(&summary, 1); /* half an interval is 0 ns */
    add(&summary, 1000, METRIC_JOB_CPU, 0);
    add(&summary, 1000, METRIC_JOB_CPU, 50);
    assert_true(isnan(summary.tally[METRIC_JOB_CPU].max_rate));
    assert_int_equal(summary.tally[METRIC_JOB_CPU].last, 50);
}

TEST(a_reset_counter_has_no_negative_rate)
{
    struct summary summary;

    summary_init(&summary, NS_PER_SECOND);
    add(&summary, 0, METRIC_JOB_CPU, 5000 * NS_PER_MS);
    add(&summary, 1000, METRIC_JOB_CPU, 100 * NS_PER_MS);
    assert_near(summary.tally[METRIC_JOB_CPU].max_rate, 0);
    add(&summary, 2000, METRIC_JOB_CPU, 1100 * NS_PER_MS);
    assert_near(summary.tally[METRIC_JOB_CPU].max_rate, 1);
}

/* The processes of an agent are counted until spoor recognizes the agent. */
TEST(usage_of_an_agent_recognized_late_is_removed)
{
    struct summary summary;

    summary_init(&summary, 0);
    add(&summary, 0, METRIC_JOB_STARTED, 1);
    add(&summary, 1000, METRIC_JOB_STARTED, 3);
    add(&summary, 2000, METRIC_JOB_STARTED, 1);
    assert_int_equal(summary.tally[METRIC_JOB_STARTED].last, 1);
    add(&summary, 3000, METRIC_JOB_STARTED, 2);
    assert_int_equal(summary.tally[METRIC_JOB_STARTED].last, 2);
}

TEST(bytes_counted_twice_are_removed)
{
    struct summary summary;

    summary_init(&summary, 0);
    add(&summary, 0, METRIC_JOB_READ, 0);
    add(&summary, 1000, METRIC_JOB_READ, 200);
    add(&summary, 2000, METRIC_JOB_READ, 120);
    assert_int_equal(summary.tally[METRIC_JOB_READ].last, 120);
}

TEST(a_counter_from_the_start_begins_at_0_even_if_read_later)
{
    const struct tally *tally;
    struct summary summary;

    summary_init(&summary, NS_PER_SECOND);
    tally = &summary.tally[METRIC_JOB_GPU_BUSY];
    add(&summary, 1000, METRIC_JOB_GPU_BUSY, UNKNOWN);
    add(&summary, 3000, METRIC_JOB_GPU_BUSY, 800);
    assert_int_equal(tally->first, 0);
    assert_int_equal(tally->first_ns, 1000 * NS_PER_MS);
    assert_int_equal(tally->last, 800);
}

TEST(a_phase_continues_from_the_counters_of_the_run)
{
    struct summary run, phase;

    summary_init(&run, NS_PER_SECOND);
    summary_init(&phase, NS_PER_SECOND);
    add(&run, 0, METRIC_JOB_GPU_BUSY, UNKNOWN);
    add(&run, 1000, METRIC_JOB_GPU_BUSY, 500);
    add(&phase, 2000, METRIC_JOB_GPU_BUSY, UNKNOWN); /* the driver does not respond */
    summary_continue(&phase, &run);
    add(&phase, 3000, METRIC_JOB_GPU_BUSY, 700);
    assert_int_equal(phase.tally[METRIC_JOB_GPU_BUSY].first, 500);
    assert_int_equal(phase.tally[METRIC_JOB_GPU_BUSY].first_ns, 2000 * NS_PER_MS);
    summary_init(&phase, NS_PER_SECOND);
    add(&phase, 4000, METRIC_JOB_GPU_BUSY, 900);
    summary_continue(&phase, &run);
    assert_int_equal(phase.tally[METRIC_JOB_GPU_BUSY].first, 900);
}

TEST(the_first_sample_covers_the_time_before_it)
{
    const struct tally *tally;
    struct summary summary;

    summary_init(&summary, NS_PER_SECOND);
    tally = &summary.tally[METRIC_JOB_GPU_MEMORY];
    add(&summary, 0, METRIC_JOB_GPU_MEMORY, 900);
    assert_false(is_known(tally->later_max));
    add(&summary, 1000, METRIC_JOB_GPU_MEMORY, 300);
    add(&summary, 2000, METRIC_JOB_GPU_MEMORY, 200);
    assert_int_equal(tally->max, 900);
    assert_int_equal(tally->later_max, 300);
    summary_raise(&summary, METRIC_JOB_GPU_MEMORY, 400, "test");
    summary_raise(&summary, METRIC_JOB_GPU_MEMORY, 100, "test");
    assert_int_equal(tally->later_max, 400);
}

TEST(an_initial_zero_that_was_not_measured_is_removed)
{
    struct summary summary;

    summary_init(&summary, NS_PER_SECOND);
    add(&summary, 0, METRIC_JOB_GPU_MEMORY, 0);
    summary_forget_zero(&summary, METRIC_JOB_GPU_MEMORY);
    assert_false(is_known(summary.tally[METRIC_JOB_GPU_MEMORY].max));
    add(&summary, 1000, METRIC_JOB_GPU_MEMORY, 5);
    summary_forget_zero(&summary, METRIC_JOB_GPU_MEMORY);
    assert_int_equal(summary.tally[METRIC_JOB_GPU_MEMORY].max, 5);
}

TEST(the_parts_of_memory_are_read_at_the_peak)
{
    static const struct memory_split splits[] = { { 30, 10, 20 },
                                                  { 90, 80, 10 },
                                                  { 60, 1, 59 } };
    struct summary summary;

    summary_init(&summary, NS_PER_SECOND);
    assert_false(is_known(summary.at_peak.total_bytes));
    for (size_t i = 0; i < 3; i++) {
        struct sample sample;

        sample_clear(&sample);
        sample.at_peak = splits[i];
        summary_add(&summary, &sample);
    }
    assert_memory_equal(&summary.at_peak, &splits[1], sizeof(splits[1]));
}

TEST(a_resumed_phase_excludes_the_time_between_its_parts)
{
    struct summary run, phase;
    const struct tally *cpu = &phase.tally[METRIC_JOB_CPU];

    summary_init(&run, NS_PER_SECOND);
    summary_init(&phase, NS_PER_SECOND);
    add(&run, 0, METRIC_JOB_CPU, 0);
    add(&run, 1000, METRIC_JOB_CPU, 1000); /* the phase starts: 1 s, 500 */
    add(&phase, 1000, METRIC_JOB_CPU, 1000);
    add(&run, 2000, METRIC_JOB_CPU, 1500);
    add(&phase, 2000, METRIC_JOB_CPU, 1500);
    add(&run, 7000, METRIC_JOB_CPU, 9500);
    summary_resume(&phase, &run); /* its second part: 2 s, 30 */
    add(&run, 9000, METRIC_JOB_CPU, 9530);
    add(&phase, 9000, METRIC_JOB_CPU, 9530);
    assert_int_equal(cpu->last - cpu->first, 530);
    assert_int_equal(cpu->last_ns - cpu->first_ns, 3000 * NS_PER_MS);
    assert_int_equal(phase.ended_ns - phase.started_ns, 3000 * NS_PER_MS);
    assert_int_equal(phase.started_realtime_ns, 6000 * NS_PER_MS);
    /* The rate is computed within each part, never across the gap between the parts. */
    assert_near(cpu->max_rate, 500 / 1e9);
}

TEST(a_resumed_phase_has_the_maximum_of_all_its_parts)
{
    struct summary run, phase;

    summary_init(&run, NS_PER_SECOND);
    summary_init(&phase, NS_PER_SECOND);
    add(&phase, 1000, METRIC_JOB_RSS, 50);
    add(&phase, 2000, METRIC_JOB_RSS, 40);
    add(&run, 5000, METRIC_JOB_RSS, 900); /* outside the phase */
    add(&run, 6000, METRIC_JOB_RSS, 60);
    summary_resume(&phase, &run);
    assert_int_equal(phase.tally[METRIC_JOB_RSS].max, 60);
    add(&phase, 7000, METRIC_JOB_RSS, 70);
    assert_int_equal(phase.tally[METRIC_JOB_RSS].max, 70);
    assert_false(is_known(phase.tally[METRIC_JOB_CPU].first)); /* unknown values stay unknown */
}

/* Another source reports additional CPU time, which was used at an unknown time. */
TEST(missed_cpu_time_is_added_only_to_totals)
{
    struct summary summary;
    struct sample sample;
    const struct tally *tally = &summary.tally[METRIC_JOB_CPU];

    summary_init(&summary, NS_PER_SECOND);
    add(&summary, 0, METRIC_JOB_CPU, 0);
    add(&summary, 1000, METRIC_JOB_CPU, 2 * NS_PER_SECOND);
    sample_clear(&sample);
    sample.elapsed_ns = 1500 * NS_PER_MS;
    sample.value[METRIC_JOB_CPU] = 3 * NS_PER_SECOND;
    sample.missed_cpu_ns = 30 * NS_PER_SECOND;
    summary_add(&summary, &sample);
    assert_near(tally->max_rate, 2);
    assert_int_equal(tally->last - tally->first, 33 * NS_PER_SECOND);
}
