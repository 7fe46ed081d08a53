/* SPDX-License-Identifier: Apache-2.0 */
/*
 * format.h - the report formats, as rows of a table. Each is a function of a record that
 * writes into a buffer and reads nothing else.
 *
 * To add a format: a file with its write function, a row in format.c, a value in spoor.h.
 */
#ifndef OUTPUT_FORMAT_H
#define OUTPUT_FORMAT_H

#include <stdbool.h>

#include "record/record.h"
#include "text/buffer.h"
#include "text/json_writer.h"

/* How a report is to look. A format uses the members that concern it. */
struct format_style {
    bool has_color;
    bool has_unicode; /* allows sparklines, and names as they are */
    size_t columns;   /* of a line of text: TEXT_COLUMNS_MIN at least */
    bool has_header;  /* of a CSV table */
};

enum { TEXT_COLUMNS = 80, TEXT_COLUMNS_MIN = 60, TEXT_COLUMNS_MAX = 160 };

struct format {
    const char *name;
    const char *suffix; /* of file names */
    void (*write)(const struct record *record, const struct format_style *style,
                  struct buffer *out);
    void (*header)(struct buffer *out); /* of a table; NULL: it has none */
    /* Several records in one document; NULL: they are written one after the other. */
    void (*write_all)(const struct record *records, size_t count, struct buffer *out);
    int (*check)(struct spoor_error *err); /* can this build write it? NULL: yes */
};

/* The name of a file is more than its suffix: false for ".csv" alone. */
bool path_has_suffix(const char *path, const char *suffix);

/* NULL: there is no such format. */
const struct format *format_get(enum spoor_format format);

/* 0; -EINVAL or -ENOSYS with a message: there is no such format, or this build does not have it. */
int format_check(enum spoor_format format, struct spoor_error *err);

/* One screen for people (text.c). */
void text_write(const struct record *record, const struct format_style *style,
                struct buffer *out);

/* Schema spoor/1, indented, with a final newline (json.c). */
void json_write(const struct record *record, const struct format_style *style,
                struct buffer *out);

/* The same as part of a document, with that many points of the curve at most. The report page also gets the
 * requests of the recommendation (json.c). */
void json_add_report(struct json_writer *json, const struct record *record, size_t curve_points,
                     bool is_page);

/* An object: the value with its source and bounds, or why it is unknown (json.c). */
void json_add_measure(struct json_writer *json, const char *key,
                      const struct spoor_figure *figure);

/* Adds "curve", with no more points than that; null if there is none (json.c). */
void curve_add_json(struct json_writer *json, const struct record_curve *curve,
                    size_t max_points);

/* A page with charts (html.c). */
void html_write(const struct record *record, const struct format_style *style,
                struct buffer *out);
void html_write_all(const struct record *records, size_t count, struct buffer *out);

/* A table of the key figures, one column per run (markdown.c). */
void markdown_write(const struct record *record, const struct format_style *style,
                    struct buffer *out);
void markdown_write_all(const struct record *records, size_t count, struct buffer *out);

/* One row of all figures, after a header if requested (csv.c). RFC 4180, "\n" ends lines. */
void csv_write(const struct record *record, const struct format_style *style,
               struct buffer *out);
void csv_header(struct buffer *out);

/* The figures as OpenMetrics 1.0; also valid in the text format of Prometheus (openmetrics.c). */
void openmetrics_write(const struct record *record, const struct format_style *style,
                       struct buffer *out);
void openmetrics_write_all(const struct record *records, size_t count, struct buffer *out);

/* A machine without a run: JSON, or text for people (machine.c). */
void machine_write_json(const struct record *record, struct buffer *out);
void machine_write_text(const struct record *record, const struct format_style *style,
                        struct buffer *out);

/* The tags of a run as words that a shell reads: team=blue 'note=two words'. */
void tags_write(const struct record_tags *tags, struct buffer *out);

/* The style for a descriptor: by our locale, and as wide as a terminal is; -1: a file. With a
 * header. */
struct format_style format_style_for(int fd, bool has_color);

#endif
