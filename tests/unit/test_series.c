/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "base/amount.h"
#include "base/clock.h"
#include "series/series.h"
#include "unit_test.h"

/* ---- rate ------------------------------------------------------------------ */

static void assert_near(double found, double expected)
{
    assert_true(fabs(found - expected) < 1e-9);
}

TEST(a_counter_that_decreased_has_no_growth)
{
    assert_int_equal(sub_known(12, 5), 7);
    assert_int_equal(sub_known(12, 12), 0);
    assert_int_equal(sub_known(5, 12), 0);
    assert_int_equal(sub_known(UINT64_MAX - 1, 0), UINT64_MAX - 1);
}

TEST(growth_between_unknown_values_is_unknown)
{
    assert_false(is_known(sub_known(5, UNKNOWN)));
    assert_false(is_known(sub_known(UNKNOWN, 5)));
    assert_false(is_known(sub_known(UNKNOWN, UNKNOWN)));
}

TEST(rates_are_in_base_units_per_second)
{
    assert_near(counter_rate(METRIC_JOB_CPU, 0, 3 * NS_PER_SECOND, 2 * NS_PER_SECOND), 1.5);
    assert_near(counter_rate(METRIC_JOB_READ, 1000, 3000, NS_PER_SECOND / 2), 4000);
}

/* There is no rate either if a value is unknown, such as the bytes of a removed disk or
 * interface. */
TEST(without_elapsed_time_there_is_no_rate)
{
    assert_true(isnan(counter_rate(METRIC_JOB_CPU, 0, 5, 0)));
    assert_true(isnan(counter_rate(METRIC_JOB_CPU, UNKNOWN, 5, 1)));
    assert_true(isnan(counter_rate(METRIC_JOB_CPU, 5, UNKNOWN, 1)));
}

/* ---- series ---------------------------------------------------------------- */

struct run {
    struct series series;
    struct summary summary;
};

static const struct series_gpus no_gpus;

static void begin(struct run *run)
{
    assert_int_equal(series_init(&run->series, SERIES_POINTS), 0);
    summary_init(&run->summary, NS_PER_SECOND);
}

static void append(struct run *run, const struct sample *sample, const struct series_gpus *gpus)
{
    summary_add(&run->summary, sample);
    series_append(&run->series, sample, &run->summary, gpus);
}

static void add(struct run *run, double seconds, uint64_t rss_bytes, double cpu_seconds,
                const struct series_gpus *gpus)
{
    struct sample sample;

    sample_clear(&sample);
    sample.elapsed_ns = (uint64_t)(seconds * 1e9 + 0.5);
    sample.value[METRIC_JOB_RSS] = rss_bytes;
    sample.value[METRIC_JOB_CPU] = isnan(cpu_seconds) ? UNKNOWN : (uint64_t)(cpu_seconds * 1e9);
    append(run, &sample, gpus);
}

static struct series_value get(const struct run *run, enum metric metric, size_t point)
{
    for (size_t i = 0; i < run->series.metric_count; i++) {
        if (run->series.metrics[i].metric == metric)
            return series_get(&run->series, &run->summary, i, point);
    }
    fail_msg("metric %d is not charted", (int)metric);
    return (struct series_value){ 0 };
}

static bool is_near(float value, double expected)
{
    return fabs((double)value - expected) <= 1e-4 * fabs(expected);
}

static bool is_flat(struct series_value value, double expected)
{
    return is_near(value.high, expected) && is_near(value.low, expected) &&
           is_near(value.mean, expected);
}

TEST(short_runs_are_kept_sample_by_sample)
{
    struct run run;

    begin(&run);
    for (unsigned i = 0; i < SERIES_POINTS; i++)
        add(&run, i, i, 2.0 * i, &no_gpus);
    assert_int_equal(run.series.count, SERIES_POINTS);
    assert_int_equal(run.series.stride, 1);
    assert_true(isnan(get(&run, METRIC_JOB_CPU, 0).high)); /* a rate needs two samples */
    for (size_t i = 1; i < SERIES_POINTS; i++) {
        assert_true(is_flat(get(&run, METRIC_JOB_RSS, i), (double)i));
        assert_true(is_flat(get(&run, METRIC_JOB_CPU, i), 2));
        assert_int_equal(run.series.ends_ns[i], i * NS_PER_SECOND);
    }
    assert_true(isnan(get(&run, METRIC_JOB_SWAP, 7).high));
    series_done(&run.series);
    series_done(&run.series); /* a second call is harmless */
}

