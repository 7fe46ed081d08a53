/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above */
#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "compat/gpu_tracker/rows.h"

enum { METRICS_MAX = 256 };

static const struct usage_facts facts = {
    .ram_unit = &(const struct usage_unit){ "megabytes", 1e-6 },
    .gpu_ram_unit = &(const struct usage_unit){ "bytes", 1 },
    .time_unit = &(const struct usage_unit){ "seconds", 1 },
    .core_count = 4,
    .expected_core_count = 2,
    .expected_gpu_count = 0,
};

/* A sample of which some metrics are known. */
struct moment {
    struct spoor_sample sample;
    double values[METRICS_MAX]; /* the highest since the sample before */
    double moments[METRICS_MAX];
};

static void moment_init(struct moment *moment, double elapsed_seconds)
{
    assert_true(spoor_metric_count() <= METRICS_MAX);
    for (size_t i = 0; i < METRICS_MAX; i++)
        moment->values[i] = moment->moments[i] = (double)NAN;
    moment->sample = (struct spoor_sample){
        .elapsed_seconds = elapsed_seconds,
        .unix_seconds = 1700000000 + elapsed_seconds,
        .values = moment->values,
        .moments = moment->moments,
        .count = spoor_metric_count(),
    };
}

static void set_peak(struct moment *moment, const char *name, double value, double peak)
{
    size_t i = 0;

    while (strcmp(spoor_metric_get(i)->name, name) != 0)
        i++;
    moment->moments[i] = value;
    moment->values[i] = peak;
}

static void set(struct moment *moment, const char *name, double value)
{
    set_peak(moment, name, value, value);
}

/* One process: its CPU time, its memory and the peak of that since the sample before. */
static struct moment process(double elapsed, double cpu, double rss, double peak,
                             double threads)
{
    struct moment moment;

    moment_init(&moment, elapsed);
    set(&moment, "main_cpu_seconds", cpu);
    set(&moment, "job_cpu_seconds", cpu);
    set(&moment, "descendants_cpu_seconds", 0);
    set(&moment, "host_cpu_seconds", 100 + 2 * cpu);
    set_peak(&moment, "main_rss_bytes", rss, peak);
    set_peak(&moment, "job_rss_bytes", rss, peak);
    set(&moment, "main_rss_peak_bytes", peak);
    set(&moment, "job_rss_peak_bytes", peak);
    set(&moment, "main_threads", threads);
    set(&moment, "job_threads", threads);
    set(&moment, "host_memory_used_bytes", 5e9);
    return moment;
}

static bool take(struct rows *rows, double elapsed, double cpu, double rss, double peak,
                 double threads, double row[TRACKING_COLUMNS])
{
    struct moment moment = process(elapsed, cpu, rss, peak, threads);

    moment.sample.values = moment.values;
    moment.sample.moments = moment.moments;
    return rows_take(rows, &moment.sample, NULL, row);
}

/* One that somebody asked for, who wants a row later than `wanted_after`. */
static bool take_wanted(struct rows *rows, double elapsed, double cpu, double rss,
                        double wanted_after, double row[TRACKING_COLUMNS])
{
    struct moment moment = process(elapsed, cpu, rss, rss, 1);
    double unix_seconds = 1700000000 + wanted_after;

    moment.sample.values = moment.values;
    moment.sample.moments = moment.moments;
    return rows_take(rows, &moment.sample, &unix_seconds, row);
}

static void near(double a, double b)
{
    assert_true(fabs(a - b) < 1e-9);
}

static void rows_are_an_interval_apart_and_the_last_sample_has_one(void **state)
{
    double row[TRACKING_COLUMNS];
    struct usage_run run;
    struct rows rows;

    (void)state;
    rows_init(&rows, &facts, 1);
    assert_false(take(&rows, 0, 0.5, 0, 0, 1, row));         /* before the command runs */
    assert_false(take(&rows, 0.001, 0.5, 1e6, 1e6, 1, row)); /* right after its start */
    assert_true(take(&rows, 1, 1, 2e6, 2e6, 3, row));
    near(row[TRACKING_CPU_MAIN_SUM_UTILIZATION_PERCENT], 50);
    near(row[TRACKING_CPU_MAIN_HARDWARE_UTILIZATION_PERCENT], 25);
    near(row[TRACKING_CPU_COMBINED_SUM_UTILIZATION_PERCENT], 50);
    near(row[TRACKING_CPU_DESCENDANTS_SUM_UTILIZATION_PERCENT], 0);
    near(row[TRACKING_CPU_SYSTEM_SUM_UTILIZATION_PERCENT], 100);
    near(row[TRACKING_CPU_SYSTEM_HARDWARE_UTILIZATION_PERCENT], 25);
    near(row[TRACKING_MAIN_RAM], 2);
    near(row[TRACKING_COMBINED_RAM], 2);
    near(row[TRACKING_SYSTEM_RAM], 5000);
    near(row[TRACKING_MAIN_N_THREADS], 3);
    near(row[TRACKING_TIMESTAMP], 1700000001);
    assert_true(take(&rows, 2, 2, 3e6, 3e6, 1, row));
    near(row[TRACKING_CPU_MAIN_SUM_UTILIZATION_PERCENT], 100);
    assert_false(take(&rows, 2.1, 2.1, 0, 3e6, 0, row)); /* its end */
    assert_true(rows_finish(&rows, row));
    near(row[TRACKING_TIMESTAMP], 1700000002.1);
    near(row[TRACKING_CPU_MAIN_SUM_UTILIZATION_PERCENT], 100 * 1.1 / 1.1);
    near(row[TRACKING_MAIN_RAM], 3); /* as last seen */
    near(row[TRACKING_MAIN_N_THREADS], 1);
    assert_false(rows_finish(&rows, row));
    rows_cpu(&rows, &run);
    near(run.main_cpu_seconds, 1.6);
    near(run.combined_cpu_seconds, 1.6);
    near(run.descendants_cpu_seconds, 0);
}

