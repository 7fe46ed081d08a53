/* SPDX-License-Identifier: Apache-2.0 */
/* Compares reports with the predecessor's reports for the same numbers. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "compat/gpu_tracker/report.h"
#include "unit_test.h"

/* ---- gpu tracker usage -------------------------------------------------- */

/* A figure that a test sets; all other figures are unknown. */
struct figure {
    const char *path;
    double value;
};

static double find(void *data, const char *path)
{
    for (const struct figure *figure = data; figure->path; figure++) {
        if (strcmp(figure->path, path) == 0)
            return figure->value;
    }
    return (double)NAN;
}

static struct tracking_facts facts_in(const char *memory_unit, const char *time_unit)
{
    double coefficient = usage_unit_find(usage_memory_units, memory_unit)->coefficient;
    struct tracking_facts facts = {
        .numbers = { [TRACKING_RAM_CAPACITY] = 63088230400 * coefficient,
                     [TRACKING_GPU_RAM_CAPACITY] = 34359738368 * coefficient,
                     [TRACKING_CORE_COUNT] = 12,
                     [TRACKING_EXPECTED_CORES] = 2,
                     [TRACKING_GPU_COUNT] = 2,
                     [TRACKING_EXPECTED_GPUS] = 1 },
    };

    for (size_t i = TRACKING_RAM_UNIT; i <= TRACKING_TIME_UNIT; i++)
        (void)snprintf(facts.texts[i], sizeof(facts.texts[i]), "%s",
                       i == TRACKING_TIME_UNIT ? time_unit : memory_unit);
    return facts;
}

/* Returns the rows of a run with these CPU times, in seconds. */
static struct rows rows_of(double main, double descendants, double combined)
{
    struct rows rows = { .sample_count = 2 };

    rows.latest.value[TRACKING_CPU_MAIN_SUM_UTILIZATION_PERCENT] = main;
    rows.latest.value[TRACKING_CPU_DESCENDANTS_SUM_UTILIZATION_PERCENT] = descendants;
    rows.latest.value[TRACKING_CPU_COMBINED_SUM_UTILIZATION_PERCENT] = combined;
    return rows;
}

static void same(double a, double b)
{
    assert_memory_equal(&a, &b, sizeof(a)); /* bitwise equal */
}

/* Returns the index of the row with this path of keys. */
static size_t find_row(const char *path)
{
    char keys[3][64] = { "" };

    for (size_t i = 0; i < USAGE_ROWS; i++) {
        const struct usage_row *row = &usage_rows[i];
        char found[200];

        (void)snprintf(keys[row->depth], sizeof(keys[0]), "%s", row->key);
        (void)snprintf(found, sizeof(found), "%s%s%s%s%s", keys[0], row->depth > 0 ? "." : "",
                       row->depth > 0 ? keys[1] : "", row->depth > 1 ? "." : "",
                       row->depth > 1 ? keys[2] : "");
        if (strcmp(found, path) == 0)
            return i;
    }
    fail_msg("no row %s", path);
    return 0;
}

static double number(const struct resource_usage *usage, const char *path)
{
    return usage->values[find_row(path)].number;
}

TEST(bytes_are_converted_to_the_selected_unit)
{
    struct figure figures[] = {
        { "memory.main.total_rss_bytes", 890703872 },
        { "memory.main.private_rss_bytes", 674058240 },
        { "memory.combined.shared_rss_bytes", 216678400 },
        { "memory.descendants.total_rss_bytes", 4096 },
        { "memory.system_peak_bytes", 2399920128 },
        { "gpu.memory.main_bytes", 290455552 },
        { "gpu.memory.system_bytes", 353000000 },
        { 0 },
    };
    struct tracking_facts facts = facts_in("megabytes", "seconds");
    struct rows rows = rows_of(nan(""), nan(""), nan(""));
    struct resource_usage usage = usage_of(&facts, &rows, 1, find, figures);

    same(number(&usage, "max_ram.system_capacity"), 63088.2304);
    same(number(&usage, "max_ram.system"), 2399.9201279999997);
    same(number(&usage, "max_ram.main.total_rss"), 890.7038719999999);
    same(number(&usage, "max_ram.main.private_rss"), 674.05824);
    same(number(&usage, "max_ram.combined.shared_rss"), 216.67839999999998);
    same(number(&usage, "max_ram.descendants.total_rss"), 0.004096);
    same(number(&usage, "max_gpu_ram.system_capacity"), 34359.738368);
    same(number(&usage, "max_gpu_ram.main"), 290.455552);
    same(number(&usage, "max_gpu_ram.system"), 353);
    assert_string_equal(usage.values[find_row("max_ram.unit")].unit, "megabytes");
    assert_string_equal(usage.values[find_row("max_gpu_ram.unit")].unit, "megabytes");
}