TEST(a_merged_point_keeps_high_low_and_mean)
{
    struct run run;

    begin(&run);
    for (unsigned i = 0; i <= SERIES_POINTS; i++)
        add(&run, i, i == 5 ? 1000 : 10, i == 5 ? 14 : 2.0 * i + (i > 5 ? 10 : 0), &no_gpus);
    assert_int_equal(run.series.count, SERIES_POINTS / 2 + 1);
    assert_int_equal(run.series.stride, 2);
    assert_int_equal(run.series.open_samples, 1);
    assert_int_equal(run.series.ends_ns[2], 5 * NS_PER_SECOND); /* samples 4 and 5 */
    assert_true(is_near(get(&run, METRIC_JOB_RSS, 2).high, 1000));
    assert_true(is_near(get(&run, METRIC_JOB_RSS, 2).low, 10));
    assert_true(is_near(get(&run, METRIC_JOB_RSS, 2).mean, 505));
    assert_true(is_near(get(&run, METRIC_JOB_CPU, 2).high, 6));
    assert_true(is_near(get(&run, METRIC_JOB_CPU, 2).low, 2));
    assert_true(is_near(get(&run, METRIC_JOB_CPU, 2).mean, 4));
    assert_true(is_flat(get(&run, METRIC_JOB_RSS, 3), 10));
    series_done(&run.series);
}

/* A week of samples every 10 ms is 60 million; 32771 are enough to halve the series five
 * times. */
TEST(peaks_are_kept_in_a_long_run)
{
    static const unsigned counts[] = { 3, 1023, 1024, 1025, 2047, 2048, 2049, 5000, 32771 };

    for (size_t k = 0; k < sizeof(counts) / sizeof(counts[0]); k++) {
        unsigned peak_at = counts[k] / 3;
        size_t peaks = 0, fast = 0;
        double cpu = 0, sum = 0;
        struct run run;

        begin(&run);
        for (unsigned i = 0; i < counts[k]; i++) {
            add(&run, i, i == peak_at ? 1000000 : 10, cpu, &no_gpus);
            cpu += i + 1 == peak_at ? 100 : 1;
        }
        assert_in_range(run.series.count, 1, SERIES_POINTS);
        for (size_t i = 0; i < run.series.count; i++) {
            struct series_value rate = get(&run, METRIC_JOB_CPU, i);

            peaks += is_near(get(&run, METRIC_JOB_RSS, i).high, 1000000);
            fast += is_near(rate.high, 100);
            assert_true(i == 0 || run.series.ends_ns[i] > run.series.ends_ns[i - 1]);
            if (!isnan(rate.mean))
                sum += (double)rate.mean *
                       (double)(run.series.ends_ns[i] - series_start_ns(&run.series, i)) / 1e9;
        }
        assert_int_equal(peaks, 1);
        assert_int_equal(fast, peak_at > 0);
        assert_int_equal(run.series.ends_ns[run.series.count - 1],
                         (counts[k] - 1) * NS_PER_SECOND);
        assert_true(fabs(sum - (cpu - 1)) <= 1e-3 * cpu); /* no increase is lost, either */
        series_done(&run.series);
    }
}

/* Rates cover at least half an interval: see summary_init(). */
TEST(a_rate_over_several_points_applies_to_each)
{
    struct run run;

    begin(&run);
    add(&run, 0, 1, 0, &no_gpus);
    add(&run, 0.01, 1, 0.5, &no_gpus); /* would be 50 cores */
    add(&run, 1, 1, 1, &no_gpus);
    add(&run, 2, 1, (double)NAN, &no_gpus);
    add(&run, 3, 1, 5, &no_gpus);
    assert_true(is_flat(get(&run, METRIC_JOB_CPU, 1), 1));
    assert_true(is_flat(get(&run, METRIC_JOB_CPU, 2), 1));
    assert_true(is_flat(get(&run, METRIC_JOB_CPU, 3), 2));
    assert_true(is_flat(get(&run, METRIC_JOB_CPU, 4), 2));
    series_done(&run.series);
}

static void add_started(struct run *run, double seconds, uint64_t count)
{
    struct sample sample;

    sample_clear(&sample);
    sample.elapsed_ns = (uint64_t)(seconds * 1e9 + 0.5);
    sample.value[METRIC_JOB_STARTED] = count;
    append(run, &sample, &no_gpus);
}

/* Some processes are found not to belong to the job after they were counted. */
TEST(a_decreasing_counter_has_no_negative_rate)
{
    static const uint64_t counts[][8] = { { 1, 3, 6, 2, 2, 5, 5, 4 },
                                          { 1, 9, 1, 9, 1, 9, 1, 9 },
                                          { 1, 2, 3, 4, 5, 6, 7, 1 },
                                          { 3, 5, 4, 1, 1, 6, 2, 4 } };

    for (size_t k = 0; k < 4; k++) {
        for (unsigned part = 1; part <= 4; part++) { /* windows of one and of several samples */
            double total = 0;
            struct run run;

            begin(&run);
            for (unsigned i = 0; i < 8; i++)
                add_started(&run, i / (double)part, counts[k][i]);
            for (size_t i = 1; i < 8; i++) {
                struct series_value value = get(&run, METRIC_JOB_STARTED, i);

                assert_true(0 <= value.low && value.low <= value.mean &&
                            value.mean <= value.high);
                total += (double)value.mean / part;
            }
            assert_true(fabs(total - (double)(counts[k][7] - 1)) < 1e-4);
            series_done(&run.series);
        }
    }
}

