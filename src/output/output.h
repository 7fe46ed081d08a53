/* SPDX-License-Identifier: Apache-2.0 */
/*
 * output.h - the writers: of a report at the end, and of a row per sample.
 *
 * They write text into a buffer and read nothing but what they are given.
 */
#ifndef OUTPUT_OUTPUT_H
#define OUTPUT_OUTPUT_H

#include <stdbool.h>

#include "output/report.h"
#include "sample/sample.h"
#include "text/buffer.h"

/* How text for people looks. */
struct text_style {
    bool has_color;
    bool has_unicode; /* allows sparklines, and names as they are */
    size_t columns;   /* of a line: TEXT_COLUMNS_MIN at least */
};

enum { TEXT_COLUMNS = 80, TEXT_COLUMNS_MIN = 60, TEXT_COLUMNS_MAX = 160 };

/* One screen for people (text.c). */
void text_write(const struct report *report, const struct text_style *style,
                struct buffer *out);

/* Schema spoor/1, indented, with a final newline (json.c). */
void json_write(const struct report *report, struct buffer *out);

/* What machine this is: JSON, or text for people (machine.c). `gpu` may have no devices. */
void machine_write_json(const struct host_facts *host, const struct limits *limits,
                        const struct gpu_view *gpu, struct buffer *out);
void machine_write_text(const struct host_facts *host, const struct limits *limits,
                        const struct gpu_view *gpu, const struct text_style *style,
                        struct buffer *out);

/* One row of all figures, after a header if wanted (csv.c). RFC 4180, "\n" ends lines. */
void csv_write(const struct report *report, bool has_header, struct buffer *out);

/* The GPUs that have columns in a stream. */
enum { STREAM_GPUS_MAX = 256 };
struct stream_gpus {
    size_t count;
    struct gpu_place places[STREAM_GPUS_MAX];
};

/* One row of a stream. */
struct stream_row {
    const struct sample *sample;
    const struct sample *previous;     /* the one before, for rates; NULL at the first */
    const struct gpu_view *gpu;        /* as it was then */
    const struct stream_gpus *of_gpus; /* NULL: they are not known yet */
};

/* A stream of samples: `begin` once, then `row` for each, from the tables of metrics and of
 * what is measured of each GPU. */
struct stream {
    const char *suffix; /* of the file name: ".csv", ".jsonl" */
    bool has_header;    /* which names the GPUs, so that it waits for them */
    void (*begin)(const struct stream_gpus *gpus, struct buffer *out);
    void (*row)(const struct stream_row *row, struct buffer *out);
};

/* The columns of those that are the job's. */
struct stream_gpus stream_gpus_of(const struct gpu_view *view);

/* The stream for a file name; NULL: no such suffix. */
const struct stream *stream_for_path(const char *path);

#endif
