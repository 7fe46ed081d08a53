/* SPDX-License-Identifier: Apache-2.0 */
/*
 * html.h - runs as one self-contained page.
 *
 * The page is a template with the runs as JSON in it: {"schema": "spoor-page/1", "runs": [...]}, each
 * as in a JSON report, but with a finer curve and the requests of its recommendation.
 */
#ifndef OUTPUT_HTML_H
#define OUTPUT_HTML_H

#include <stddef.h>

#include "record/record.h"
#include "text/buffer.h"

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

#endif
