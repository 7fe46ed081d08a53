/* SPDX-License-Identifier: Apache-2.0 */
/*
 * uploader.h - uploads the samples of one spool: registers the run, sends batches, says that the run
 * is over.
 *
 * A step that fails can be repeated later: it goes on where it was. Errors are those of sentinel.h
 * and s3.h.
 */
#ifndef SERVICES_UPLOAD_UPLOADER_H
#define SERVICES_UPLOAD_UPLOADER_H

#include <stdbool.h>

#include "services/upload/sentinel.h"
#include "services/upload/spool.h"
#include "services/upload/upload_settings.h"
#include "text/json_writer.h"

struct uploader {
    const struct upload_settings *settings;
    /* Adds members about this machine to the description of a run. NULL: none. */
    void (*add_machine)(struct json_writer *json);
    /* Called after each request that succeeded. NULL: none. */
    void (*progressed)(void *data);
    /* Whether to leave the rest for later; asked before each batch, which then fails with -ECANCELED.
     * NULL: never. */
    bool (*is_hurried)(void *data);
    void *data;
    uint64_t timeout_ms;               /* of a request */
    struct http *http;                 /* owned; NULL until the first request */
    struct s3_credentials credentials; /* of `credentials_of` */
    char credentials_of[sizeof(((struct sentinel_run *)0)->id)];
};

void uploader_done(struct uploader *uploader);

/* Once; does nothing if the run is registered. */
int uploader_register(struct uploader *uploader, struct spool *spool, struct spoor_error *err);

/* Sends all rows that wait. */
int uploader_send(struct uploader *uploader, struct spool *spool, struct spoor_error *err);

/* The run is over: sends the rest and says so. If nothing was sent before, the rows are part of that
 * message. Then the spool may be removed. The answer is added to `answer`, unless that is NULL. */
int uploader_finish(struct uploader *uploader, struct spool *spool, struct buffer *answer,
                    struct spoor_error *err);

/* Adds the members run_id, data_uris and result: the answer if the service has finished the run, else
 * null. */
void uploader_add_summary(const struct spool *spool, const struct buffer *answer,
                          struct json_writer *json);

/* Adds the name of a batch: "s3://BUCKET/PREFIX/000007.csv.gz". */
int uploader_add_uri(const struct spool *spool, uint64_t number, struct buffer *out);

#endif
