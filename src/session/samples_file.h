/* SPDX-License-Identifier: Apache-2.0 */
/*
 * samples_file.h - a row per sample, on disk as soon as it is taken.
 *
 * Each row is one write of whole lines to the end of the file, so that a reader, during the run
 * or after a crash, finds whole rows only. What cannot be written (a full disk, one that does not
 * respond) costs rows, never the run: see base/writer_process.h.
 *
 * The header of our columns names the GPUs. Drivers take some milliseconds to tell of them, or do not answer at
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
    struct stream stream;
    struct writer_process writer;
    struct writer_end end; /* once it has ended */
    char *path;            /* owned */
    bool is_pipe;          /* a descriptor, a device or a named pipe */
    bool is_shared;        /* others may append to the table too */
    _Atomic bool must_end; /* with the next sample, though the session goes on */
    uint64_t short_ns;     /* a sample so soon after a row is part of the next row */
    pid_t pid;             /* of the job; 0: there is none */
    bool is_main_only;
    const char *run_id;   /* borrowed; NULL: unknown */
    char *name;           /* label of the run; owned; NULL: it has none */
    bool is_machine_only; /* there is no job */
    struct device_sample devices, previous_devices, older_devices; /* if rows list them */
    struct buffer row;
    struct sample previous, older; /* of the last two rows */
    bool has_previous, has_older;
    bool needs_header;       /* and its rows wait for it */
    bool has_gpus;           /* `gpus` is known */
    struct gpu_columns gpus; /* that have columns */
    struct buffer held;      /* rows that wait, without those columns */
    uint64_t held_rows;
};

/* Opens or creates the file, and leaves what is in it. Follows no symbolic link to a file. */
int samples_file_open(struct samples_file *file, const struct spoor_stream *stream,
                      const struct spoor_options *options, struct spoor_error *err);

/* Now there will be rows: empties a file that is to be replaced. */
void samples_file_begin(struct samples_file *file);

/* After the last row: `end` says what became of them. A file that was created for nothing is
 * removed. */
void samples_file_end(struct samples_file *file);

/* Also ends it. */
void samples_file_close(struct samples_file *file);

/* Where devices are read, if rows list them; `space` as in devices_read(). */
struct samples_machine {
    const struct root *root;
    struct space *space;
};

/* `is_last`: no row comes after it, and none waits any longer. */
void samples_file_add(struct samples_file *file, const struct sample *sample,
                      const struct gpu_view *gpu, struct samples_machine machine, bool is_last);

#endif
