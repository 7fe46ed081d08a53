/* SPDX-License-Identifier: Apache-2.0 */
/*
 * export.h - samples in the formats of monitoring systems: OpenMetrics, the text format of
 * Prometheus and OTLP. Does no I/O.
 *
 * All names come from the table of metrics (sample/metric.h); docs/METRICS.md lists them. Unknown values are
 * left out.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "sample/metric.h"
#include "sample/sampler.h"
#include "spoor/spoor.h"
#include "text/buffer.h"

enum { EXPORT_GPUS_MAX = 64 };

struct export_gpu {
    unsigned index;
    int part; /* -1: a whole GPU */
    char uuid[96];
    double values[GPU_MEASURE_COUNT];
};

struct export_sample {
    double unix_seconds, elapsed_seconds;
    double cpu_limit, memory_limit_bytes;
    double values[METRIC_COUNT];
    size_t gpu_count; /* further GPUs are left out */
    struct export_gpu gpus[EXPORT_GPUS_MAX];
};

struct export_sample export_sample_of(const struct spoor_sample *sample);

/* Merges a later sample into one that was not exported: keeps the highest levels of the job.
 * Counters never fall, even if a correction lowers them (metric_row.may_fall). */
void export_sample_fold(struct export_sample *sample, const struct export_sample *later);

/* Replaces an exported sample by a later one. Counters never fall. */
void export_sample_follow(struct export_sample *sample, const struct export_sample *later);

struct export_label {
    const char *name, *value;
};

bool export_is_label_name(const char *name);

/* Adds a label to a list of labels, in the form that the writers below read:
 * name="value",name="value" */
void export_add_label(const char *name, const char *value, struct buffer *labels);

enum exposition {
    EXPOSE_OPENMETRICS, /* version 1.0 */
    EXPOSE_TEXT,        /* Prometheus, version 0.0.4 */
    EXPOSE_TIMED,       /* like EXPOSE_TEXT, but only lines of values, with timestamps */
};

/* Adds `labels` to every value. */
void export_write(const struct export_sample *sample, const char *labels, enum exposition how,
                  struct buffer *out);

/* Writes an OTLP request in JSON. The first label is the ID of the run. */
void otlp_write(const struct export_sample *samples, size_t count,
                const struct export_label *resource, size_t resource_count, struct buffer *out);
