/* SPDX-License-Identifier: Apache-2.0 */
/*
 * example_report.h - a report on an invented run, for tests of the outputs.
 *
 * The job has up to three processes and is sampled six times, at 0 to 5 s. It uses 10 s of CPU
 * time. Its highest sampled memory is 1.2 GB, in sample 3; the upper bound of the peak is 1.5
 * GB. example_report.c lists all known values.
 */
#pragma once

#include "output/format.h"
#include "record/fill.h"

enum { EXAMPLE_SAMPLES = 6, EXAMPLE_PHASES = 10, EXAMPLE_WARNINGS = 2 };

struct example {
    struct record_input input; /* tests may change it */
    struct host_facts host;
    struct limits limits;
    struct gpu_view gpu; /* a machine without GPUs */
    struct origin origins[METRIC_COUNT];
    struct sample samples[EXAMPLE_SAMPLES];
    struct summary summary;
    struct series series;
    struct phase phases[EXAMPLE_PHASES];       /* filled; input.phase_count is 0 */
    struct warning warnings[EXAMPLE_WARNINGS]; /* filled; input.warning_count is 0 */
    struct process_entry process_list[2];
    struct process_sum process_sum;
    struct process_table processes; /* input.processes points here */
    char command[16];
};

/* Allocates an example; the test fails if memory runs out. */
struct example *example_new(void);
void example_free(struct example *example);

/* Copies `origins` to the summaries of the run and of its phases. Call it after changing an
 * origin or a summary. */
void example_label(struct example *example);

/* Fills a record; the caller must call record_done(). */
void example_fill(const struct example *example, struct record *ret);

/* Appends the report in the given format to `out`. `style` may be NULL. */
void example_write(const struct example *example, enum spoor_format format,
                   const struct format_style *style, struct buffer *out);

/* Removes all samples and facts. */
void example_forget(struct example *example);
