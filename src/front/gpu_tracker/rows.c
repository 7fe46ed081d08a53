/* SPDX-License-Identifier: Apache-2.0 */
#include "front/gpu_tracker/rows.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/compiler.h"

enum metric {
    MAIN_RSS,
    DESCENDANTS_RSS,
    JOB_RSS,
    MAIN_RSS_PEAK, /* these three in the order of those above */
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

        kept.value[i] = index < sample->count ? sample->values[index] : (double)NAN;
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

/* Memory of the job: as seen, or as high as the kernel says it has risen since the row before. */
static double ram(const struct rows *rows, const struct rows_sample *seen, enum metric metric)
{
    enum metric mark = metric + (MAIN_RSS_PEAK - MAIN_RSS);
    double peak = rows->latest.value[mark];
    double value = seen->value[metric];

    if (peak > rows->written.value[mark])
        value = fmax(value, peak); /* the other one, if one is NaN */
    return value * rows->facts->ram_unit->coefficient;
}

static void fill(struct rows *rows, const struct rows_sample *from,
                 double row[TRACKING_COLUMNS])
{
    const struct rows_sample *latest = &rows->latest;
    const struct rows_sample *seen = &rows->alive;
    double gpu_unit = rows->facts->gpu_ram_unit->coefficient;
    double gpu_percent = 100 * latest->value[GPU_UTILIZATION];
    double gpu_count = (double)rows->facts->expected_gpu_count;

    row[TRACKING_MAIN_RAM] = ram(rows, seen, MAIN_RSS);
    row[TRACKING_DESCENDANTS_RAM] = ram(rows, seen, DESCENDANTS_RSS);
    row[TRACKING_COMBINED_RAM] = ram(rows, seen, JOB_RSS);
    row[TRACKING_SYSTEM_RAM] = latest->value[HOST_MEMORY] * rows->facts->ram_unit->coefficient;
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
    rows->written = *latest;
    rows->is_latest_written = true;
}

bool rows_take(struct rows *rows, const struct spoor_sample *sample,
               double row[TRACKING_COLUMNS])
{
    rows->latest = keep(rows, sample);
    rows->is_latest_written = false;
    if (rows->sample_count++ == 0) { /* before the command runs: all windows start here */
        rows->first = rows->latest;
        rows->alive = rows->written = rows->anchor = rows->older = rows->latest;
        return false;
    }
    if (rows->latest.value[MAIN_THREADS] > 0)
        rows->alive = rows->latest;
    if (rows->latest.elapsed_seconds - rows->anchor.elapsed_seconds <
        rows->interval_seconds / 2)
        return false;
    fill(rows, &rows->anchor, row);
    rows->older = rows->anchor;
    rows->anchor = rows->latest;
    return true;
}

bool rows_finish(struct rows *rows, double row[TRACKING_COLUMNS])
{
    if (rows->sample_count < 2 || rows->is_latest_written)
        return false;
    fill(rows, &rows->older, row);
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
