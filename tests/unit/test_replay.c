/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/amount.h"
#include "record/replay.h"
#include "unit_test.h"

#define START 1773480413.589

static struct replay *begin(void)
{
    struct replay *replay = replay_new();

    assert_non_null(replay);
    return replay;
}

static void add(struct replay *replay, double elapsed, double cpu, double rss)
{
    struct replay_row row;

    replay_row_clear(&row);
    row.unix_seconds = START + elapsed;
    row.value[METRIC_JOB_CPU] = cpu;
    row.value[METRIC_JOB_RSS] = rss;
    replay_add(replay, &row);
}

static bool is_near(double value, double expected)
{
    return fabs(value - expected) <= 1e-4 * fabs(expected) + 1e-9;
}

TEST(figures_and_a_curve_are_computed_from_rows)
{
    struct replay *replay = begin();
    struct spoor_figure peak;
    struct record record;

    for (int i = 0; i <= 100; i++)
        add(replay, i / 2.0, i < 60 ? 7 : 7 + (i - 60) * 0.5, i == 80 ? 5e9 : 1e9);
    assert_int_equal(replay_finish(replay, "a.csv", 0, &record), 0);
    assert_string_equal(record.name, "a.csv");
    assert_true(is_near(record.elapsed_seconds, 50));
    assert_true(is_near(record.interval_seconds, 0.5));
    assert_true(fabs(record.started_at - START) < 0.0011);
    assert_int_equal(record.samples, 101);
    assert_false(is_known(record.exit_code));
    peak = record_find(record.figures, "memory.combined.total_rss_bytes");
    assert_true(is_near(peak.value, 5e9));
    assert_string_equal(peak.source, "samples");
    assert_false(peak.is_exact);
    assert_true(is_near(record_value(&record, "cpu.total_seconds"), 20));
    assert_true(is_near(record_value(&record, "cpu.max_cores"), 1));
    assert_true(isnan(record_value(&record, "io.read_bytes")));
    assert_int_equal(record.curve.count, 101);
    assert_true(is_near((double)curve_find(&record.curve, "job_cpu_seconds")->high[70], 1));
    assert_int_equal(record.warning_count, 0);
    record_done(&record);
    replay_free(replay);
}

/* A tracker may take several samples before it notices that the job has ended. */
TEST(rows_after_the_end_of_the_job_are_not_in_its_curve)
{
    struct replay *replay = begin();
    const struct curve_column *memory;
    struct record record;

    for (int i = 0; i < 5; i++) {
        struct replay_row row;

        replay_row_clear(&row);
        row.unix_seconds = START + i;
        row.value[METRIC_JOB_THREADS] = i < 3;
        row.value[METRIC_JOB_RSS] = i < 3 ? 1000 : 0;
        replay_add(replay, &row);
    }
    assert_int_equal(replay_finish(replay, "x", 0, &record), 0);
    memory = curve_find(&record.curve, "job_rss_bytes");
    assert_int_equal(record.curve.count, 5);
    for (int i = 0; i < 3; i++)
        assert_true(is_near((double)memory->low[i], 1000));
    assert_true(isnan(memory->high[3]) && isnan(memory->high[4]));
    record_done(&record);
    replay_free(replay);
}

/* Each row covers the time since the previous row; the first row covers one interval. */
TEST(rates_and_growth_add_up)
{
    static const enum replay_kind kinds[] = { REPLAY_GROWTH, REPLAY_RATE };

    for (size_t k = 0; k < 2; k++) {
        struct replay *replay = begin();
        struct record record;

        replay_set_kind(replay, METRIC_JOB_CPU, kinds[k]);
        for (int i = 0; i < 10; i++)
            add(replay, 2 * i, kinds[k] == REPLAY_GROWTH ? 3 : 1.5, 1000);
        assert_int_equal(replay_finish(replay, "x", 0, &record), 0);
        assert_true(is_near(record.elapsed_seconds, 20));
        assert_true(is_near(record_value(&record, "cpu.total_seconds"), 30));
        assert_true(is_near(record_value(&record, "cpu.max_cores"), 1.5));
        assert_true(fabs(record.started_at - (START - 2)) < 0.0011);
        record_done(&record);
        replay_free(replay);
    }
}

TEST(memory_is_bounded_and_peaks_are_kept)
{
    struct replay *replay = begin();
    const struct curve_column *cpu;
    struct record record;
    double used = 0, highest = 0;

    for (int i = 0; i < 100000; i++) {
        add(replay, i, used, i == 77777 ? 98765432 : 1000);
        used += i == 33333 ? 7.7 : 0.1;
    }
    assert_int_equal(replay_finish(replay, "x", 0, &record), 0);
    assert_in_range(record.curve.count, CURVE_PAGE_POINTS / 2, CURVE_PAGE_POINTS);
    assert_true(is_near(record_value(&record, "memory.combined.total_rss_bytes"), 98765432));
    cpu = curve_find(&record.curve, "job_cpu_seconds");
    for (size_t i = 0; i < record.curve.count; i++)
        highest = fmax(highest, (double)cpu->high[i]);
    assert_true(is_near(highest, 7.7));
    record_done(&record);
    replay_free(replay);
}

TEST(a_backward_time_step_starts_another_run)
{
    struct replay *replay = begin();
    struct replay_row row;

    replay_row_clear(&row);
    row.unix_seconds = START;
    row.elapsed_seconds = 0;
    assert_false(replay_is_over(replay, &row));
    replay_add(replay, &row);
    row.elapsed_seconds = 1;
    assert_false(replay_is_over(replay, &row));
    replay_add(replay, &row);
    row.elapsed_seconds = 0;
    assert_true(replay_is_over(replay, &row));
    replay_free(replay);
}

TEST(few_rows_and_implausible_values_are_harmless)
{
    struct replay *replay = begin();
    struct record record;

    assert_int_equal(replay_finish(replay, "x", 0, &record), -ENODATA);
    add(replay, 0, -5, 1e300);
    assert_int_equal(replay_finish(replay, "x", 3, &record), 0);
    assert_true(isnan(record_value(&record, "memory.combined.total_rss_bytes")));
    assert_int_equal(record.warning_count, 1);
    assert_non_null(strstr(record.warnings[0].message, "3"));
    record_done(&record);
    replay_free(replay);
    replay_free(NULL);
}

TEST(times_are_limited)
{
    struct replay *replay = begin();
    struct record record;

    add(replay, 0, 1, 1e9);
    add(replay, 1e20, 2, 1e9);
    assert_int_equal(replay_finish(replay, "a.csv", 0, &record), 0);
    assert_true(is_near(record.elapsed_seconds, 9e9));
    assert_true(is_near(record.interval_seconds, 9e9));
    record_done(&record);
    replay_free(replay);
}
