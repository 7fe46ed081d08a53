/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sentinel.h - the API of Sentinel, the service that collects the samples of runs.
 *
 *     POST /runs                           registers a run: where to upload, and credentials
 *     POST /runs/ID/refresh-credentials    new credentials
 *     POST /runs/ID/finish                 the run is over
 *
 * Requests return 0; -EPERM: the service refuses, and will again; -EPROTO: its response is malformed; -EIO:
 * it cannot respond now; or as http_send().
 */
#ifndef SERVICES_UPLOAD_SENTINEL_H
#define SERVICES_UPLOAD_SENTINEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/environment.h"
#include "services/http.h"
#include "spoor/spoor.h"
#include "text/buffer.h"

/* ---- compression -------------------------------------------------------- */

/* Adds the compressed bytes to `out`. 0 or -ENOMEM. */
int gzip_add(const char *bytes, size_t size, struct buffer *out);

/* ---- S3 -----------------------------------------------------------------
 *
 * If the environment variable SPOOR_S3_URL is set, objects go to $SPOOR_S3_URL/BUCKET/KEY instead.
 */

enum { S3_REGION_SIZE = 64 };

struct s3_credentials {
    char access_key[256];
    char secret_key[256];
    char session_token[4096];    /* empty: there is none */
    char region[S3_REGION_SIZE]; /* region of the bucket; empty: unknown */
    double expires_at;           /* seconds since 1970; INFINITY: unknown */
};

/* The URL of an object; `uri` is "s3://BUCKET/KEY". `base`: instead of Amazon's; NULL or empty: none.
 * -EINVAL: it is not such a URI. */
int s3_add_url(const char *uri, const char *region, const char *base, struct buffer *out);

/* Uploads an object. If the credentials have no region, or the wrong one, it is set. -EACCES: the
 * credentials are not accepted, and may have expired; -EIO: a status other than success; or as
 * http_send(). */
int s3_put(struct http *http, const char *uri, const struct buffer *body,
           struct s3_credentials *credentials, uint64_t timeout_ms, struct spoor_error *err);

/* ---- settings -----------------------------------------------------------
 *
 *     SENTINEL_API_TOKEN          uploads are on if it is set and not empty
 *     SENTINEL_API_URL            of another service
 *     TRACKER_UPLOAD_INTERVAL     seconds between batches, default 60
 *     TRACKER_UPLOAD_DISK_LIMIT   MB of samples that may wait on disk, default 100
 *     TRACKER_UPLOAD_WAIT         seconds that the end of a run waits for the last samples to be
 *                                 sent, default 5
 */

struct upload_settings {
    char token[4096]; /* empty: nothing is uploaded */
    char url[1024];   /* without a slash at the end */
    uint64_t interval_ns;
    uint64_t disk_limit_bytes;
    uint64_t wait_ns;
};

/* Fails with a message if a variable is not valid; the setting has its default then. */
int upload_settings_read(environment_get *get, struct upload_settings *ret,
                         struct spoor_error *err);

/* Parse single values from other sources. -EINVAL with a message; `settings` is untouched then. */
int upload_settings_set_token(struct upload_settings *settings, const char *token,
                              struct spoor_error *err);
int upload_settings_set_url(struct upload_settings *settings, const char *url,
                            struct spoor_error *err);
int upload_settings_set_interval(struct upload_settings *settings, double seconds,
                                 struct spoor_error *err);

/* ---- the Sentinel service ----------------------------------------------- */

struct json_t;

struct sentinel {
    struct http *http;
    const char *url; /* URL of the service, without a slash at the end */
    const char *token;
    uint64_t timeout_ms;
};

/* Borrows from the settings. */
struct sentinel sentinel_of(const struct upload_settings *settings);

struct sentinel_run {
    char id[128]; /* letters, digits, '-', '.' and '_' */
    char uri_prefix[1024];
};

/* An ID becomes a part of URLs and of names of files. */
bool sentinel_is_run_id(const char *text);

/* `description` is a JSON object. */
int sentinel_register(const struct sentinel *sentinel, const struct buffer *description,
                      struct sentinel_run *ret_run, struct s3_credentials *ret_credentials,
                      struct spoor_error *err);

int sentinel_refresh(const struct sentinel *sentinel, const char *run_id,
                     struct s3_credentials *ret, struct spoor_error *err);

/* `end` is a JSON object; the response is added to `ret`. */
int sentinel_finish(const struct sentinel *sentinel, const char *run_id,
                    const struct buffer *end, struct buffer *ret, struct spoor_error *err);

/* Copies a text of a JSON object; false: it is missing, empty or too long, and nothing is copied. */
bool sentinel_copy_text(const struct json_t *object, const char *key, char *buf, size_t size);

/* Parse the responses. -EPROTO with a message if one is invalid. */
int sentinel_parse_run(const struct buffer *answer, struct sentinel_run *ret,
                       struct spoor_error *err);
int sentinel_parse_credentials(const struct buffer *answer, struct s3_credentials *ret,
                               struct spoor_error *err);

#endif
