/* SPDX-License-Identifier: Apache-2.0 */
/*
 * samples_file.h - a row per sample, on disk as soon as it is taken.
 *
 * Each row is one write of whole lines to the end of the file, so that a reader, during the run
 * or after a crash, finds whole rows only. What cannot be written (a full disk, one that does not
 * respond) costs rows, never the run: see base/writer_process.h.
 *
 * A header names the GPUs. Drivers take some milliseconds to tell of them, or do not answer at
 * all: the first rows wait for them, for a second at most.
 */
#ifndef SESSION_SAMPLES_FILE_H
#define SESSION_SAMPLES_FILE_H

#include "output/stream.h"
#include "sample/sample.h"
#include "session/row_writer.h"
#include "spoor/spoor.h"
#include "text/buffer.h"

/* All zero: closed. */
struct samples_file {
    const struct stream *stream; /* NULL: none is wanted */
    struct writer_process writer;
    struct writer_end end; /* once it has ended */
    char *path;            /* of a table that others may append to too; owned */
    struct buffer row;
    struct sample previous;
    bool has_previous;
    bool needs_header;       /* and its rows wait for it */
    bool has_gpus;           /* `gpus` is known */
    struct gpu_columns gpus; /* that have columns */
    struct buffer held;      /* rows that wait, without those columns */
    uint64_t held_rows;
};

/* Opens or creates the file, and leaves what is in it. `path` NULL: none is wanted. `flags` as
 * in spoor_options. Follows no symbolic link. */
int samples_file_open(struct samples_file *file, const char *path, unsigned flags,
                      struct spoor_error *err);

/* Now there will be rows: empties a file that is to be replaced. */
void samples_file_begin(struct samples_file *file);

/* After the last row: `end` says what became of them. A file that was created for nothing is
 * removed. */
void samples_file_end(struct samples_file *file);

/* Also ends it. */
void samples_file_close(struct samples_file *file);

/* `is_last`: no row comes after it, and none waits any longer. */
void samples_file_add(struct samples_file *file, const struct sample *sample,
                      const struct gpu_view *gpu, bool is_last);

#endif
