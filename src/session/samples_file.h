/* SPDX-License-Identifier: Apache-2.0 */
/*
 * samples_file.h - writes a row per sample, as soon as the sample is taken.
 *
 * Each row is one write of whole lines to the end of the file, so that a reader, during the run
 * or after a crash, finds whole rows only. A full or hanging disk loses rows, but does not
 * affect the run: see base/writer_process.h.
 *
 * The header of our own columns names the GPUs. Drivers take some milliseconds to list them,
 * or do not respond: the first rows wait for the drivers, for a second at most.
 */
#pragma once

#include "base/writer_process.h"
#include "output/output_file.h"
#include "output/stream.h"
#include "sample/sample.h"
#include "spoor/spoor.h"
#include "text/buffer.h"

/* ---- row_writer.c: a writer process that appends rows to a file ------------- */

/* Starts the writer, which opens or creates the file and keeps its content. Fails if opening
 * fails within a moment; after a later failure, rows are lost. "-" and other names of
 * descriptors, devices and named pipes are only written to. Files are always written to the
 * end. The reader of a pipe or terminal has 200 ms after the end to read the remaining rows;
 * rows unread by then are lost. */
int row_writer_open(struct writer_process *writer, const char *path, enum output_mode mode);

/* Must be called before the first row. Empties the file if it is to be replaced. If this is never
 * called, a file that row_writer_open() created is removed. */
void row_writer_begin(struct writer_process *writer);

/* Queue a header, which is written only to an empty file, and whole rows. Neither call blocks
 * for long. */
void row_writer_add_header(struct writer_process *writer, const struct buffer *text);
void row_writer_add(struct writer_process *writer, const struct buffer *text, uint64_t rows);

/* ---- samples_file.c ---------------------------------------------------------- */

/* A zeroed struct is closed. */
struct samples_file {
    struct stream stream;
    struct writer_process writer;
    struct writer_end end;   /* set after the end */
    char *path;              /* owned */
    bool is_pipe;            /* a descriptor, a device or a named pipe */
    bool is_shared;          /* other runs may append to the table */
    _Atomic bool must_end;   /* end the file with the next sample, though the session
                              continues */
    uint64_t short_ns;       /* a sample this soon after a row becomes part of the next row */
    struct stream_row facts; /* the facts of the run in each row */
    char *name;              /* label of the run; owned; NULL: none */
    /* Used if rows list devices. */
    struct device_sample devices, previous_devices, older_devices;
    struct buffer row;
    struct sample previous, older; /* samples of the last two rows */
    bool has_previous, has_older;
    bool needs_header;       /* the header is not written yet, and rows wait for it */
    bool has_gpus;           /* `gpus` is known */
    struct gpu_columns gpus; /* GPUs with columns */
    struct buffer held;      /* waiting rows, without columns of GPUs */
    uint64_t held_rows;
};

/* Opens or creates the file, and keeps its content. Does not follow a symbolic link to a file.
 * Before the first row, call row_writer_begin(). */
int samples_file_open(struct samples_file *file, const struct spoor_stream *stream,
                      const struct spoor_options *options, struct spoor_error *err);

/* Ends the file after the last row; `end` has the outcome. Removes a file that was created
 * but not used. */
void samples_file_end(struct samples_file *file);

/* Ends the file, if still open, and frees the members. */
void samples_file_close(struct samples_file *file);

/* The machine whose devices rows list; `space` as in devices_read(). */
struct samples_machine {
    const struct root *root;
    struct space *space;
};

/* Adds a row. `is_last`: no row follows, and waiting rows are written. */
void samples_file_add(struct samples_file *file, const struct sample *sample,
                      const struct gpu_view *gpu, struct samples_machine machine, bool is_last);
