/* SPDX-License-Identifier: Apache-2.0 */
#include "compat/gpu_tracker/rows.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/compiler.h"

enum metric {
    MAIN_RSS,
    DESCENDANTS_RSS,
    JOB_RSS,
    MAIN_RSS_PEAK,
    DESCENDANTS_RSS_PEAK,
    JOB_RSS_PEAK,
    HOST_MEMORY,
    MAIN_GPU,
    DESCENDANTS_GPU,
    JOB_GPU,
    HOST_GPU,
    GPU_UTILIZATION,
    MAIN_THREADS,
    DESCENDANTS_THREADS,
    JOB_THREADS,
    HOST_CPU,
    MAIN_CPU,
    DESCENDANTS_CPU,
    JOB_CPU,
    METRICS
};

_Static_assert((int)METRICS <= (int)ROWS_METRICS, "struct rows_sample has room for all");

static const char *const names[METRICS] = {
    [MAIN_RSS] = "main_rss_bytes",
    [DESCENDANTS_RSS] = "descendants_rss_bytes",
    [JOB_RSS] = "job_rss_bytes",
    [MAIN_RSS_PEAK] = "main_rss_peak_bytes",
    [DESCENDANTS_RSS_PEAK] = "descendants_rss_peak_bytes",
    [JOB_RSS_PEAK] = "job_rss_peak_bytes",
    [HOST_MEMORY] = "host_memory_used_bytes",
    [MAIN_GPU] = "main_gpu_memory_bytes",
    [DESCENDANTS_GPU] = "descendants_gpu_memory_bytes",
    [JOB_GPU] = "job_gpu_memory_bytes",
    [HOST_GPU] = "host_gpu_memory_bytes",
    [GPU_UTILIZATION] = "host_gpu_utilization_gpus",
    [MAIN_THREADS] = "main_threads",
    [DESCENDANTS_THREADS] = "descendants_threads",
    [JOB_THREADS] = "job_threads",
    [HOST_CPU] = "host_cpu_seconds",
    [MAIN_CPU] = "main_cpu_seconds",
    [DESCENDANTS_CPU] = "descendants_cpu_seconds",
    [JOB_CPU] = "job_cpu_seconds",
};

static size_t find_metric(const char *name)
{
    for (size_t i = 0; i < spoor_metric_count(); i++) {
        if (strcmp(spoor_metric_get(i)->name, name) == 0)
            return i;
    }
    return SIZE_MAX;
}

void rows_init(struct rows *rows, const struct usage_facts *facts, double interval_seconds)
{
    *rows = (struct rows){ .facts = facts, .interval_seconds = interval_seconds };
    for (size_t i = 0; i < METRICS; i++)
        rows->metric[i] = find_metric(names[i]);
}

static struct rows_sample keep(const struct rows *rows, const struct spoor_sample *sample)
{
    struct rows_sample kept = { .elapsed_seconds = sample->elapsed_seconds,
                                .unix_seconds = sample->unix_seconds };

    for (size_t i = 0; i < METRICS; i++) {
        size_t index = rows->metric[i];

        kept.value[i] = index < sample->count ? sample->moments[index] : (double)NAN;
    }
    return kept;
}

/* CPU time per second in percent of a core, from one sample to another. Unknown is 0. */
static double percent(const struct rows_sample *from, const struct rows_sample *to,
                      enum metric metric)
{
    double seconds = to->elapsed_seconds - from->elapsed_seconds;
    double growth = to->value[metric] - from->value[metric];

    return growth > 0 && seconds > 0 ? 100 * growth / seconds : 0;
}

static void fill_percentages(const struct rows *rows, const struct rows_sample *from,
                             double row[TRACKING_COLUMNS])
{
    static const struct {
        enum metric metric;
        enum tracking_column sum; /* the column after it is "hardware" */
    } columns[] = {
        { MAIN_CPU, TRACKING_CPU_MAIN_SUM_UTILIZATION_PERCENT },
        { DESCENDANTS_CPU, TRACKING_CPU_DESCENDANTS_SUM_UTILIZATION_PERCENT },
        { JOB_CPU, TRACKING_CPU_COMBINED_SUM_UTILIZATION_PERCENT },
    };
    double core_count = (double)rows->facts->core_count;
    double system = percent(from, &rows->latest, HOST_CPU);

    for (size_t i = 0; i < ARRAY_SIZE(columns); i++) {
        double sum = percent(from, &rows->latest, columns[i].metric);

        row[columns[i].sum] = sum;
        row[columns[i].sum + 1] = sum / (double)rows->facts->expected_core_count;
    }
    /* The machine's CPU time comes in steps of 10 ms, too coarse for a short time. */
    system = fmin(system, 100 * core_count);
    row[TRACKING_CPU_SYSTEM_SUM_UTILIZATION_PERCENT] = system;
    row[TRACKING_CPU_SYSTEM_HARDWARE_UTILIZATION_PERCENT] = system / core_count;
}

static const struct {
    enum metric metric, mark;
    enum tracking_column column;
} ram_columns[] = {
    { MAIN_RSS, MAIN_RSS_PEAK, TRACKING_MAIN_RAM },
    { DESCENDANTS_RSS, DESCENDANTS_RSS_PEAK, TRACKING_DESCENDANTS_RAM },
    { JOB_RSS, JOB_RSS_PEAK, TRACKING_COMBINED_RAM },
};

