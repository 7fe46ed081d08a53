/* SPDX-License-Identifier: Apache-2.0 */
#include "record/load.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/compiler.h"
#include "base/error.h"
#include "compat/gpu_tracker/report.h"
#include "record/replay.h"

enum { GPUS_MAX = 1024 };

struct tracking {
    struct tracking_facts facts;
    struct replay *replay;
    size_t rows;
};

/* Returns the factor to base units: bytes per unit of the file, or 0.01 for percent. */
static double scale_of(const struct tracking *tracking, enum tracking_unit unit)
{
    return unit == TRACKING_PERCENT ? 0.01 : round(1 / usage_scale(&tracking->facts, unit));
}

static uint64_t gpu_count(const struct tracking *tracking)
{
    double number = tracking->facts.numbers[TRACKING_GPU_COUNT];

    return number >= 0 && number < 1e6 ? (uint64_t)number : UNKNOWN;
}

/* Rows have only sums over all GPUs. With one GPU, the sum is the value of that GPU. */
static struct series_gpus only_gpu(const struct replay_row *row)
{
    static const enum metric metrics[GPU_MEASURE_COUNT] = {
        [GPU_MEMORY] = METRIC_HOST_GPU_MEMORY,
        [GPU_JOB_MEMORY] = METRIC_JOB_GPU_MEMORY,
        [GPU_UTILIZATION] = METRIC_HOST_GPU_UTILIZATION,
    };
    struct series_gpus gpus = { .count = 1, .places = { { 0, -1 } } };

    for (size_t i = 0; i < SERIES_GPU_MEASURES; i++) {
        enum metric metric = metrics[series_gpu_measure(i)]; /* 0: not in the file */

        gpus.values[0][i] = metric ? (float)row->value[metric] : NAN;
    }
    return gpus;
}

static int add_row(const double cells[TRACKING_COLUMNS], void *data)
{
    struct tracking *tracking = data;
    bool has_gpus = tracking->facts.numbers[TRACKING_GPU_COUNT] > 0;
    struct replay_row row;

    replay_row_clear(&row);
    row.unix_seconds = cells[TRACKING_TIMESTAMP];
    for (size_t i = 0; i < TRACKING_COLUMNS; i++) {
        const struct tracking_field *field = &tracking_row_fields[i];
        bool is_of_gpus =
            i >= TRACKING_MAIN_GPU_RAM && i <= TRACKING_GPU_SUM_UTILIZATION_PERCENT;

        if (field->metric && (has_gpus || !is_of_gpus))
            row.value[replay_metric(field->metric)] =
                cells[i] * scale_of(tracking, field->unit);
    }
    row.value[METRIC_HOST_GPU_BUSY] = row.value[METRIC_HOST_GPU_UTILIZATION];
    if (gpu_count(tracking) == 1)
        row.gpus = only_gpu(&row);
    if (replay_is_over(tracking->replay, &row))
        return 0; /* the clock was set back */
    replay_add(tracking->replay, &row);
    tracking->rows++;
    return 0;
}

static uint64_t count_of(double number)
{
    return number > 0 && number < 1e15 ? (uint64_t)number : UNKNOWN;
}

static void add_measures(struct record *record, struct record_gpu *gpu)
{
    static const struct {
        enum record_gpu_measure measure;
        const char *path;
    } figures[] = {
        { RECORD_GPU_MEMORY, "gpu.memory.system_bytes" },
        { RECORD_GPU_JOB_MEMORY, "gpu.memory.combined_bytes" },
        { RECORD_GPU_UTILIZATION_MEAN, "gpu.utilization.mean_gpus" },
        { RECORD_GPU_UTILIZATION_MAX, "gpu.utilization.max_gpus" },
    };

    for (size_t i = 0; i < ARRAY_SIZE(figures); i++)
        gpu->measures[figures[i].measure] = record_find(record->figures, figures[i].path);
}

/* Adds the GPUs. The file has only the total memory of all GPUs: they are assumed to be
 * equal. */
static void add_gpus(const struct tracking *tracking, struct record *record)
{
    const double *numbers = tracking->facts.numbers;
    double bytes = numbers[TRACKING_GPU_RAM_CAPACITY] * scale_of(tracking, TRACKING_IN_GPU_RAM);
    size_t count = is_known(record->whole_gpus) ? (size_t)record->whole_gpus : 0;

    if (count == 0 || count > GPUS_MAX)
        return;
    record->gpus = record_alloc(record, count, sizeof(*record->gpus));
    record->gpu_count = record->gpus ? count : 0;
    for (size_t i = 0; i < record->gpu_count; i++) {
        struct record_gpu *gpu = &record->gpus[i];

        *gpu = (struct record_gpu){ .index = i,
                                    .part = UNKNOWN,
                                    .memory_bytes = count_of(bytes / (double)count),
                                    .is_selected = true };
        for (size_t k = 0; k < RECORD_GPU_MEASURES; k++)
            gpu->measures[k] = record_unknown_figure("not in the tracking file");
        if (count == 1)
            add_measures(record, gpu);
    }
}

static void add_facts(const struct tracking *tracking, struct record *record)
{
    const double *numbers = tracking->facts.numbers;

    record->cpus = count_of(numbers[TRACKING_CORE_COUNT]);
    record->memory_bytes =
        count_of(numbers[TRACKING_RAM_CAPACITY] * scale_of(tracking, TRACKING_IN_RAM));
    if (numbers[TRACKING_EXPECTED_CORES] > 0)
        record->cpus_limit = numbers[TRACKING_EXPECTED_CORES];
    record->whole_gpus = gpu_count(tracking);
    add_gpus(tracking, record);
}

static int finish(struct tracking *tracking, const char *path, const char *name, bool is_torn,
                  struct records *ret, struct spoor_error *err)
{
    struct records records = { calloc(1, sizeof(*records.items)), 1 };
    int r;

    if (!records.items)
        return error_set(err, ENOMEM, "out of memory");
    r = replay_finish(tracking->replay, name, is_torn, records.items);
    if (r < 0) {
        free(records.items);
        return r == -ENODATA ? error_set(err, EBADMSG, "'%s': the file has no rows", path)
                             : error_sys(err, r, "cannot make the report");
    }
    add_facts(tracking, records.items);
    *ret = records;
    return 0;
}

/* An incomplete last row is accepted: the run may have been interrupted. */
int tracking_load(const char *path, const char *name, struct records *ret,
                  struct spoor_error *err)
{
    struct tracking tracking = { .replay = replay_new() };
    int r;

    if (!tracking.replay)
        return error_set(err, ENOMEM, "out of memory");
    for (size_t i = 0; i < TRACKING_COLUMNS; i++) {
        const struct tracking_field *field = &tracking_row_fields[i];

        if (field->metric)
            replay_set_kind(tracking.replay, replay_metric(field->metric),
                            field->moment == TRACKING_RATE ? REPLAY_RATE : REPLAY_VALUE);
    }
    replay_set_kind(tracking.replay, METRIC_HOST_GPU_BUSY, REPLAY_RATE);
    r = tracking_read(path, &tracking.facts, add_row, &tracking, err);
    if (r == 0 || (r == -EBADMSG && tracking.rows > 0))
        r = finish(&tracking, path, name, r < 0, ret, err);
    replay_free(tracking.replay);
    return r;
}