static void a_last_sample_that_made_a_row_makes_no_second(void **state)
{
    double row[TRACKING_COLUMNS];
    struct rows rows;

    (void)state;
    rows_init(&rows, &facts, 1);
    take(&rows, 0, 0, 0, 0, 1, row);
    assert_true(take(&rows, 0.9, 0, 0, 1e6, 0, row));
    assert_false(rows_finish(&rows, row));
}

/* 300 MB came and went since the row before: they were another block's. */
static void a_row_is_its_moment_and_no_peak(void **state)
{
    double row[TRACKING_COLUMNS];
    struct rows rows;

    (void)state;
    rows_init(&rows, &facts, 1);
    take(&rows, 0, 0, (double)NAN, 0, 1, row);
    assert_true(take(&rows, 1, 0.1, 1e6, 300e6, 1, row));
    near(row[TRACKING_MAIN_RAM], 1);
    near(row[TRACKING_COMBINED_RAM], 1);
    take(&rows, 1.2, 0.1, 0, 400e6, 0, row); /* its end */
    assert_true(rows_finish(&rows, row));
    near(row[TRACKING_MAIN_RAM], 1); /* as last seen */
}

/* Two blocks of 50 ms: one works and holds 300 MB, the other sleeps. */
static void a_requested_sample_makes_a_row(void **state)
{
    double row[TRACKING_COLUMNS];
    struct rows rows;

    (void)state;
    rows_init(&rows, &facts, 0.5);
    take(&rows, 0, 0, 1e6, 1e6, 1, row);
    assert_true(take_wanted(&rows, 0.1, 0, 1e6, 0, row));
    assert_true(take_wanted(&rows, 0.15, 0.05, 300e6, 0.1001, row));
    near(row[TRACKING_MAIN_RAM], 300);
    near(row[TRACKING_CPU_MAIN_SUM_UTILIZATION_PERCENT], 100);
    assert_true(take_wanted(&rows, 0.2, 0.05, 1e6, 0.1501, row));
    near(row[TRACKING_MAIN_RAM], 1);
    near(row[TRACKING_CPU_MAIN_SUM_UTILIZATION_PERCENT], 0);
    assert_false(take(&rows, 0.4, 0.1, 1e6, 1e6, 1, row)); /* half an interval after a row */
    assert_true(take(&rows, 0.5, 0.2, 1e6, 1e6, 1, row));
    near(row[TRACKING_CPU_MAIN_SUM_UTILIZATION_PERCENT], 50);
}

/* A block that starts as another stops needs no row between them, but each has one. */
static void rows_are_a_millisecond_apart_unless_a_block_has_none(void **state)
{
    double row[TRACKING_COLUMNS];
    struct rows rows;

    (void)state;
    rows_init(&rows, &facts, 0.5);
    take(&rows, 0, 0, 1e6, 1e6, 1, row);
    assert_true(take_wanted(&rows, 0.0001, 0, 1e6, 0, row)); /* the first */
    assert_true(take_wanted(&rows, 0.1, 0, 1e6, 0, row));
    assert_false(take_wanted(&rows, 0.1005, 0, 1e6, 0, row));
    assert_false(take_wanted(&rows, 0.1006, 0, 1e6, 0.0999, row));
    assert_true(take_wanted(&rows, 0.1007, 0, 2e6, 0.1002, row));
    near(row[TRACKING_MAIN_RAM], 2);
}