/* The command has ended and has no row yet: as high as the kernel says that it rose meanwhile. */
static void raise_ram(const struct rows *rows, double row[TRACKING_COLUMNS])
{
    for (size_t i = 0; i < ARRAY_SIZE(ram_columns); i++) {
        double peak = rows->latest.value[ram_columns[i].mark];
        double *ram = &row[ram_columns[i].column];

        if (peak > rows->first.value[ram_columns[i].mark]) /* the other one, if one is NaN */
            *ram = fmax(*ram, peak * rows->facts->ram_unit->coefficient);
    }
}

static void fill(struct rows *rows, const struct rows_sample *from,
                 double row[TRACKING_COLUMNS])
{
    const struct rows_sample *latest = &rows->latest;
    const struct rows_sample *seen = &rows->alive;
    double ram_unit = rows->facts->ram_unit->coefficient;
    double gpu_unit = rows->facts->gpu_ram_unit->coefficient;
    double gpu_percent = 100 * latest->value[GPU_UTILIZATION];
    double gpu_count = (double)rows->facts->expected_gpu_count;

    for (size_t i = 0; i < ARRAY_SIZE(ram_columns); i++)
        row[ram_columns[i].column] = seen->value[ram_columns[i].metric] * ram_unit;
    row[TRACKING_SYSTEM_RAM] = latest->value[HOST_MEMORY] * ram_unit;
    row[TRACKING_MAIN_GPU_RAM] = seen->value[MAIN_GPU] * gpu_unit;
    row[TRACKING_DESCENDANTS_GPU_RAM] = seen->value[DESCENDANTS_GPU] * gpu_unit;
    row[TRACKING_COMBINED_GPU_RAM] = seen->value[JOB_GPU] * gpu_unit;
    row[TRACKING_SYSTEM_GPU_RAM] = latest->value[HOST_GPU] * gpu_unit;
    row[TRACKING_GPU_SUM_UTILIZATION_PERCENT] = gpu_percent;
    row[TRACKING_GPU_HARDWARE_UTILIZATION_PERCENT] =
        gpu_count > 0 ? gpu_percent / gpu_count : 0;
    row[TRACKING_MAIN_N_THREADS] = seen->value[MAIN_THREADS];
    row[TRACKING_DESCENDANTS_N_THREADS] = seen->value[DESCENDANTS_THREADS];
    row[TRACKING_COMBINED_N_THREADS] = seen->value[JOB_THREADS];
    row[TRACKING_TIMESTAMP] = latest->unix_seconds;
    fill_percentages(rows, from, row);
    rows->is_latest_written = true;
    rows->row_count++;
}

static bool is_due(const struct rows *rows, const double *wanted_after)
{
    const struct rows_sample *previous = &rows->previous;
    double seconds = rows->latest.elapsed_seconds - previous->elapsed_seconds;

    if (!wanted_after)
        return seconds >= rows->interval_seconds / 2;
    /* Over a shorter time CPU percentages would be noise. */
    return rows->row_count == 0 || seconds >= 0.001 || previous->unix_seconds <= *wanted_after;
}

bool rows_take(struct rows *rows, const struct spoor_sample *sample, const double *wanted_after,
               double row[TRACKING_COLUMNS])
{
    rows->latest = keep(rows, sample);
    rows->is_latest_written = false;
    if (rows->sample_count++ == 0) { /* before the command runs: all windows start here */
        rows->first = rows->latest;
        rows->alive = rows->previous = rows->older = rows->latest;
        return false;
    }
    /* A process that exits gives up its memory before its last thread. */
    if (rows->latest.value[MAIN_THREADS] > 0 && !(rows->latest.value[MAIN_RSS] <= 0))
        rows->alive = rows->latest;
    if (!is_due(rows, wanted_after))
        return false;
    fill(rows, &rows->previous, row);
    rows->older = rows->previous;
    rows->previous = rows->latest;
    return true;
}

bool rows_peak(const struct rows *rows, const struct spoor_sample *sample, double start,
               double row[TRACKING_COLUMNS])
{
    const double little = 1.02; /* more than what comes and goes all the time */
    bool is_more = false;

    for (size_t i = 0; i < ARRAY_SIZE(ram_columns); i++) {
        size_t index = rows->metric[ram_columns[i].metric];
        double value = index < sample->count ? sample->values[index] : (double)NAN;
        double peak = value * rows->facts->ram_unit->coefficient;
        double *ram = &row[ram_columns[i].column];

        is_more |= peak > *ram * little;
        *ram = fmax(*ram, peak); /* the other one, if one is NaN */
    }
    row[TRACKING_TIMESTAMP] = (start + sample->unix_seconds) / 2;
    return is_more;
}

bool rows_finish(struct rows *rows, double row[TRACKING_COLUMNS])
{
    if (rows->sample_count < 2 || rows->is_latest_written)
        return false;
    fill(rows, &rows->older, row);
    if (rows->row_count == 1)
        raise_ram(rows, row);
    return true;
}

static double growth(const struct rows *rows, enum metric metric)
{
    double value = rows->latest.value[metric] - rows->first.value[metric];

    if (rows->sample_count == 0)
        return (double)NAN;
    return value < 0 ? 0 : value;
}

void rows_cpu(const struct rows *rows, struct usage_run *run)
{
    run->main_cpu_seconds = growth(rows, MAIN_CPU);
    run->descendants_cpu_seconds = growth(rows, DESCENDANTS_CPU);
    run->combined_cpu_seconds = growth(rows, JOB_CPU);
}