TEST(every_unit_has_its_coefficient)
{
    static const struct {
        const char *unit;
        double capacity;
    } memory[] = {
        { "bytes", 63088230400 },    { "kilobytes", 63088230.4 },   { "megabytes", 63088.2304 },
        { "gigabytes", 63.0882304 }, { "terabytes", 0.0630882304 },
    };
    static const struct {
        const char *unit;
        double time;
    } times[] = {
        { "seconds", 86400 },
        { "minutes", 1440 },
        { "hours", 24 },
        { "days", 1 },
    };
    struct rows rows = rows_of(0, 0, 0);
    struct figure none = { 0 };

    for (size_t i = 0; i < ARRAY_SIZE(memory); i++) {
        struct tracking_facts facts = facts_in(memory[i].unit, "hours");
        struct resource_usage usage = usage_of(&facts, &rows, 86400, find, &none);

        assert_true(fabs(number(&usage, "max_ram.system_capacity") / memory[i].capacity - 1) <
                    1e-15);
    }
    for (size_t i = 0; i < ARRAY_SIZE(times); i++) {
        struct tracking_facts facts = facts_in("bytes", times[i].unit);
        struct resource_usage usage = usage_of(&facts, &rows, 86400, find, &none);

        assert_true(fabs(number(&usage, "compute_time.time") / times[i].time - 1) < 1e-15);
    }
    assert_null(usage_unit_find(usage_memory_units, "megabyte"));
    assert_null(usage_unit_find(usage_time_units, "weeks"));
}

TEST(mean_cpu_usage_is_cpu_time_divided_by_wall_time)
{
    struct figure figures[] = {
        { "cpu.main.max_cores", 0.75 },
        { "cpu.descendants.max_cores", 3 },
        { "cpu.max_cores", 3.5 },
        { "cpu.system.max_cores", 6 },
        { "cpu.system.mean_cores", 4.5 },
        { "gpu.utilization.max_gpus", 0.5 },
        { "gpu.utilization.mean_gpus", 0.25 },
        { "cpu.threads.main", 24 },
        { "cpu.threads.descendants", 16 },
        { "cpu.threads.combined", 40 },
        { 0 },
    };
    struct tracking_facts facts = facts_in("bytes", "seconds");
    struct rows rows = rows_of(4, 16, 20);
    struct resource_usage usage = usage_of(&facts, &rows, 8, find, figures);

    same(number(&usage, "cpu_utilization.main.mean_sum_percent"), 50);
    same(number(&usage, "cpu_utilization.main.mean_hardware_percent"), 25);
    same(number(&usage, "cpu_utilization.main.max_sum_percent"), 75);
    same(number(&usage, "cpu_utilization.main.max_hardware_percent"), 37.5);
    same(number(&usage, "cpu_utilization.descendants.mean_sum_percent"), 200);
    same(number(&usage, "cpu_utilization.descendants.max_sum_percent"), 300);
    same(number(&usage, "cpu_utilization.combined.mean_sum_percent"), 250);
    same(number(&usage, "cpu_utilization.combined.max_hardware_percent"), 175);
    same(number(&usage, "cpu_utilization.system.max_sum_percent"), 600);
    /* The percentage refers to all the machine's cores, not to the expected number of cores. */
    same(number(&usage, "cpu_utilization.system.max_hardware_percent"), 50);
    same(number(&usage, "cpu_utilization.system.mean_sum_percent"), 450);
    same(number(&usage, "gpu_utilization.gpu_percentages.max_sum_percent"), 50);
    same(number(&usage, "gpu_utilization.gpu_percentages.mean_hardware_percent"), 25);
    same(number(&usage, "cpu_utilization.system_core_count"), 12);
    same(number(&usage, "cpu_utilization.n_expected_cores"), 2);
    same(number(&usage, "cpu_utilization.main_n_threads"), 24);
    same(number(&usage, "cpu_utilization.descendants_n_threads"), 16);
    same(number(&usage, "cpu_utilization.combined_n_threads"), 40);
    same(number(&usage, "gpu_utilization.system_gpu_count"), 2);
    same(number(&usage, "gpu_utilization.n_expected_gpus"), 1);
}

