/* SPDX-License-Identifier: Apache-2.0 */
/*
 * uploader.h - uploads the samples of one spool: registers the run, sends batches, and closes the run. A run for
 * a service of push.h is neither registered nor closed.
 *
 * A step that fails can be repeated later: it continues from there. Functions fail with the errors of sentinel.h.
 */
#ifndef SERVICES_UPLOAD_UPLOADER_H
#define SERVICES_UPLOAD_UPLOADER_H

#include <stdbool.h>

#include "services/upload/push.h"
#include "services/upload/sentinel.h"
#include "services/upload/spool.h"
#include "text/json_writer.h"

/* ---- one run ------------------------------------------------------------ */

struct uploader {
    struct sentinel api; /* its http is owned, and NULL until the first request */
    const char *service; /* service of the spools; NULL or empty: Sentinel */
    /* Adds members about this machine to the description of a run. NULL: none. */
    void (*add_machine)(struct json_writer *json);
    /* Whether to leave the rest for later; called before each batch, which then fails with -ECANCELED.
     * NULL: never. */
    bool (*is_hurried)(void *data);
    void *data;
    struct s3_credentials credentials; /* of `credentials_of` */
    char credentials_of[sizeof(((struct sentinel_run *)0)->id)];
    struct push_state push;
};

void uploader_done(struct uploader *uploader);

/* Registers the run; does nothing if it is registered. */
int uploader_register(struct uploader *uploader, struct spool *spool, struct spoor_error *err);

/* Sends all unsent rows. */
int uploader_send(struct uploader *uploader, struct spool *spool, struct spoor_error *err);

/* Closes the run: sends the rest and the end. If nothing was sent before, the rows are part of that
 * message. The spool may be removed after that. The response is added to `answer`, unless that is
 * NULL. */
int uploader_finish(struct uploader *uploader, struct spool *spool, struct buffer *answer,
                    struct spoor_error *err);

/* Adds a JSON value unchanged. */
void upload_add_value(struct json_writer *json, const char *key, const struct json_t *value);

/* Adds the name of a batch: "s3://BUCKET/PREFIX/000007.csv.gz". */
int uploader_add_uri(const struct spool *spool, uint64_t number, struct buffer *out);

/* ---- runs that are kept ------------------------------------------------- */

struct kept_report {
    uint64_t sent_runs, sent_rows;
    uint64_t kept_runs, kept_rows; /* runs and rows that were not sent */
    uint64_t busy_runs;            /* still going on, or uploaded by another process */
    struct spoor_error err;        /* the first failure; its code is 0 if there was none */
};

/* Uploads them, until the network fails or the uploader is hurried. Spools for another service are
 * skipped. 0, or -errno: they cannot be found. */
int kept_runs_send(struct uploader *uploader, struct kept_report *ret);

/* ---- the process that uploads -------------------------------------------
 *
 * The process is a hidden child (base/hidden_child.h) with the name of an agent: it belongs to no
 * job, has none of our descriptors open, and ends when we do. It alone loads libcurl. Neither the
 * start of the run nor the run waits for it; the end of the run waits for a short time.
 */

struct upload_process {
    char path[PATH_MAX];      /* directory of the spool */
    char rows_path[PATH_MAX]; /* file that the tracker writes the rows to */
    uint64_t wait_ns;
    int run_fd;
    int fd;    /* to the process */
    pid_t pid; /* 0: not started */
};

/* Starts the process. There must be no other threads yet. `metadata` is a JSON object that describes
 * the run; `has_short_keys`: objects are named as by the Python package. `add_machine` as in
 * uploader.h. */
struct upload_order {
    const struct upload_settings *settings;
    const char *service; /* as in struct uploader; its settings as in push.h */
    const struct buffer *metadata;
    bool has_short_keys;
    void (*add_machine)(struct json_writer *json);
};

int upload_process_start(const struct upload_order *order, struct upload_process *ret,
                         struct spoor_error *err);

/* Called when the run has begun: rows are written from now on. */
void upload_process_begin(const struct upload_process *process);

/* Called if there is no run after all. */
void upload_process_cancel(struct upload_process *process);

/* The result of an upload. */
struct upload_result {
    bool is_complete; /* the service has all rows, except dropped ones */
    uint64_t kept_rows;
    uint64_t dropped_rows;
    struct spoor_error err; /* why it is not complete */
    struct buffer answer;   /* response of the service; empty: none; owned */
};

/* Called when the run has ended and all rows are written: the process sends the rest. */
void upload_process_finish(const struct upload_process *process, int exit_code,
                           bool has_failed);

/* Does the same, if that was not called. Waits as long as the settings allow. Unsent rows stay in the spool. The caller
 * ends ret->answer with buffer_done(). Without a process, the result is complete and empty. */
void upload_process_end(struct upload_process *process, int exit_code, bool has_failed,
                        struct upload_result *ret);

#endif
