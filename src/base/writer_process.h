/* SPDX-License-Identifier: Apache-2.0 */
/*
 * writer_process.h - writes to a file in a separate process.
 *
 * A disk may stall, and so may the reader of a pipe. A thread that waits for a frozen file
 * system cannot be interrupted and keeps its whole process from ending. Files that grow during
 * a run are therefore written by a hidden child (hidden_child.h), which is left behind if
 * necessary. It receives records through shared memory and carries them out in order. Records
 * for which there is no room are dropped, and their rows are counted.
 *
 * The child has the name of an agent, so it belongs to no job. When this process ends, so does
 * the child, after it has carried out all records.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "spoor/spoor.h"

/* Functions that the child calls. Each returns 0 or -errno and describes the failure in `err`,
 * which may be NULL. Only system calls are allowed if the program may have had other threads
 * when the child was started. `bytes` are not aligned. */
struct writer_target {
    int (*carry_out)(void *data, unsigned kind, const void *bytes, size_t size,
                     struct spoor_error *err);
    int (*end)(void *data, struct spoor_error *err); /* called after the last record */
    void *data;
    int output_fd; /* kept open for the child, as its descriptor 1; 0: none */
    /* The output is a pipe or the like. No record waits for room, and a child that stalls at
     * the end is killed: its unwritten records are lost. */
    bool has_reader;
};

/* The child's descriptor on which poll() reports POLLRDHUP when no more records will come. */
enum { WRITER_END_FD = 0 };

struct writer_queue;

/* All zero: closed. */
struct writer_process {
    pid_t pid;       /* 0: there is no child */
    int fd;          /* wakes the child; reads end of file when the child has ended */
    bool has_reader; /* copied from the target */
    struct writer_queue *queue; /* shared with the child */
    uint64_t trimmed_at;        /* bytes put when unused memory was last freed */
    uint64_t given_rows;
    uint64_t dropped_rows;
};

/* How the child ended, and the rows that were lost. */
struct writer_end {
    uint64_t lost_rows; /* rows not written, unless the reader left */
    uint64_t cpu_ns;    /* CPU time of the child */
    /* The first failure: 0 or -errno. -ETIMEDOUT: the file does not respond; -ECHILD: the child was
     * killed; -EPIPE: the reader has left. */
    int error;
};

/* Starts the child. 0 or -errno. */
int writer_process_start(struct writer_process *process, const struct writer_target *target);

/* Called by the child while a record takes long, to show that it has not stalled. */
void writer_process_note_progress(const struct writer_process *process);

/* Hands over a record of `rows` rows. Waits briefly for room, if at all. Accepts a closed
 * process. */
void writer_process_put(struct writer_process *process, unsigned kind, uint64_t rows,
                        const void *bytes, size_t size);

/* Waits until all records are written or given up. False: a record takes longer than
 * `most_ns`, the child was killed, or the machine is too busy to let it run within 10 s. */
bool writer_process_wait(const struct writer_process *process, uint64_t most_ns);

/* Returns the first failure so far: 0 or -errno with its message. */
int writer_process_error(const struct writer_process *process, struct spoor_error *err);

/* Waits until everything is written, but not for a file that has not responded for a second:
 * then the child is left behind or, if the target has a reader, killed. `err`, which may be
 * NULL, gets the first failure, if any. Accepts a closed process. */
struct writer_end writer_process_close(struct writer_process *process, struct spoor_error *err);

/* Returns why rows were lost, for a message. */
const char *writer_end_reason(const struct writer_end *end);