TEST(no_maximum_is_below_its_mean)
{
    struct figure figures[] = { { "cpu.main.max_cores", 0.4 }, { 0 } };
    struct tracking_facts facts = facts_in("bytes", "seconds");
    struct rows rows = rows_of(1, 0, 1);
    struct resource_usage usage = usage_of(&facts, &rows, 2, find, figures);

    same(number(&usage, "cpu_utilization.main.mean_sum_percent"), 50);
    same(number(&usage, "cpu_utilization.main.max_sum_percent"), 50);
}

/* The machine's CPU time is counted in steps of 10 ms. */
TEST(cpu_usage_of_the_machine_is_between_the_job_and_all_cores)
{
    struct figure figures[] = {
        { "cpu.max_cores", 2 },
        { "cpu.system.max_cores", 100 },
        { "cpu.system.mean_cores", 0 },
        { 0 },
    };
    struct tracking_facts facts = facts_in("bytes", "seconds");
    struct rows rows = rows_of(0, 2, 2);
    struct resource_usage usage = usage_of(&facts, &rows, 2, find, figures);

    same(number(&usage, "cpu_utilization.system.max_sum_percent"), 1200);
    same(number(&usage, "cpu_utilization.system.max_hardware_percent"), 100);
    same(number(&usage, "cpu_utilization.system.mean_sum_percent"), 100);
}

TEST(unknown_totals_are_0)
{
    struct tracking_facts facts = facts_in("bytes", "seconds");
    struct rows rows = rows_of(nan(""), nan(""), nan(""));
    struct figure none = { 0 };
    struct resource_usage usage;

    facts.numbers[TRACKING_GPU_COUNT] = facts.numbers[TRACKING_EXPECTED_GPUS] = 0;
    usage = usage_of(&facts, &rows, 0, find, &none);
    same(number(&usage, "max_ram.main.total_rss"), 0);
    same(number(&usage, "max_gpu_ram.combined"), 0);
    same(number(&usage, "cpu_utilization.main.mean_sum_percent"), 0);
    same(number(&usage, "cpu_utilization.combined.max_hardware_percent"), 0);
    same(number(&usage, "gpu_utilization.gpu_percentages.mean_hardware_percent"), 0);
    same(number(&usage, "cpu_utilization.main_n_threads"), 0);
}

/* ---- gpu tracker rows --------------------------------------------------- */

enum { METRICS_MAX = 256 };

static const struct tracking_facts facts = {
    .texts = { "megabytes", "bytes", "seconds" },
    .numbers = { [TRACKING_CORE_COUNT] = 4, [TRACKING_EXPECTED_CORES] = 2 },
};

