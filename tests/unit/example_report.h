/* SPDX-License-Identifier: Apache-2.0 */
/*
 * example_report.h - a report on an invented run, for tests of the outputs.
 *
 * Six samples, a second apart, of a job of three processes: 0 to 5 s; 10 s of CPU; a peak of
 * 1.2 GB seen in sample 3, up to 1.5 GB possible. All known figures are written out in
 * example_report.c.
 */
#ifndef TESTS_EXAMPLE_REPORT_H
#define TESTS_EXAMPLE_REPORT_H

#include "output/format.h"
#include "record/fill.h"

enum { EXAMPLE_SAMPLES = 6, EXAMPLE_PHASES = 10, EXAMPLE_WARNINGS = 2 };

struct example {
    struct record_input input; /* the test may change it */
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
    struct process_table processes; /* used by `input` */
    char command[16];
};

/* Allocates an example; the test fails if memory runs out. */
struct example *example_new(void);
void example_free(struct example *example);

/* Labels the values of the run and of its phases with `origins`; call it after changing
 * these. */
void example_label(struct example *example);

/* Makes the record; the test must call record_done(). */
void example_fill(const struct example *example, struct record *ret);

/* The report in a format. */
void example_write(const struct example *example, enum spoor_format format,
                   const struct format_style *style, struct buffer *out);

/* A report without any known value: no sample, no facts. */
void example_forget(struct example *example);

#endif
