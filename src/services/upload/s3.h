/* SPDX-License-Identifier: Apache-2.0 */
/*
 * s3.h - uploads objects to Amazon S3 with temporary credentials.
 *
 * If the environment variable SPOOR_S3_URL is set, objects go to $SPOOR_S3_URL/BUCKET/KEY instead.
 */
#ifndef SERVICES_UPLOAD_S3_H
#define SERVICES_UPLOAD_S3_H

#include "services/http.h"
#include "text/buffer.h"

enum { S3_REGION_SIZE = 64 };

struct s3_credentials {
    char access_key[256];
    char secret_key[256];
    char session_token[4096];    /* empty: there is none */
    char region[S3_REGION_SIZE]; /* of the bucket; empty: unknown */
    double expires_at;           /* seconds since 1970; INFINITY: unknown */
};

/* The URL of an object; `uri` is "s3://BUCKET/KEY". `base`: instead of Amazon's; NULL or empty: none.
 * -EINVAL: it is not such a URI. */
int s3_add_url(const char *uri, const char *region, const char *base, struct buffer *out);

/* Uploads an object. If the credentials have no region, or the wrong one, it is set. -EACCES: the
 * credentials are not accepted, and may have expired; -EIO: another answer than success; or as
 * http_send(). */
int s3_put(struct http *http, const char *uri, const struct buffer *body,
           struct s3_credentials *credentials, uint64_t timeout_ms, struct spoor_error *err);

#endif
