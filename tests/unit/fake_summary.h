/* SPDX-License-Identifier: Apache-2.0 */
/* fake_summary.h - a summary filled by a test, and its figures. */
#pragma once

#include <math.h>

#include "base/clock.h"
#include "label.h"
#include "series/figure.h"
#include "unit_test.h"

#define MB 1000000ull

struct machine {
    struct summary summary;
    struct origin origins[METRIC_COUNT];
};

static inline void machine_init(struct machine *machine)
{
    summary_init(&machine->summary, NS_PER_SECOND);
    for (int i = 0; i < METRIC_COUNT; i++)
        machine->origins[i] = (struct origin){ "test", NULL, false };
    machine->origins[METRIC_MAIN_RSS_BOUND].is_exact = true;
    machine->origins[METRIC_DESCENDANTS_RSS_BOUND].is_exact = true;
    machine->origins[METRIC_JOB_RSS_BOUND].is_exact = true;
}

/* Sets the values of one metric: one sample per second. */
static inline void observe(struct machine *machine, enum metric metric, const uint64_t *values,
                           size_t count)
{
    struct summary summary;

    summary_init(&summary, NS_PER_SECOND);
    for (size_t i = 0; i < count; i++) {
        struct sample sample;

        sample_clear(&sample);
        sample.elapsed_ns = i * NS_PER_SECOND;
        sample.value[metric] = values[i];
        summary_add(&summary, &sample);
    }
    machine->summary.tally[metric] = summary.tally[metric];
}

#define OBSERVE(machine, metric, ...)                           \
    observe(machine, metric, (const uint64_t[]){ __VA_ARGS__ }, \
            sizeof((const uint64_t[]){ __VA_ARGS__ }) / sizeof(uint64_t))

static inline struct spoor_figure find(const struct machine *machine, const char *path)
{
    struct summary labelled = machine->summary;
    ssize_t index = figure_index(path);

    for (int i = 0; i < METRIC_COUNT; i++)
        summary_label(&labelled, (enum metric)i, machine->origins[i]);
    assert_true(index >= 0);
    return figure_get((size_t)index, &labelled);
}

static inline void assert_near(double found, double expected)
{
    assert_true(fabs(found - expected) < 1e-9);
}
