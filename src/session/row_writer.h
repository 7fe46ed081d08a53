/* SPDX-License-Identifier: Apache-2.0 */
/*
 * row_writer.h - writes rows to a file in a separate process.
 *
 * A disk may stall, and so may the reader of a pipe. A thread that waits for a frozen file system
 * cannot be interrupted and keeps its whole process from ending: so rows are written by a hidden
 * child (hidden_child.h), which is left behind if necessary. They are handed over through shared
 * memory; rows that it has no room for are dropped and counted.
 *
 * The child has the name of an agent: it belongs to no job. It ends by itself when this process
 * has, once it has written what it was given.
 */
#ifndef SESSION_ROW_WRITER_H
#define SESSION_ROW_WRITER_H

#include <stdint.h>
#include <sys/types.h>

#include "base/output_file.h"
#include "text/buffer.h"

struct row_queue;

struct row_writer {
    pid_t pid;               /* 0: there is none */
    int fd;                  /* wakes the process up; at its end when that has ended */
    struct row_queue *queue; /* shared with it */
    uint64_t given_rows;
    uint64_t dropped_rows;
};

#define ROW_WRITER_CLOSED \
    {                     \
        .fd = -1          \
    }

/* What became of the rows, once the writer is closed. */
struct row_writer_end {
    uint64_t lost_rows; /* not in the file */
    int error;          /* why not: 0 or -errno; -ETIMEDOUT: the file does not respond */
    uint64_t cpu_ns;    /* that the process took */
};

/* Starts it. The process opens the file or creates it, and leaves what is in it. Fails if that
 * fails within a moment; later it costs the rows. */
int row_writer_open(struct row_writer *writer, const char *path, enum output_mode mode);

/* Now there will be rows: a file that is to be replaced is emptied. If this is never called, a
 * file that was created is removed again. */
void row_writer_begin(struct row_writer *writer);

/* Hands over a header, which is written only if the file is empty, or whole rows. Neither waits
 * long. */
void row_writer_add_header(struct row_writer *writer, const struct buffer *text);
void row_writer_add(struct row_writer *writer, const struct buffer *text, uint64_t rows);

/* Waits a moment until all that was handed over is written, or given up. False: it is not. */
bool row_writer_wait(struct row_writer *writer);

/* Waits until all is written, unless the file does not respond: not at all if it has not for a
 * second. Accepts a closed one. */
struct row_writer_end row_writer_close(struct row_writer *writer);

#endif
