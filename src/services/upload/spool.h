/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spool.h - the samples of a run on disk, from when they are taken until they are uploaded: to Sentinel and S3,
 * or to a service of push.h.
 *
 * Each run has a directory under $XDG_STATE_HOME/spoor/uploads (~/.local/state/spoor/uploads, or
 * below $TMPDIR if there is no home):
 *
 *     run.json     the description of the run for the service; locked (flock) by the tracker while the
 *                  run goes on
 *     rows.csv     a header and a row per sample; for a service of push.h rows.jsonl, without a header. Sent
 *                  rows become a hole in the file.
 *     state.json   how far the upload is; replaced as a whole after each step
 *     end.json     how the run ended. Until then it is end.space, which takes up as much on the disk:
 *                  the end can be written even if the disk is full.
 *
 * The uploading process holds a lock on the directory, so that no row is sent twice. An uploader may be
 * killed at any moment: a batch that it had sent but not noted is sent again under the same name. Neither
 * token nor credentials are stored.
 */
#ifndef SERVICES_UPLOAD_SPOOL_H
#define SERVICES_UPLOAD_SPOOL_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "services/upload/sentinel.h"
#include "text/buffer.h"

#define SPOOL_RUN "run.json"
#define SPOOL_END "end.json"

struct json_t;

struct spool {
    char path[PATH_MAX];
    int lock_fd; /* descriptor of the directory; -1: closed */
    /* run.json */
    char api_url[1024];
    char service[16];    /* a service of push.h; empty: Sentinel */
    bool has_short_keys; /* objects are named as by the Python package */
    /* state.json */
    struct sentinel_run run;     /* its id is empty until it is registered */
    char region[S3_REGION_SIZE]; /* empty: unknown */
    uint64_t offset;             /* offset in rows.csv: rows before it were sent or dropped */
    uint64_t batches;            /* number of batches sent */
    uint64_t dropped_rows;
};

#define SPOOL_CLOSED  \
    {                 \
        .lock_fd = -1 \
    }

/* The file of the rows. */
static inline const char *spool_rows(const struct spool *spool)
{
    return *spool->service ? "rows.jsonl" : "rows.csv";
}

/* Creates a spool and locks it. On success, *ret_run_fd is run.json, locked: the run lasts until it is
 * closed. */
int spool_create(const struct buffer *description, struct spool *ret, int *ret_run_fd,
                 struct spoor_error *err);

/* Opens a spool and locks it. -EBUSY: another process uploads it; -ENODATA: there was no run in it,
 * and it was removed. */
int spool_open(const char *path, struct spool *ret);

/* Closes a spool; its lock ends with the last descriptor. Accepts a closed one. */
void spool_close(struct spool *spool);

/* Deletes its files, and closes it. */
void spool_remove(struct spool *spool);

/* Whether the tracker has ended the run, or was killed. */
bool spool_run_is_over(const struct spool *spool);

/* Reads a file of JSON of the spool. *ret is to be freed with json_decref(). */
int spool_load(const struct spool *spool, const char *name, struct json_t **ret);

/* Writes end.json, once. */
int spool_write_end(const struct spool *spool, const struct buffer *text);

/* Replaces state.json. */
int spool_save(const struct spool *spool);

/* Calls `each` with the path of every spool, the oldest or the newest first. 0, or -errno: they cannot be
 * found. */
int spool_for_each(bool is_newest_first, void (*each)(const char *path, void *data),
                   void *data);

/* A part of the rows. */
struct spool_batch {
    struct buffer csv; /* the header, if any, and whole rows */
    uint64_t rows;
    uint64_t end; /* the new offset */
};

/* Returns the next rows to send, `max_bytes` at most. An empty batch is not an error. The caller ends
 * `ret->csv` with buffer_done(). */
int spool_read_batch(const struct spool *spool, size_t max_bytes, struct spool_batch *ret);

/* Called when a batch was sent, except for refused rows: moves the offset, writes state.json, and frees disk
 * space. */
int spool_advance(struct spool *spool, uint64_t end, uint64_t refused_rows);

/* Returns the number and size of the unsent rows. */
int spool_count(const struct spool *spool, uint64_t *ret_rows, uint64_t *ret_bytes);

/* If more than `limit_bytes` are unsent, drops the oldest rows, a quarter of the limit at once, and
 * counts them. */
int spool_enforce_limit(struct spool *spool, uint64_t limit_bytes);

#endif
