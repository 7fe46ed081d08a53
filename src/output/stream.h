/* SPDX-License-Identifier: Apache-2.0 */
/* stream.h - samples as they are taken, a row each: the kinds of streams are rows of a table. */
#ifndef OUTPUT_STREAM_H
#define OUTPUT_STREAM_H

#include <stdbool.h>

#include "base/output_file.h"
#include "sample/gpu_columns.h"
#include "sample/sample.h"
#include "text/buffer.h"

/* One row of a stream. */
struct stream_row {
    const struct sample *sample;
    const struct sample *previous;     /* the one before, for rates; NULL at the first */
    const struct gpu_view *gpu;        /* as it was then */
    const struct gpu_columns *of_gpus; /* NULL: they are not known yet */
};

/* A stream of samples: a header, then `row` for each, from the tables of metrics and of what is
 * measured of each GPU. */
struct stream {
    const char *suffix; /* of file names */
    /* The header, which names the GPUs, so that it waits for them; NULL: there is none. */
    void (*begin)(const struct gpu_columns *gpus, struct buffer *out);
    void (*row)(const struct stream_row *row, struct buffer *out);
};

/* The stream for a file name; NULL: no such suffix. */
const struct stream *stream_for_path(const char *path);

/* Checks that samples can be written to a file: as output_file_check() and, if a table is
 * appended to, that it has our columns. Changes nothing. */
int stream_check(const char *path, enum output_mode mode, struct spoor_error *err);

/* The GPUs of a table that is appended to, from its header. 1: the file is empty; 0: *ret is
 * set; -EINVAL: it is another table. */
int stream_read_header(const struct stream *stream, int fd, struct gpu_columns *ret,
                       struct spoor_error *err);

/* ---- for the streams ------------------------------------------------------ */

void csv_stream_begin(const struct gpu_columns *gpus, struct buffer *out);
void csv_stream_row(const struct stream_row *row, struct buffer *out);
void jsonl_stream_row(const struct stream_row *row, struct buffer *out);

/* A counter's growth per second since the sample before. NaN if it is not known or there is
 * none before. */
double stream_rate(enum metric metric, const struct sample *sample,
                   const struct sample *previous);

#endif
