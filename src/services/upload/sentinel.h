/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sentinel.h - the API of Sentinel, the service that collects the samples of runs.
 *
 *     POST /runs                           registers a run: where to upload, and credentials
 *     POST /runs/ID/refresh-credentials    new credentials
 *     POST /runs/ID/finish                 the run is over
 *
 * Requests return 0; -EPERM: the service refuses, and will again; -EPROTO: its answer makes no sense;
 * -EIO: it cannot answer now; or as http_send().
 */
#ifndef SERVICES_UPLOAD_SENTINEL_H
#define SERVICES_UPLOAD_SENTINEL_H

#include <stdbool.h>

#include "services/http.h"
#include "services/upload/s3.h"
#include "text/buffer.h"

struct sentinel {
    struct http *http;
    const char *url; /* of the service, without a slash at the end */
    const char *token;
    uint64_t timeout_ms;
};

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

/* `end` is a JSON object; the answer, another one, is added to `ret`. */
int sentinel_finish(const struct sentinel *sentinel, const char *run_id,
                    const struct buffer *end, struct buffer *ret, struct spoor_error *err);

/* The answers. -EPROTO, with a message. */
int sentinel_parse_run(const struct buffer *answer, struct sentinel_run *ret,
                       struct spoor_error *err);
int sentinel_parse_credentials(const struct buffer *answer, struct s3_credentials *ret,
                               struct spoor_error *err);

#endif
