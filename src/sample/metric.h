/* SPDX-License-Identifier: Apache-2.0 */
/*
 * metric.h - the table of metrics: the contents of a sample.
 *
 * Every output, docs/METRICS.md and the names in other languages come from it. A new metric is
 * a line of base/measure.h, a row in metric.c, and the line that fills in its value: in
 * job/measures.c, or in sample/origins.c for a metric of the machine.
 */
#pragma once

#include <stdint.h>

#include "base/measure.h"
#include "spoor/spoor.h"

/* The unit of a metric's raw value. */
enum metric_unit {
    UNIT_NANOSECONDS, /* written as seconds */
    UNIT_BYTES,
    UNIT_COUNT,
    UNIT_MILLIONTHS,  /* written as a fraction of 1 */
    UNIT_MICROJOULES, /* written as joules */
};

/* Counters that change while a sample is taken have their own times (sample.h). */
enum metric_clock {
    CLOCK_SAMPLE,  /* all others */
    CLOCK_JOB_CPU, /* also for main and descendants, which add up to the job */
    CLOCK_HOST_CPU,
    METRIC_CLOCK_COUNT,
};

struct metric_row {
    struct spoor_metric published;
    enum metric_unit unit;
    enum metric_clock clock;
    bool starts_at_zero; /* a counter that is 0 when the run begins, even if read only later */
    bool is_charted;     /* shown in the curve of a run (series/series.h) */
    bool ends_with_job;  /* a gauge that is 0 after the end of the job */
    /* For memory: the total of which the metric is a part, and the metric that limits how far
     * its peak may be too high; 0: none. */
    enum metric total, discount;
    /* A counter that may include usage found later to be foreign or counted twice. */
    bool may_fall;
    /* The name in OpenTelemetry, following its conventions if they cover the metric, and an
     * attribute "KEY=VALUE" if several metrics share the name; otherwise NULL. A metric without
     * a name is not exported. */
    const char *otel, *attribute;
};

const struct metric_row *metric_row(enum metric metric);

/* Prefixes of names in OpenMetrics: "spoor_job_cpu_seconds". */
#define EXPORT_PREFIX "spoor_"
#define EXPORT_GPU_PREFIX EXPORT_PREFIX "gpu_"

/* The unit at the end of a metric's name. */
struct name_unit {
    const char *suffix; /* "seconds", the unit of OpenMetrics; NULL: the name has no unit */
    const char *otel;   /* "s" */
};

struct name_unit name_unit(const char *name);

/* Returns a raw value in the base unit of its metric; NaN for UNKNOWN. */
double metric_value(enum metric metric, uint64_t raw);