/* What a function held is free again when it has returned. */
static void a_block_that_has_held_more_gets_a_row_of_that(void **state)
{
    struct moment moment = process(0.15, 0.05, 10e6, 300e6, 1);
    double wanted_after = 1700000000.11;
    double row[TRACKING_COLUMNS];
    struct rows rows;

    (void)state;
    moment.sample.values = moment.values;
    moment.sample.moments = moment.moments;
    rows_init(&rows, &facts, 0.5);
    take(&rows, 0, 0, 10e6, 10e6, 1, row);
    take_wanted(&rows, 0.1, 0, 10e6, 0, row);
    assert_true(rows_take(&rows, &moment.sample, &wanted_after, row));
    near(row[TRACKING_MAIN_RAM], 10);
    assert_true(rows_peak(&rows, &moment.sample, wanted_after, row));
    near(row[TRACKING_MAIN_RAM], 300);
    near(row[TRACKING_COMBINED_RAM], 300);
    near(row[TRACKING_CPU_MAIN_SUM_UTILIZATION_PERCENT], 100);
    assert_true(fabs(row[TRACKING_TIMESTAMP] - 1700000000.13) < 1e-6);
    assert_false(rows_peak(&rows, &moment.sample, wanted_after, row)); /* no more than that */
}

/* A command that ended before the first interval. */
static void the_only_row_holds_the_peak(void **state)
{
    double row[TRACKING_COLUMNS];
    struct rows rows;

    (void)state;
    rows_init(&rows, &facts, 1);
    take(&rows, 0, 0, (double)NAN, 0, 1, row);
    take(&rows, 0.001, 0, 1e6, 1e6, 1, row);
    take(&rows, 0.2, 0.1, 0, 300e6, 0, row);
    assert_true(rows_finish(&rows, row));
    near(row[TRACKING_MAIN_RAM], 300);
    near(row[TRACKING_COMBINED_RAM], 300);
    near(row[TRACKING_CPU_MAIN_SUM_UTILIZATION_PERCENT], 50);

    rows_init(&rows, &facts, 1);
    take(&rows, 0, 0, 1e6, 500e6, 1, row); /* it rose before us */
    take(&rows, 0.1, 0, 1e6, 500e6, 1, row);
    assert_true(rows_finish(&rows, row));
    near(row[TRACKING_MAIN_RAM], 1);
}

static void what_is_not_known_is_nan_or_zero(void **state)
{
    double row[TRACKING_COLUMNS];
    struct moment moment;
    struct usage_run run;
    struct rows rows;

    (void)state;
    rows_init(&rows, &facts, 1);
    rows_cpu(&rows, &run);
    assert_true(isnan(run.main_cpu_seconds));
    assert_false(rows_finish(&rows, row));
    moment_init(&moment, 0);
    rows_take(&rows, &moment.sample, NULL, row);
    assert_false(rows_finish(&rows, row)); /* one sample, before the command ran */
    moment_init(&moment, 1);
    assert_true(rows_take(&rows, &moment.sample, NULL, row));
    assert_true(isnan(row[TRACKING_MAIN_RAM]));
    assert_true(isnan(row[TRACKING_MAIN_GPU_RAM]));
    near(row[TRACKING_CPU_MAIN_SUM_UTILIZATION_PERCENT], 0);
    near(row[TRACKING_GPU_HARDWARE_UTILIZATION_PERCENT], 0);
    rows_cpu(&rows, &run);
    assert_true(isnan(run.combined_cpu_seconds));
}

/* 10 ms of the machine's time in a millisecond are no ten cores. */
static void the_machine_has_no_more_than_its_cores(void **state)
{
    double row[TRACKING_COLUMNS];
    struct moment moment;
    struct rows rows;

    (void)state;
    rows_init(&rows, &facts, 1);
    moment_init(&moment, 0);
    set(&moment, "host_cpu_seconds", 1);
    rows_take(&rows, &moment.sample, NULL, row);
    moment_init(&moment, 0.001);
    set(&moment, "host_cpu_seconds", 1.01);
    rows_take(&rows, &moment.sample, NULL, row);
    assert_true(rows_finish(&rows, row));
    near(row[TRACKING_CPU_SYSTEM_SUM_UTILIZATION_PERCENT], 400);
    near(row[TRACKING_CPU_SYSTEM_HARDWARE_UTILIZATION_PERCENT], 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_an_interval_apart_and_the_last_sample_has_one),
        cmocka_unit_test(a_last_sample_that_made_a_row_makes_no_second),
        cmocka_unit_test(a_row_is_its_moment_and_no_peak),
        cmocka_unit_test(a_requested_sample_makes_a_row),
        cmocka_unit_test(a_block_that_has_held_more_gets_a_row_of_that),
        cmocka_unit_test(the_only_row_holds_the_peak),
        cmocka_unit_test(rows_are_a_millisecond_apart_unless_a_block_has_none),
        cmocka_unit_test(what_is_not_known_is_nan_or_zero),
        cmocka_unit_test(the_machine_has_no_more_than_its_cores),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
