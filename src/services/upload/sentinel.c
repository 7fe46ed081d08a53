/* SPDX-License-Identifier: Apache-2.0 */
#include "services/upload/sentinel.h"

#include <ctype.h>
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/compiler.h"
#include "base/error.h"

/* ---- answers ---------------------------------------------------------------- */

static int refuse_answer(struct spoor_error *err, const char *what)
{
    return error_set(err, EPROTO, "the answer of the upload service has no valid %s", what);
}

/* Copies a text; false: it is missing, empty or too long. */
static bool copy_text(const json_t *object, const char *key, char *buf, size_t size)
{
    const char *text = json_string_value(json_object_get(object, key));
    size_t length = text ? strlen(text) : 0;

    if (length == 0 || length >= size)
        return false;
    memcpy(buf, text, length + 1);
    return true;
}

bool sentinel_is_run_id(const char *text)
{
    for (const char *c = text; *c != '\0'; c++) {
        if (!isalnum((unsigned char)*c) && !strchr("-._", *c))
            return false;
    }
    return *text != '\0' && *text != '.';
}

static bool read_id(const json_t *value, char *buf, size_t size)
{
    int n =
        json_is_integer(value)
            ? snprintf(buf, size, "%lld", (long long)json_integer_value(value))
            : snprintf(buf, size, "%s", json_is_string(value) ? json_string_value(value) : "");

    return n > 0 && (size_t)n < size && sentinel_is_run_id(buf);
}

int sentinel_parse_run(const struct buffer *answer, struct sentinel_run *ret,
                       struct spoor_error *err)
{
    json_auto_t *document = json_loadb(answer->text, answer->length, 0, NULL);
    struct sentinel_run run;

    if (!read_id(json_object_get(document, "run_id"), run.id, sizeof(run.id)))
        return refuse_answer(err, "run_id");
    if (!copy_text(document, "upload_uri_prefix", run.uri_prefix, sizeof(run.uri_prefix)))
        return refuse_answer(err, "upload_uri_prefix");
    *ret = run;
    return 0;
}

/* "2026-03-14T09:26:53Z", also with decimals, "+00:00" or without a time zone, which is UTC. */
static double parse_expiry(const char *text)
{
    size_t length = text ? strlen(text) : 0;
    char date[64];
    double seconds;

    if (length > 6 && strcmp(text + length - 6, "+00:00") == 0)
        length -= 6;
    else if (length > 0 && text[length - 1] == 'Z')
        length--;
    if (length == 0 || length + 2 > sizeof(date))
        return (double)INFINITY;
    (void)snprintf(date, sizeof(date), "%.*sZ", (int)length, text);
    return clock_parse(date, &seconds) < 0 ? (double)INFINITY : seconds;
}

int sentinel_parse_credentials(const struct buffer *answer, struct s3_credentials *ret,
                               struct spoor_error *err)
{
    json_auto_t *document = json_loadb(answer->text, answer->length, 0, NULL);
    const json_t *object = json_object_get(document, "upload_credentials");
    const json_t *expiry = json_object_get(object, "expires_at");
    struct s3_credentials found = { 0 };

    if (!copy_text(object, "access_key", found.access_key, sizeof(found.access_key)) ||
        !copy_text(object, "secret_key", found.secret_key, sizeof(found.secret_key)))
        return refuse_answer(err, "upload_credentials");
    (void)copy_text(object, "session_token", found.session_token, sizeof(found.session_token));
    (void)copy_text(object, "region", found.region, sizeof(found.region));
    if (!expiry)
        expiry = json_object_get(object, "expiration");
    found.expires_at = parse_expiry(json_string_value(expiry));
    *ret = found;
    return 0;
}

/* ---- requests --------------------------------------------------------------- */

/* Whether the same request may succeed later. */
static bool is_for_now(int status)
{
    return status >= 500 || status == 408 || status == 425 || status == 429;
}

/* The service explains refusals in its answer; as much of it as a message has room for. */
static int check_status(const char *url, const struct http_response *response,
                        struct spoor_error *err)
{
    if (http_is_success(response->status))
        return 0;
    return error_set(err, is_for_now(response->status) ? EIO : EPERM,
                     "%.200s: HTTP status %d: %.150s", url, response->status,
                     response->body.text);
}

/* `run_id` and `action` NULL: of no run yet. `body` NULL: none. */
static int post(const struct sentinel *sentinel, const char *run_id, const char *action,
                const struct buffer *body, struct http_response *ret, struct spoor_error *err)
{
    CLEANUP(buffer_done) struct buffer url = { 0 };
    CLEANUP(buffer_done) struct buffer authorization = { 0 };
    const char *base = sentinel->url, *token = sentinel->token;
    int r;

    buffer_format(&url, "%s/runs", base);
    if (run_id)
        buffer_format(&url, "/%s/%s", run_id, action);
    buffer_format(&authorization, "Authorization: Bearer %s", token);
    if (buffer_error(&url) < 0 || buffer_error(&authorization) < 0)
        return error_set(err, ENOMEM, "out of memory");
    {
        const char *const headers[] = { authorization.text, "Content-Type: application/json",
                                        "Accept: application/json", NULL };
        struct http_request request = { .method = "POST",
                                        .url = url.text,
                                        .headers = headers,
                                        .body = body ? body->text : "",
                                        .body_length = body ? body->length : 0,
                                        .timeout_ms = sentinel->timeout_ms };

        r = http_send(sentinel->http, &request, ret, err);
    }
    return r < 0 ? r : check_status(url.text, ret, err);
}

int sentinel_register(const struct sentinel *sentinel, const struct buffer *description,
                      struct sentinel_run *ret_run, struct s3_credentials *ret_credentials,
                      struct spoor_error *err)
{
    CLEANUP(http_response_done) struct http_response response = { 0 };
    struct sentinel_run run;
    int r = post(sentinel, NULL, NULL, description, &response, err);

    if (r == 0)
        r = sentinel_parse_run(&response.body, &run, err);
    if (r == 0)
        r = sentinel_parse_credentials(&response.body, ret_credentials, err);
    if (r == 0)
        *ret_run = run;
    return r;
}

int sentinel_refresh(const struct sentinel *sentinel, const char *run_id,
                     struct s3_credentials *ret, struct spoor_error *err)
{
    CLEANUP(http_response_done) struct http_response response = { 0 };
    int r = post(sentinel, run_id, "refresh-credentials", NULL, &response, err);

    return r < 0 ? r : sentinel_parse_credentials(&response.body, ret, err);
}

int sentinel_finish(const struct sentinel *sentinel, const char *run_id,
                    const struct buffer *end, struct buffer *ret, struct spoor_error *err)
{
    CLEANUP(http_response_done) struct http_response response = { 0 };
    int r = post(sentinel, run_id, "finish", end, &response, err);

    if (response.status == 409) /* an earlier request arrived, and its answer was lost */
        r = 0;
    if (r == 0)
        buffer_add(ret, response.body.text, response.body.length);
    return r < 0 ? r : buffer_error(ret);
}
