/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spool.h - keeps the samples of a run on disk until they are uploaded: to Sentinel and S3, or
 * to a service of push.h.
 *
 * Each run has a directory under $XDG_STATE_HOME/spoor/uploads (~/.local/state/spoor/uploads,
 * or below $TMPDIR if there is no home):
 *
 *     run.json     description of the run for the service; the tracker holds a lock (flock)
 *                  on it during the run
 *     rows.csv     a header and one row per sample. For a service of push.h: rows.jsonl,
 *                  without a header. Rows that were sent become a hole in the file.
 *     state.json   progress of the upload; replaced as a whole after each step
 *     end.json     how the run ended. Until then, end.space reserves its disk space, so that it
 *                  can be written even if the disk is full.
 *
 * The uploading process holds a lock on the directory, so that no row is sent twice. An
 * uploader may be killed at any moment: a batch that it had sent but not recorded is sent again
 * under the same name. Neither the token nor credentials are stored.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "services/upload/sentinel.h"
#include "text/buffer.h"

#define SPOOL_RUN "run.json"
#define SPOOL_END "end.json"

struct json_t;

/* Leaves room for the name of a file. */
enum { SPOOL_PATH_SIZE = PATH_MAX - 16 };

struct spool {
    char path[SPOOL_PATH_SIZE];
    int lock_fd; /* descriptor of the directory; -1: closed */
    /* run.json */
    char api_url[1024];
    char service[16];    /* a service of push.h; empty: Sentinel */
    bool has_short_keys; /* name objects like the Python package */
    /* state.json */
    struct sentinel_run run;     /* run.id is empty until the run is registered */
    char region[S3_REGION_SIZE]; /* empty: unknown */
    uint64_t offset;             /* offset in rows.csv: rows before it were sent or dropped */
    uint64_t batches;            /* number of batches sent */
    uint64_t dropped_rows;
};

#define SPOOL_CLOSED ((struct spool){ .lock_fd = -1 })

/* The path of a file of a spool. */
struct spool_file {
    char path[PATH_MAX];
};
struct spool_file spool_file(const struct spool *spool, const char *name);

/* Returns the name of the file with the rows. */
static inline const char *spool_rows(const struct spool *spool)
{
    return *spool->service ? "rows.jsonl" : "rows.csv";
}

/* Creates a spool and locks it. On success, *ret_run_fd is the locked run.json; the run
 * counts as running until it is closed. */
int spool_create(const struct buffer *description, struct spool *ret, int *ret_run_fd,
                 struct spoor_error *err);

/* Opens a spool and locks it. -EBUSY: another process has the lock; -ENODATA: the spool had no
 * run, and was removed. */
int spool_open(const char *path, struct spool *ret);

/* Closes a spool. The lock ends when its last descriptor is closed, a child's included.
 * Accepts a closed spool. */
void spool_close(struct spool *spool);

/* Deletes the spool and closes it. */
void spool_remove(struct spool *spool);

/* Returns whether the run has ended, or its tracker was killed. */
bool spool_run_is_over(const struct spool *spool);

/* Reads a JSON file of the spool. The caller frees *ret with json_decref(). */
int spool_load(const struct spool *spool, const char *name, struct json_t **ret);

/* Writes end.json; can be called once. */
int spool_write_end(const struct spool *spool, const struct buffer *text);

/* Replaces state.json. */
int spool_save(const struct spool *spool);

/* Calls `each` with the path of every spool, oldest or newest first. 0, or -errno if their
 * directory cannot be read. */
int spool_for_each(bool is_newest_first, void (*each)(const char *path, void *data),
                   void *data);

/* A part of the rows. */
struct spool_batch {
    struct buffer csv; /* the header, if any, and whole rows */
    uint64_t rows;
    uint64_t end; /* offset after these rows */
};

/* Reads the next rows to send, at most `max_bytes`. An empty batch is not an error. The
 * caller calls buffer_done(&ret->csv). */
int spool_read_batch(const struct spool *spool, size_t max_bytes, struct spool_batch *ret);

/* Called when a batch was sent or rejected; `refused_rows` count as dropped. Moves the
 * offset, writes state.json, and frees disk space. */
int spool_advance(struct spool *spool, uint64_t end, uint64_t refused_rows);

/* Returns the number and size of the unsent rows. */
int spool_count(const struct spool *spool, uint64_t *ret_rows, uint64_t *ret_bytes);

/* If more than `limit_bytes` are unsent, drops and counts the oldest rows, until three
 * quarters of the limit are left. */
int spool_enforce_limit(struct spool *spool, uint64_t limit_bytes);