/* A sample with some known metrics. */
struct moment {
    struct spoor_sample sample;
    double values[METRICS_MAX]; /* the highest values since the previous sample */
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

/* Returns a sample of one process; `peak` is its highest memory since the previous sample. */
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

/* Takes a requested sample; the requester needs a row later than `wanted_after`. */
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

TEST(all_rows_including_the_last_are_an_interval_apart)
{
    double row[TRACKING_COLUMNS];
    struct rows rows;

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
    assert_false(take(&rows, 2.1, 2.1, 0, 3e6, 0, row)); /* the command has ended */
    assert_true(rows_finish(&rows, row));
    near(row[TRACKING_TIMESTAMP], 1700000002.1);
    near(row[TRACKING_CPU_MAIN_SUM_UTILIZATION_PERCENT], 100 * 1.1 / 1.1);
    near(row[TRACKING_MAIN_RAM], 3); /* the last known value */
    near(row[TRACKING_MAIN_N_THREADS], 1);
    assert_false(rows_finish(&rows, row));
    near(rows_cpu_seconds(&rows, TRACKING_CPU_MAIN_SUM_UTILIZATION_PERCENT), 1.6);
    near(rows_cpu_seconds(&rows, TRACKING_CPU_COMBINED_SUM_UTILIZATION_PERCENT), 1.6);
    near(rows_cpu_seconds(&rows, TRACKING_CPU_DESCENDANTS_SUM_UTILIZATION_PERCENT), 0);
}

TEST(the_last_sample_adds_no_second_row_at_the_same_time)
{
    double row[TRACKING_COLUMNS];
    struct rows rows;

    rows_init(&rows, &facts, 1);
    take(&rows, 0, 0, 0, 0, 1, row);
    assert_true(take(&rows, 0.9, 0, 0, 1e6, 0, row));
    assert_false(rows_finish(&rows, row));
}

/* Another block of code allocated and freed 300 MB since the previous row. */
TEST(a_row_has_current_values_instead_of_peaks)
{
    double row[TRACKING_COLUMNS];
    struct rows rows;

    rows_init(&rows, &facts, 1);
    take(&rows, 0, 0, (double)NAN, 0, 1, row);
    assert_true(take(&rows, 1, 0.1, 1e6, 300e6, 1, row));
    near(row[TRACKING_MAIN_RAM], 1);
    near(row[TRACKING_COMBINED_RAM], 1);
    take(&rows, 1.2, 0.1, 0, 400e6, 0, row); /* the command has ended */
    assert_true(rows_finish(&rows, row));
    near(row[TRACKING_MAIN_RAM], 1); /* the last known value */
}

/* Two code blocks of 50 ms each: one works and holds 300 MB, the other sleeps. */
TEST(a_requested_sample_adds_a_row)
{
    double row[TRACKING_COLUMNS];
    struct rows rows;

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

/* If one block starts when another stops, no row is needed between them, but each block has
 * its own row. */
TEST(rows_are_a_millisecond_apart_within_a_block)
{
    double row[TRACKING_COLUMNS];
    struct rows rows;

    rows_init(&rows, &facts, 0.5);
    take(&rows, 0, 0, 1e6, 1e6, 1, row);
    assert_true(take_wanted(&rows, 0.0001, 0, 1e6, 0, row)); /* the first row */
    assert_true(take_wanted(&rows, 0.1, 0, 1e6, 0, row));
    assert_false(take_wanted(&rows, 0.1005, 0, 1e6, 0, row));
    assert_false(take_wanted(&rows, 0.1006, 0, 1e6, 0.0999, row));
    assert_true(take_wanted(&rows, 0.1007, 0, 2e6, 0.1002, row));
    near(row[TRACKING_MAIN_RAM], 2);
}

/* When a function returns, it has already freed its memory. */
TEST(a_block_gets_a_row_with_its_maximum)
{
    struct moment moment = process(0.15, 0.05, 10e6, 300e6, 1);
    double wanted_after = 1700000000.11;
    double row[TRACKING_COLUMNS];
    struct rows rows;

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
    assert_false(rows_peak(&rows, &moment.sample, wanted_after, row)); /* not a higher peak */
    row[TRACKING_MAIN_RAM] = 10;
    assert_true(
        rows_peak(&rows, &moment.sample, 1700000000, row)); /* started before the last row */
    assert_true(fabs(row[TRACKING_TIMESTAMP] - 1700000000.125) < 1e-6);
}

/* The command exited within the first interval. */
TEST(a_single_row_contains_the_peak)
{
    double row[TRACKING_COLUMNS];
    struct rows rows;

    rows_init(&rows, &facts, 1);
    take(&rows, 0, 0, (double)NAN, 0, 1, row);
    take(&rows, 0.001, 0, 1e6, 1e6, 1, row);
    take(&rows, 0.2, 0.1, 0, 300e6, 0, row);
    assert_true(rows_finish(&rows, row));
    near(row[TRACKING_MAIN_RAM], 300);
    near(row[TRACKING_COMBINED_RAM], 300);
    near(row[TRACKING_CPU_MAIN_SUM_UTILIZATION_PERCENT], 50);

    rows_init(&rows, &facts, 1);
    take(&rows, 0, 0, 1e6, 500e6, 1, row); /* a peak from before the run */
    take(&rows, 0.1, 0, 1e6, 500e6, 1, row);
    assert_true(rows_finish(&rows, row));
    near(row[TRACKING_MAIN_RAM], 1);
}

TEST(unknown_values_are_nan_or_0)
{
    double row[TRACKING_COLUMNS];
    struct moment moment;
    struct rows rows;

    rows_init(&rows, &facts, 1);
    assert_true(isnan(rows_cpu_seconds(&rows, TRACKING_CPU_MAIN_SUM_UTILIZATION_PERCENT)));
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
    assert_true(isnan(rows_cpu_seconds(&rows, TRACKING_CPU_COMBINED_SUM_UTILIZATION_PERCENT)));
}

/* An increase by 10 ms of CPU time within 1 ms does not mean ten cores. */
TEST(cpu_usage_of_the_machine_does_not_exceed_its_cores)
{
    double row[TRACKING_COLUMNS];
    struct moment moment;
    struct rows rows;

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

/* ---- gpu tracker report ------------------------------------------------- */

/* Twelve cores, one GPU, and a script whose children do the work. */
static const double workstation[] = {
    63.0882304,
    2.878910464,
    /* main, descendants, combined */
    0.0029777920000000004,
    0.00031948800000000004,
    0.0026583040000000002,
    0.8333844480000001,
    0.7066091520000001,
    0.127152128,
    0.841486336,
    0.713818112,
    0.12804505600000002,
    /* GPU RAM */
    2.048,
    0.631,
    0.0,
    0.277,
    0.277,
    /* cores; the system, main, descendants, combined; threads */
    12,
    12,
    306.09999999999997,
    25.50833333333333,
    161.4272727272727,
    13.452272727272724,
    0.0,
    0.0,
    0.0,
    0.0,
    440.2,
    36.68333333333333,
    128.27272727272728,
    10.68939393939394,
    440.2,
    36.68333333333333,
    128.27272727272728,
    10.68939393939394,
    1,
    15,
    16,
    /* GPUs */
    1,
    1,
    7.0,
    7.0,
    0.6363636363636364,
    0.6363636363636364,
    /* time */
    0.0012816817230648465,
};

/* Fills the rows that have a value with `numbers`, in order; NULL: all are 0. */
static struct resource_usage usage_from(const double *numbers, const char *memory_unit,
                                        const char *time_unit)
{
    struct resource_usage usage = { 0 };
    size_t next = 0;

    for (size_t i = 0; i < USAGE_ROWS; i++) {
        if (usage_rows[i].kind == REPORT_UNIT)
            usage.values[i].unit = memory_unit;
        else if (usage_rows[i].kind != REPORT_SECTION && numbers)
            usage.values[i].number = numbers[next++];
    }
    assert_true(!numbers || next == ARRAY_SIZE(workstation));
    usage.values[find_row("compute_time.unit")].unit = time_unit;
    return usage;
}

static struct resource_usage of_workstation(void)
{
    return usage_from(workstation, "gigabytes", "hours");
}

static const char workstation_json[] = "{\n"
                                       " \"max_ram\": {\n"
                                       "  \"unit\": \"gigabytes\",\n"
                                       "  \"system_capacity\": 63.0882304,\n"
                                       "  \"system\": 2.878910464,\n"
                                       "  \"main\": {\n"
                                       "   \"total_rss\": 0.0029777920000000004,\n"
                                       "   \"private_rss\": 0.00031948800000000004,\n"
                                       "   \"shared_rss\": 0.0026583040000000002\n"
                                       "  },\n"
                                       "  \"descendants\": {\n"
                                       "   \"total_rss\": 0.8333844480000001,\n"
                                       "   \"private_rss\": 0.7066091520000001,\n"
                                       "   \"shared_rss\": 0.127152128\n"
                                       "  },\n"
                                       "  \"combined\": {\n"
                                       "   \"total_rss\": 0.841486336,\n"
                                       "   \"private_rss\": 0.713818112,\n"
                                       "   \"shared_rss\": 0.12804505600000002\n"
                                       "  }\n"
                                       " },\n"
                                       " \"max_gpu_ram\": {\n"
                                       "  \"unit\": \"gigabytes\",\n"
                                       "  \"system_capacity\": 2.048,\n"
                                       "  \"system\": 0.631,\n"
                                       "  \"main\": 0.0,\n"
                                       "  \"descendants\": 0.277,\n"
                                       "  \"combined\": 0.277\n"
                                       " },\n"
                                       " \"cpu_utilization\": {\n"
                                       "  \"system_core_count\": 12,\n"
                                       "  \"n_expected_cores\": 12,\n"
                                       "  \"system\": {\n"
                                       "   \"max_sum_percent\": 306.09999999999997,\n"
                                       "   \"max_hardware_percent\": 25.50833333333333,\n"
                                       "   \"mean_sum_percent\": 161.4272727272727,\n"
                                       "   \"mean_hardware_percent\": 13.452272727272724\n"
                                       "  },\n"
                                       "  \"main\": {\n"
                                       "   \"max_sum_percent\": 0.0,\n"
                                       "   \"max_hardware_percent\": 0.0,\n"
                                       "   \"mean_sum_percent\": 0.0,\n"
                                       "   \"mean_hardware_percent\": 0.0\n"
                                       "  },\n"
                                       "  \"descendants\": {\n"
                                       "   \"max_sum_percent\": 440.2,\n"
                                       "   \"max_hardware_percent\": 36.68333333333333,\n"
                                       "   \"mean_sum_percent\": 128.27272727272728,\n"
                                       "   \"mean_hardware_percent\": 10.68939393939394\n"
                                       "  },\n"
                                       "  \"combined\": {\n"
                                       "   \"max_sum_percent\": 440.2,\n"
                                       "   \"max_hardware_percent\": 36.68333333333333,\n"
                                       "   \"mean_sum_percent\": 128.27272727272728,\n"
                                       "   \"mean_hardware_percent\": 10.68939393939394\n"
                                       "  },\n"
                                       "  \"main_n_threads\": 1,\n"
                                       "  \"descendants_n_threads\": 15,\n"
                                       "  \"combined_n_threads\": 16\n"
                                       " },\n"
                                       " \"gpu_utilization\": {\n"
                                       "  \"system_gpu_count\": 1,\n"
                                       "  \"n_expected_gpus\": 1,\n"
                                       "  \"gpu_percentages\": {\n"
                                       "   \"max_sum_percent\": 7.0,\n"
                                       "   \"max_hardware_percent\": 7.0,\n"
                                       "   \"mean_sum_percent\": 0.6363636363636364,\n"
                                       "   \"mean_hardware_percent\": 0.6363636363636364\n"
                                       "  }\n"
                                       " },\n"
                                       " \"compute_time\": {\n"
                                       "  \"unit\": \"hours\",\n"
                                       "  \"time\": 0.0012816817230648465\n"
                                       " }\n"
                                       "}";

static const char workstation_text[] = "Max RAM:\n"
                                       "   Unit: gigabytes\n"
                                       "   System capacity: 63.088\n"
                                       "   System: 2.879\n"
                                       "   Main:\n"
                                       "      Total RSS: 0.003\n"
                                       "      Private RSS: 0.0\n"
                                       "      Shared RSS: 0.003\n"
                                       "   Descendants:\n"
                                       "      Total RSS: 0.833\n"
                                       "      Private RSS: 0.707\n"
                                       "      Shared RSS: 0.127\n"
                                       "   Combined:\n"
                                       "      Total RSS: 0.841\n"
                                       "      Private RSS: 0.714\n"
                                       "      Shared RSS: 0.128\n"
                                       "Max GPU RAM:\n"
                                       "   Unit: gigabytes\n"
                                       "   System capacity: 2.048\n"
                                       "   System: 0.631\n"
                                       "   Main: 0.0\n"
                                       "   Descendants: 0.277\n"
                                       "   Combined: 0.277\n"
                                       "CPU utilization:\n"
                                       "   System core count: 12\n"
                                       "   Number of expected cores: 12\n"
                                       "   System:\n"
                                       "      Max sum percent: 306.1\n"
                                       "      Max hardware percent: 25.508\n"
                                       "      Mean sum percent: 161.427\n"
                                       "      Mean hardware percent: 13.452\n"
                                       "   Main:\n"
                                       "      Max sum percent: 0.0\n"
                                       "      Max hardware percent: 0.0\n"
                                       "      Mean sum percent: 0.0\n"
                                       "      Mean hardware percent: 0.0\n"
                                       "   Descendants:\n"
                                       "      Max sum percent: 440.2\n"
                                       "      Max hardware percent: 36.683\n"
                                       "      Mean sum percent: 128.273\n"
                                       "      Mean hardware percent: 10.689\n"
                                       "   Combined:\n"
                                       "      Max sum percent: 440.2\n"
                                       "      Max hardware percent: 36.683\n"
                                       "      Mean sum percent: 128.273\n"
                                       "      Mean hardware percent: 10.689\n"
                                       "   Main number of threads: 1\n"
                                       "   Descendants number of threads: 15\n"
                                       "   Combined number of threads: 16\n"
                                       "GPU utilization:\n"
                                       "   System GPU count: 1\n"
                                       "   Number of expected GPUs: 1\n"
                                       "   GPU percentages:\n"
                                       "      Max sum percent: 7.0\n"
                                       "      Max hardware percent: 7.0\n"
                                       "      Mean sum percent: 0.636\n"
                                       "      Mean hardware percent: 0.636\n"
                                       "Compute time:\n"
                                       "   Unit: hours\n"
                                       "   Time: 0.001";

/* Returns the report as text; the caller frees it. */
static char *written(const struct resource_usage *usage, struct report_style style)
{
    struct buffer out = { 0 };

    report_write(usage, style, &out);
    assert_int_equal(buffer_error(&out), 0);
    return out.text;
}

static void check(struct report_style style, const char *expected)
{
    struct resource_usage usage = of_workstation();
    char *text = written(&usage, style);

    assert_string_equal(text, expected);
    free(text);
}

TEST(json_equals_the_output_of_the_predecessor)
{
    check((struct report_style){ GPU_TRACKER_JSON, false }, workstation_json);
}

TEST(text_equals_the_output_of_the_predecessor)
{
    check((struct report_style){ GPU_TRACKER_TEXT, false }, workstation_text);
}

TEST(old_spelling_is_used_in_every_key_and_label)
{
    static const enum gpu_tracker_format formats[] = { GPU_TRACKER_TEXT, GPU_TRACKER_JSON };
    static const char *const expected[] = { workstation_text, workstation_json };
    struct resource_usage usage = of_workstation();

    for (size_t i = 0; i < ARRAY_SIZE(formats); i++) {
        char *text = written(&usage, (struct report_style){ formats[i], true });
        char *found = text;

        assert_null(strstr(text, "escendants"));
        while ((found = strstr(found, "escendents")) != NULL)
            found[6] = 'a';
        assert_string_equal(text, expected[i]);
        free(text);
    }
}

/* Checks how a value is written in text and in JSON. */
static void check_number(double value, const char *text_line, const char *json_line)
{
    struct resource_usage usage = of_workstation();
    char *text;

    usage.values[find_row("compute_time.time")].number = value;
    text = written(&usage, (struct report_style){ GPU_TRACKER_TEXT, false });
    assert_string_equal(strstr(text, "   Time: "), text_line);
    free(text);
    text = written(&usage, (struct report_style){ GPU_TRACKER_JSON, false });
    assert_string_equal(strstr(text, "\"time\": "), json_line);
    free(text);
}

TEST(numbers_are_formatted_as_in_python)
{
    check_number(0, "   Time: 0.0", "\"time\": 0.0\n }\n}");
    check_number(0.0004, "   Time: 0.0", "\"time\": 0.0004\n }\n}");
    check_number(0.0005, "   Time: 0.001", "\"time\": 0.0005\n }\n}");
    check_number(2.5, "   Time: 2.5", "\"time\": 2.5\n }\n}");
    check_number(31e9, "   Time: 31000000000.0", "\"time\": 31000000000.0\n }\n}");
    check_number(67.2541234, "   Time: 67.254", "\"time\": 67.2541234\n }\n}");
    check_number(1e-7, "   Time: 0.0", "\"time\": 1e-07\n }\n}");
    check_number(0.1 + 0.2, "   Time: 0.3", "\"time\": 0.30000000000000004\n }\n}");
    check_number(1e16, "   Time: 1e+16", "\"time\": 1e+16\n }\n}");
}

/* Nothing was measured. */
TEST(a_report_of_zeros_keeps_its_layout)
{
    struct resource_usage usage = usage_from(NULL, "bytes", "days");
    char *text = written(&usage, (struct report_style){ GPU_TRACKER_TEXT, false });
    size_t lines = 1;

    for (const char *c = text; *c; c++)
        lines += *c == '\n';
    assert_int_equal(lines, 60);
    assert_non_null(strstr(text, "   System GPU count: 0\n"));
    assert_non_null(strstr(text, "Main number of threads: 0\n"));
    assert_non_null(strstr(text, "      Total RSS: 0.0\n"));
    free(text);
}
