/* SPDX-License-Identifier: Apache-2.0 */
/*
 * format.h - the report formats, as rows of a table. Each is a function of a record that writes
 * into a buffer and reads nothing else.
 *
 * To add a format, add a file with its write function, a row in format.c and a value in
 * spoor.h.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "record/record.h"
#include "text/buffer.h"
#include "text/json_writer.h"

/* The style of a report. A format uses the members that concern it. */
struct format_style {
    bool has_color;
    bool has_unicode; /* allows sparklines and unescaped names */
    size_t columns;   /* width of a line of text, at least TEXT_COLUMNS_MIN */
    bool has_header;  /* a CSV table begins with a header */
};

enum { TEXT_COLUMNS = 80, TEXT_COLUMNS_MIN = 60, TEXT_COLUMNS_MAX = 160 };

typedef void record_write(const struct record *record, const struct format_style *style,
                          struct buffer *out);
typedef void records_write(const struct record *records, size_t count, struct buffer *out);

struct format {
    const char *name;
    const char *suffix;                 /* of file names; NULL: no suffix selects the format */
    record_write *write;                /* NULL: write_all() is used */
    void (*header)(struct buffer *out); /* writes the header of a table; NULL: no header */
    /* Writes several records into one document; NULL: they are written one after the other. */
    records_write *write_all;
    /* Checks whether this build can write the format; NULL: it can. */
    int (*check)(struct spoor_error *err);
};

/* Whether a path ends with the suffix and has a name before it: false for ".csv" alone. */
bool path_has_suffix(const char *path, const char *suffix);

/* Returns the row of a format; NULL: there is no such format. */
const struct format *format_get(enum spoor_format format);

/* Finds the format for a version of a tool: "snakemake-9" of --dialect. false: no such
 * format. */
bool format_for_version(const char *name, enum spoor_format *ret);

/* Checks that this build can write a format. Returns 0, or with a message -EINVAL (no such
 * format) or -ENOSYS (this build does not have it). */
int format_check(enum spoor_format format, struct spoor_error *err);

/* Writes records in one table or document, or one after the other. */
void format_write(const struct format *format, const struct record *records, size_t count,
                  struct format_style *style, struct buffer *out);

/* Writes one screen for people (text.c). */
record_write text_write;

/* Writes requested and used resources in six lines (text.c). */
record_write brief_write;

/* Writes schema spoor/1, indented, with a final newline (json.c). */
record_write json_write;

/* Adds the report to a document, with at most `curve_points` points of the curve. The report
 * page also gets the requests of the recommendation; the file of a group gets no recommendation
 * (json.c). */
enum json_use { JSON_FOR_FILE, JSON_FOR_PAGE, JSON_FOR_GROUP };
void json_add_report(struct json_writer *json, const struct record *record, size_t curve_points,
                     enum json_use use);

/* Write the lines of a rank in the file of its node: its begin record, and its report
 * (json.c). */
void rank_write_begin(const struct record *record, struct buffer *out);
record_write rank_write;

/* Adds an object: the value with its source and bounds, or the reason why it is unknown
 * (json.c). */
void json_add_measure(struct json_writer *json, const char *key,
                      const struct spoor_figure *figure);

/* Adds "curve", with at most `max_points` points; null if there is none (json.c). */
void curve_add_json(struct json_writer *json, const struct record_curve *curve,
                    size_t max_points);

/* Writes a page with charts (html.c). */
records_write html_write_all;

/* Writes a table of the key figures, one column per run (markdown.c). */
records_write markdown_write_all;

/* Writes one row of all figures, after a header if requested (csv.c). RFC 4180, but lines
 * end in "\n". */
record_write csv_write;
void csv_header(struct buffer *out);

/* Writes the figures as OpenMetrics 1.0; also valid in the text format of Prometheus
 * (openmetrics.c). */
records_write openmetrics_write_all;

/* Write one row of a benchmark table of Snakemake (snakemake.c). */
record_write snakemake_write;
record_write snakemake_9_write;
void snakemake_header(struct buffer *out);

/* Writes a .command.trace of Nextflow (nextflow.c). */
record_write nextflow_write;

/* Write a run as Slurm's seff and jobstats do (slurm.c). */
record_write seff_write;
record_write jobstats_write;

/* Writes runs as Chrome trace events (trace.c). */
records_write trace_write_all;

/* Writes a machine without a run as JSON (json.c) or as text (text_system.c). */
void machine_write_json(const struct record *record, struct buffer *out);
record_write machine_write_text;

/* Writes the tags of a run as shell words: team=blue 'note=two words'. */
void tags_write(const struct record_tags *tags, struct buffer *out);

/* Returns the style for a descriptor, by our locale and the width of the terminal; -1: a
 * file. Sets has_header. */
struct format_style format_style_for(int fd, bool has_color);

/* ---- Runs as one self-contained page (html.c) ---------------------------------
 *
 * The page is a template with the runs as JSON in it: {"schema": "spoor-page/1", "runs": [...]},
 * each as in a JSON report, but with a finer curve and the requests of its recommendation.
 */

/* Writes a template whose marker is replaced by the runs and, if not NULL, the summary of a
 * bench (JSON). -EINVAL in the buffer: the template has no marker. */
void html_write_template(const char *template, size_t length, const struct record *records,
                         size_t count, const struct buffer *bench, struct buffer *out);

/* Like html_write_template(), with the template of the report page. */
void html_write_bench(const struct record *records, size_t count, const struct buffer *bench,
                      struct buffer *out);

/* Checks that this build can write pages. Returns 0, or -ENOSYS with a message. */
int html_check(struct spoor_error *err);

/* ---- The report page without data, put into the program by the build (web/report) --- */

/* The line of the page that the data replaces. */
#define REPORT_TEMPLATE_MARKER "<!--spoor-data-->"

extern const char report_template[];
extern const size_t report_template_length; /* 0: this build has no page */
