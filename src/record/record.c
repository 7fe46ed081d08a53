/* SPDX-License-Identifier: Apache-2.0 */
#include "record/record.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/unknown.h"
#include "series/figure.h"

void record_init(struct record *record)
{
    *record = (struct record){
        .pid = UNKNOWN,
        .started_at = (double)NAN,
        .ended_at = (double)NAN,
        .elapsed_seconds = (double)NAN,
        .exit_code = UNKNOWN,
        .interval_seconds = (double)NAN,
        .samples = UNKNOWN,
        .cpus = UNKNOWN,
        .memory_bytes = UNKNOWN,
        .cpus_limit = (double)NAN,
        .memory_limit_bytes = UNKNOWN,
        .whole_gpus = UNKNOWN,
        .tracker_cpu_seconds = (double)NAN,
        .tracker_max_rss_bytes = UNKNOWN,
        .late_samples = UNKNOWN,
        .detail_reads = UNKNOWN,
        .budget_percent = (double)NAN,
    };
    for (int i = 0; i < SPENDING_COUNT; i++) {
        record->spent_seconds[i] = (double)NAN;
        record->postponed[i] = UNKNOWN;
    }
}

/* What stands before each allocation: all are in one list. */
struct allocation {
    struct allocation *next;
    max_align_t memory[];
};

void *record_alloc(struct record *record, size_t count, size_t size)
{
    struct allocation *allocation = NULL;
    size_t bytes;

    if (!__builtin_mul_overflow(count, size, &bytes) &&
        !__builtin_add_overflow(bytes, sizeof(*allocation), &bytes))
        allocation = calloc(1, bytes);
    if (!allocation) {
        record->error = -ENOMEM;
        return NULL;
    }
    allocation->next = record->allocations;
    record->allocations = allocation;
    return allocation->memory;
}

void record_done(struct record *record)
{
    struct allocation *allocation = record->allocations;

    while (allocation) {
        struct allocation *next = allocation->next;

        free(allocation);
        allocation = next;
    }
    record_init(record);
}

const char *record_text(struct record *record, const char *text)
{
    size_t size = text ? strlen(text) + 1 : 0;
    char *copy = text ? record_alloc(record, size, 1) : NULL;

    return copy ? memcpy(copy, text, size) : NULL;
}

const char *record_known_text(struct record *record, const char *text)
{
    return text && *text ? record_text(record, text) : NULL;
}

static const char *share_text(struct record *record, const char *text, const char *like)
{
    return text && like && strcmp(text, like) == 0 ? like : record_text(record, text);
}

struct spoor_figure record_figure(struct record *record, struct spoor_figure figure,
                                  const struct spoor_figure *like)
{
    figure.source = share_text(record, figure.source, like ? like->source : NULL);
    figure.reason = share_text(record, figure.reason, like ? like->reason : NULL);
    return figure;
}

struct spoor_figure record_unknown_figure(const char *reason)
{
    return (struct spoor_figure){
        .value = (double)NAN, .low = (double)NAN, .high = (double)NAN, .reason = reason
    };
}

struct spoor_figure record_find(const struct spoor_figure *figures, const char *path)
{
    ssize_t index = figure_index(path);

    return figures && index >= 0 ? figures[index] : record_unknown_figure(NULL);
}

double record_value(const struct record *record, const char *path)
{
    return record_find(record->figures, path).value;
}

double record_charged_bytes(const struct record *record)
{
    const char *source = record->memory_limit_source;

    return source && strncmp(source, "cgroup.", strlen("cgroup.")) == 0
               ? record_value(record, "memory.job_peak_bytes")
               : (double)NAN;
}

const char *record_gpu_path(enum record_gpu_measure measure)
{
    static const char *const paths[RECORD_GPU_MEASURES] = {
        [RECORD_GPU_MEMORY] = "memory.peak_bytes",
        [RECORD_GPU_JOB_MEMORY] = "memory.job_peak_bytes",
        [RECORD_GPU_UTILIZATION_MEAN] = "utilization.mean",
        [RECORD_GPU_UTILIZATION_MAX] = "utilization.max",
        [RECORD_GPU_JOB_UTILIZATION_MEAN] = "job_utilization.mean",
        [RECORD_GPU_JOB_UTILIZATION_MAX] = "job_utilization.max",
        [RECORD_GPU_ENERGY] = "energy_joules",
        [RECORD_GPU_TEMPERATURE_MAX] = "max_temperature_celsius",
        [RECORD_GPU_POWER_MAX] = "max_power_watts",
    };

    return paths[measure];
}

void record_make_id(char id[33])
{
    unsigned char bytes[16] = { 0 };

    (void)!getrandom(bytes, sizeof(bytes), GRND_NONBLOCK); /* fails at early boot only */
    for (size_t i = 0; i < sizeof(bytes); i++)
        (void)snprintf(id + 2 * i, 3, "%02x", (unsigned)bytes[i]); /* two digits and a NUL */
}
