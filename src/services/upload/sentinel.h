/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sentinel.h - the API of Sentinel, the service that collects the samples of runs.
 *
 *     POST /runs                           registers a run; returns URI and credentials
 *     POST /runs/ID/refresh-credentials    new credentials
 *     POST /runs/ID/finish                 the run is over
 *
 * Requests return 0; -EPERM: the service rejects the request and always will; -EPROTO: the
 * response is malformed; -EIO: the service is unavailable, try later; or an error of
 * http_send().
 */
#pragma once

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
    char session_token[4096];    /* empty: none */
    char region[S3_REGION_SIZE]; /* region of the bucket; empty: unknown */
    double expires_at;           /* seconds since 1970; INFINITY: unknown */
};

/* Adds the URL of an object; `uri` is "s3://BUCKET/KEY". `base` replaces Amazon's URL,
 * unless it is NULL or empty. -EINVAL: not such a URI. */
int s3_add_url(const char *uri, const char *region, const char *base, struct buffer *out);

/* Uploads an object. If the region of the credentials is missing or wrong, finds and sets it.
 * -EACCES: the credentials are not accepted, and may have expired; -EPERM: the request is
 * rejected and always will be; -EIO: another status of failure; or an error of http_send(). */
int s3_put(struct http *http, const char *uri, const struct buffer *body,
           struct s3_credentials *credentials, uint64_t timeout_ms, struct spoor_error *err);

/* ---- settings -----------------------------------------------------------
 *
 *     SENTINEL_API_TOKEN          enables uploads, unless empty
 *     SENTINEL_API_URL            URL of another service
 *     TRACKER_UPLOAD_INTERVAL     seconds between batches, default 60
 *     TRACKER_UPLOAD_DISK_LIMIT   MB of samples that may wait on disk, default 100
 *     TRACKER_UPLOAD_WAIT         seconds to wait for the last samples to be sent when the run
 *                                 ends, default 5
 */

struct upload_settings {
    char token[4096]; /* empty: nothing is uploaded */
    char url[1024];   /* without a slash at the end */
    uint64_t interval_ns;
    uint64_t disk_limit_bytes;
    uint64_t wait_ns;
};

/* Reads the settings from the environment. Fails with a message if a variable is invalid; its
 * setting then has the default value. */
int upload_settings_read(environment_get *get, struct upload_settings *ret,
                         struct spoor_error *err);

/* Set single values from other sources. On failure (-EINVAL with a message) `settings` is
 * unchanged. */
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

/* Checks an ID, which becomes a part of URLs and file names. */
bool sentinel_is_run_id(const char *text);

/* Registers a run. `description` is a JSON object. */
int sentinel_register(const struct sentinel *sentinel, const struct buffer *description,
                      struct sentinel_run *ret_run, struct s3_credentials *ret_credentials,
                      struct spoor_error *err);

int sentinel_refresh(const struct sentinel *sentinel, const char *run_id,
                     struct s3_credentials *ret, struct spoor_error *err);

/* Reports the end of a run. `end` is a JSON object; the response is added to `ret`. */
int sentinel_finish(const struct sentinel *sentinel, const char *run_id,
                    const struct buffer *end, struct buffer *ret, struct spoor_error *err);

/* Copies a text member of a JSON object. False: it is missing, empty or too long; nothing is
 * copied. */
bool sentinel_copy_text(const struct json_t *object, const char *key, char *buf, size_t size);

/* Parse responses. -EPROTO, with a message: the response is invalid. */
int sentinel_parse_run(const struct buffer *answer, struct sentinel_run *ret,
                       struct spoor_error *err);
int sentinel_parse_credentials(const struct buffer *answer, struct s3_credentials *ret,
                               struct spoor_error *err);
