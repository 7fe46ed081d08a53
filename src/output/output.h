/* SPDX-License-Identifier: Apache-2.0 */
/*
 * output.h - the writers: of a report at the end, and of a row per sample.
 *
 * They write text into a buffer and read nothing but what they are given.
 */
#ifndef OUTPUT_OUTPUT_H
#define OUTPUT_OUTPUT_H

#include <stdbool.h>

#include "output/buffer.h"
#include "output/report.h"
#include "sample/sample.h"

/* One screen for people (text.c). `has_unicode` allows sparklines. */
void text_write(const struct report *report, bool has_color, bool has_unicode,
                struct buffer *out);

/* Schema spoor/1, indented, with a final newline (json.c). */
void json_write(const struct report *report, struct buffer *out);

/* One row of all figures, after a header if wanted (csv.c). RFC 4180, "\n" ends lines. */
void csv_write(const struct report *report, bool has_header, struct buffer *out);

/* A stream of samples: `begin` once, then `row` for each, from the metric table.
 * `previous` is the sample before, for rates; NULL at the first. */
struct stream {
    const char *suffix; /* of the file name: ".csv", ".jsonl" */
    void (*begin)(struct buffer *out);
    void (*row)(const struct sample *sample, const struct sample *previous, struct buffer *out);
};

/* The stream for a file name; NULL: no such suffix. */
const struct stream *stream_for_path(const char *path);

#endif