TEST(the_end_of_a_run_causes_no_spike)
{
    struct run run;

    begin(&run);
    add(&run, 0, 1, 0, &no_gpus);
    add(&run, 0.02, 1, 0.01, &no_gpus);
    assert_true(is_flat(get(&run, METRIC_JOB_CPU, 1), 0.5)); /* the only value */
    add(&run, 1, 1, 1, &no_gpus);
    add(&run, 1.001, 1, 1.1,
        &no_gpus); /* 100 cores for 1 ms: too short, so it is merged with the 499 ms before */
    assert_true(is_flat(get(&run, METRIC_JOB_CPU, 3), 0.599 / 0.5));
    add(&run, 1.1, 1, 1.1, &no_gpus);
    assert_true(is_flat(get(&run, METRIC_JOB_CPU, 4), 1));
    add(&run, 1.4, 1, 1.1, &no_gpus);
    assert_true(
        is_flat(get(&run, METRIC_JOB_CPU, 5), 0.4)); /* 0.2 s of CPU time in the last 0.5 s */
    series_done(&run.series);
}

static void add_threads(struct run *run, double seconds, uint64_t threads)
{
    struct sample sample;

    sample_clear(&sample);
    sample.elapsed_ns = (uint64_t)(seconds * 1e9 + 0.5);
    sample.value[METRIC_JOB_THREADS] = threads;
    sample.value[METRIC_JOB_RSS] = 100 * threads;
    sample.value[METRIC_JOB_PAGE_CACHE] = 7;
    sample.value[METRIC_HOST_SWAP_USED] = 0;
    append(run, &sample, &no_gpus);
}

TEST(after_the_end_of_the_job_its_gauges_are_unknown)
{
    struct run run;

    begin(&run);
    add_threads(&run, 0, 2);
    add_threads(&run, 1, 0);
    assert_true(isnan(get(&run, METRIC_JOB_THREADS, 1).mean));
    assert_true(isnan(get(&run, METRIC_JOB_RSS, 1).mean));
    assert_true(is_flat(get(&run, METRIC_JOB_PAGE_CACHE, 1), 7)); /* known from its cgroup */
    assert_true(is_flat(get(&run, METRIC_HOST_SWAP_USED, 1), 0));
    add_threads(&run, 2, 0);
    add_threads(&run, 3, 2); /* the job had not ended here */
    add_threads(&run, 4, 0);
    assert_true(is_flat(get(&run, METRIC_JOB_THREADS, 1), 0));
    assert_true(is_flat(get(&run, METRIC_JOB_RSS, 2), 0));
    assert_true(is_flat(get(&run, METRIC_JOB_RSS, 3), 200));
    assert_true(isnan(get(&run, METRIC_JOB_THREADS, 4).mean));
    series_done(&run.series);
}

/* A sample may be taken between the end of the job and the last sample. */
TEST(several_samples_after_the_end_of_the_job_are_unknown)
{
    struct sample sample;
    struct run run;

    begin(&run);
    add_threads(&run, 0, 2);
    sample_clear(&sample);
    sample.value[METRIC_JOB_THREADS] = 0;
    sample.job_is_over = true;
    for (unsigned i = 1; i <= 3; i++) {
        sample.elapsed_ns = i * NS_PER_SECOND;
        append(&run, &sample, &no_gpus);
    }
    for (size_t i = 1; i <= 3; i++)
        assert_true(isnan(get(&run, METRIC_JOB_THREADS, i).mean));
    series_done(&run.series);
}

TEST(a_merged_point_excludes_the_end_of_the_job)
{
    struct series_value value;
    struct run run;

    begin(&run);
    for (unsigned i = 0; i <= SERIES_POINTS; i++) /* until a point has two samples */
        add_threads(&run, i, 2);
    add_threads(&run, SERIES_POINTS + 1, 0);
    assert_true(is_flat(get(&run, METRIC_JOB_THREADS, run.series.count - 1), 2));
    add_threads(&run, SERIES_POINTS + 2, 2);
    value = get(&run, METRIC_JOB_THREADS, run.series.count - 2);
    assert_true(is_near(value.high, 2) && is_near(value.low, 0) && is_near(value.mean, 1));
    series_done(&run.series);
}

TEST(gpus_may_appear_late_and_be_lost)
{
    struct series_gpus gpus = { .count = 2, .places = { { 0, -1 }, { 3, 1 } } };
    struct run run;

    begin(&run);
    gpus.values[1][2] = 0.75f;
    add(&run, 0, 1, 0, &no_gpus);
    add(&run, 1, 1, 0, &gpus);
    add(&run, 2, 1, 0, &no_gpus);
    assert_int_equal(run.series.gpu_count, 2);
    assert_int_equal(run.series.gpus[1].index, 3);
    assert_true(isnan(run.series.gpu_values[11].high));
    assert_true(is_flat(run.series.gpu_values[18 + 11], 0.75));
    assert_true(isnan(run.series.gpu_values[36 + 11].high));
    for (unsigned i = 3; i <= SERIES_POINTS; i++)
        add(&run, i, 1, 0, &gpus);
    assert_true(is_flat(run.series.gpu_values[11], 0.75)); /* merged from points 0 and 1 */
    series_done(&run.series);
}
