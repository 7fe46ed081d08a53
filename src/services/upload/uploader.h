/* SPDX-License-Identifier: Apache-2.0 */
/*
 * uploader.h - uploads the samples of a spool: registers the run, sends batches, and finishes
 * the run. With a service of push.h, runs are neither registered nor finished.
 *
 * A failed step can be repeated later and continues where it stopped. The errors are in
 * sentinel.h.
 */
#pragma once

#include <stdbool.h>

#include "services/upload/push.h"
#include "services/upload/sentinel.h"
#include "services/upload/spool.h"
#include "text/json_writer.h"

/* ---- one run ------------------------------------------------------------ */

struct uploader {
    struct sentinel api; /* api.http is owned; NULL before the first request */
    const char *service; /* service of the spools; NULL or empty: Sentinel */
    /* Adds members about this machine to the description of a run. NULL: none. */
    void (*add_machine)(struct json_writer *json);
    /* Called before each batch; if it returns true, the upload stops with -ECANCELED. NULL:
     * never stop. */
    bool (*is_hurried)(void *data);
    void *data;
    struct s3_credentials credentials; /* for the run `credentials_of` */
    char credentials_of[sizeof(((struct sentinel_run *)0)->id)];
    struct push_state push;
};

void uploader_done(struct uploader *uploader);

/* Registers the run, unless it is registered already. */
int uploader_register(struct uploader *uploader, struct spool *spool, struct spoor_error *err);

/* Sends all unsent rows. */
int uploader_send(struct uploader *uploader, struct spool *spool, struct spoor_error *err);

/* Sends the remaining rows, then reports the end of the run. If nothing was sent before, the
 * rows are part of the report, unless there are too many. Afterwards the spool may be
 * removed. The response is added to `answer`, unless it is NULL. */
int uploader_finish(struct uploader *uploader, struct spool *spool, struct buffer *answer,
                    struct spoor_error *err);

/* Adds a JSON value unchanged. */
void upload_add_value(struct json_writer *json, const char *key, const struct json_t *value);

/* Adds the URI of a batch: "s3://BUCKET/PREFIX/000007.csv.gz". */
int uploader_add_uri(const struct spool *spool, uint64_t number, struct buffer *out);

/* ---- runs that are kept ------------------------------------------------- */

struct kept_report {
    uint64_t sent_runs, sent_rows;
    uint64_t kept_runs, kept_rows; /* runs and rows that were not sent */
    uint64_t busy_runs;            /* still running, or uploaded by another process */
    struct spoor_error err;        /* the first failure; err.code is 0 if there was none */
};

/* Uploads the kept runs until the network fails or is_hurried() returns true. Skips spools
 * for another service or URL. 0, or -errno if the spools cannot be listed. */
int kept_runs_send(struct uploader *uploader, struct kept_report *ret);

/* ---- the process that uploads -------------------------------------------
 *
 * The process is a hidden child (base/hidden_child.h) with the name of an agent: it belongs to
 * no job, has none of our descriptors open, and ends when we do. Only this process loads
 * libcurl. The run never waits for it, except for a short time when the run ends.
 */

struct upload_process {
    char path[SPOOL_PATH_SIZE]; /* directory of the spool */
    struct spool_file rows;     /* file that the tracker writes the rows to */
    uint64_t wait_ns;
    int run_fd;
    int fd;    /* socket to the process */
    pid_t pid; /* 0: not started */
};

/* The arguments of upload_process_start(), which must be called before other threads exist.
 * `metadata` is a JSON object that describes the run; `has_short_keys`: name objects like
 * the Python package; `add_machine` as in struct uploader. */
struct upload_order {
    const struct upload_settings *settings;
    const char *service; /* as in struct uploader; for its settings see push.h */
    const struct buffer *metadata;
    bool has_short_keys;
    void (*add_machine)(struct json_writer *json);
};

int upload_process_start(const struct upload_order *order, struct upload_process *ret,
                         struct spoor_error *err);

/* Called when the run has begun: rows are written from then on. */
void upload_process_begin(const struct upload_process *process);

/* Called if there is no run after all: removes the spool. */
void upload_process_cancel(struct upload_process *process);

/* The result of an upload. */
struct upload_result {
    bool is_complete; /* the service has all rows, except dropped ones */
    uint64_t kept_rows;
    uint64_t dropped_rows;
    struct spoor_error err; /* why the upload is not complete */
    struct buffer answer;   /* response of the service; empty: none; owned */
};

/* Called when the run has ended and all rows are written: the process sends the rest. */
void upload_process_finish(const struct upload_process *process, int exit_code,
                           bool has_failed);

/* Calls upload_process_finish(), if the caller has not, then waits for the result as long as
 * the settings allow. Unsent rows stay in the spool. The caller calls
 * buffer_done(&ret->answer). Without a process, the result is complete and empty. */
void upload_process_end(struct upload_process *process, int exit_code, bool has_failed,
                        struct upload_result *ret);
