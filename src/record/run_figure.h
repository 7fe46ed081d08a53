/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run_figure.h - the figures by which runs are compared, limited and listed.
 *
 * The most common have short names ("memory"); every other figure is named by its path
 * ("memory.job_peak_bytes").
 */
#pragma once

#include "record/record.h"
#include "text/number.h"

enum run_unit { RUN_SECONDS, RUN_BYTES, RUN_JOULES, RUN_NUMBER };

struct run_figure {
    const char *name;  /* name as the user writes it: "memory" */
    const char *label; /* label for people: "Peak memory" */
    const char *path;  /* path in the report; NULL: the time of the run */
    enum run_unit unit;
    const char *heading; /* of a column: "MEMORY" */
};

/* The figures with short names, in the order in which tables list them. */
enum { RUN_FIGURES = 7 };
extern const struct run_figure run_figures[RUN_FIGURES];

/* Finds a figure by its short name or its path. -EINVAL: there is no such figure; the
 * message lists the names. */
int run_figure_find(const char *name, struct run_figure *ret, struct spoor_error *err);

/* Returns a figure of a run; `value` is NaN if it is unknown. */
struct spoor_figure run_figure_get(const struct run_figure *figure,
                                   const struct record *record);

/* Return the bounds of a figure: equal to its value if it is exact or has no bounds. */
double run_figure_low(const struct spoor_figure *figure);
double run_figure_high(const struct spoor_figure *figure);

/* Formats a value: "1.46 GB", "12.3 s". */
struct number run_figure_text(const struct run_figure *figure, double value);

/* Adds the value, and its bounds if they differ: "1.46 GB (1.4 GB to 1.5 GB)". Without
 * bounds, `low` and `high` are NaN. */
void run_figure_add(const struct run_figure *figure, double value, double low, double high,
                    struct buffer *out);

/* Reads a value as people write it: "2GiB", "10m", "0.5". K, M, G, T and KiB, MiB, ... are powers of 1024, KB, MB,
 * ... powers of 1000. -EINVAL: it is not a value of this figure. */
int run_figure_parse(const struct run_figure *figure, const char *text, double *ret,
                     struct spoor_error *err);
