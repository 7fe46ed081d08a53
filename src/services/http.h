/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http.h - requests over HTTP and HTTPS, made by libcurl.
 *
 * libcurl is loaded by the first http_open(), not at the start of a program: loading it takes
 * longer than everything else that `spoor run` does before the job starts. Part of the program,
 * not of the library.
 *
 * A struct http is for one thread. It keeps connections open between requests.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/environment.h"
#include "spoor/spoor.h"
#include "text/buffer.h"

struct http;

/* The maximum size of a response body. */
enum { HTTP_BODY_MAX = 16 << 20 };

/* Signs a request with AWS Signature Version 4 for the service S3. */
struct http_signature {
    const char *access_key, *secret_key;
    const char *session_token; /* NULL: the credentials have none */
    const char *region;
};

struct http_request {
    const char *method;         /* NULL: GET */
    const char *url;            /* http:// or https:// */
    const char *const *headers; /* "Name: value", NULL-terminated; NULL: none */
    const void *body;           /* NULL: none */
    size_t body_length;
    /* NULL: not signed. A signed request follows no redirects: the session token is for one
     * server. */
    const struct http_signature *signature;
    uint64_t timeout_ms; /* limit for the whole request; not 0 */
    /* Use no proxy and follow no redirects: for services of the machine itself, such as cloud
     * metadata. */
    bool is_local;
    bool has_secrets;          /* headers contain secrets: follow no redirects */
    const char *wanted_header; /* name of a response header to return; NULL: none */
};

/* A zeroed struct is empty; it can be reused for several requests. */
struct http_response {
    int status;         /* 200 */
    struct buffer body; /* body.text is not NULL after a success */
    char
        header[256]; /* value of the requested header; empty: it was missing, or does not fit */
};

void http_response_done(struct http_response *response);

/* Creates a client. -ENOSYS: libcurl is not installed. The caller calls http_close(). */
int http_open(struct http **ret, struct spoor_error *err);

/* Accepts NULL; always returns NULL. */
struct http *http_close(struct http *http);

/* Sends a request and waits for the response. Returns 0 for a response of any status;
 * -ETIMEDOUT; -ECONNREFUSED (also if the host cannot be found or reached); -EFBIG: the
 * response is longer than HTTP_BODY_MAX; -EINVAL: invalid URL or signature; -ENOMEM; -EIO:
 * anything else. */
int http_send(struct http *http, const struct http_request *request, struct http_response *ret,
              struct spoor_error *err);

/* Reads a time limit from a variable: `least` to 60 seconds. *ret_ms is unchanged if it is not set. */
int http_timeout_read(environment_get *get, const char *variable, double least,
                      uint64_t *ret_ms, struct spoor_error *err);

/* Returns whether a status means success: 200 to 299. */
static inline bool http_is_success(int status)
{
    return status >= 200 && status < 300;
}
