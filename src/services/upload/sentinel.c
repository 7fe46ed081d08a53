/* SPDX-License-Identifier: Apache-2.0 */
#include "services/upload/sentinel.h"

#include <ctype.h>
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "base/error.h"
#include "base/parse.h"
#include "text/escape.h"
#include "text/number.h"

/* ---- compression -------------------------------------------------------- */

/* Window bits (zlib.h): 15 is the largest window; 16 more selects a gzip header. */
enum { WINDOW_BITS = 15 + 16, MEMORY_LEVEL = 8 };

int gzip_add(const char *bytes, size_t size, struct buffer *out)
{
    z_stream stream = { .next_in = (unsigned char *)(uintptr_t)bytes, .avail_in = (uInt)size };
    unsigned char piece[16 << 10];
    int r;

    if (size > UINT32_MAX ||
        deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, WINDOW_BITS, MEMORY_LEVEL,
                     Z_DEFAULT_STRATEGY) != Z_OK)
        return -ENOMEM;
    do {
        stream.next_out = piece;
        stream.avail_out = sizeof(piece);
        r = deflate(&stream, Z_FINISH);
        buffer_add(out, (const char *)piece, sizeof(piece) - stream.avail_out);
    } while (r == Z_OK || r == Z_BUF_ERROR);
    (void)deflateEnd(&stream);
    return r == Z_STREAM_END && buffer_error(out) == 0 ? 0 : -ENOMEM;
}

/* ---- S3 ----------------------------------------------------------------- */

#define SCHEME "s3://"
#define REGION_HEADER "x-amz-bucket-region"
#define DEFAULT_REGION "eu-central-1"

enum { REGION_TIMEOUT_MS = 2000, REQUEST_TIMEOUT_MS = 30000 };

/* Checks the name of a bucket, a region or a run: no character can end the host of a URL. */
static bool is_name(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if (!isalnum((unsigned char)text[i]) && !strchr("-._", text[i]))
            return false;
    }
    return length > 0;
}

/* Adds the URL of a bucket, without a slash at the end. A name with dots becomes a part of
 * the path, because Amazon's wildcard certificate does not match it as a host. `region` may
 * be empty. */
static int add_bucket_url(const char *uri, const char *region, const char *base,
                          struct buffer *out)
{
    const char *dot = *region ? "." : "";
    const char *bucket = begins_with(uri, SCHEME) ? uri + strlen(SCHEME) : "";
    size_t length = strcspn(bucket, "/");
    int size = (int)length;

    if (!is_name(bucket, length))
        return -EINVAL;
    if (base && *base)
        buffer_format(out, "%s/%.*s", base, size, bucket);
    else if (memchr(bucket, '.', length))
        buffer_format(out, "https://s3%s%s.amazonaws.com/%.*s", dot, region, size, bucket);
    else
        buffer_format(out, "https://%.*s.s3%s%s.amazonaws.com", size, bucket, dot, region);
    return buffer_error(out);
}

int s3_add_url(const char *uri, const char *region, const char *base, struct buffer *out)
{
    int r = add_bucket_url(uri, region, base, out);
    const char *key = r < 0 ? NULL : strchr(uri + strlen(SCHEME), '/');

    if (r < 0)
        return r;
    if (!key || key[1] == '\0')
        return -EINVAL;
    escape_url_path(key, out);
    return buffer_error(out);
}

/* Stores the region that a response names. Returns whether it is another region than before. */
static bool learn_region(const struct http_response *response, char *region)
{
    if (!is_name(response->header, strlen(response->header)) ||
        strlen(response->header) >= S3_REGION_SIZE || strcmp(response->header, region) == 0)
        return false;
    (void)snprintf(region, S3_REGION_SIZE, "%s", response->header);
    return true;
}

/* Every response of a bucket names its region, even if access is denied. */
static void find_region(struct http *http, const char *uri, const char *base, char *region)
{
    CLEANUP(buffer_done) struct buffer url = { 0 };
    CLEANUP(http_response_done) struct http_response response = { 0 };
    struct http_request request = { .method = "HEAD",
                                    .timeout_ms = REGION_TIMEOUT_MS,
                                    .wanted_header = REGION_HEADER };

    if (add_bucket_url(uri, "", base, &url) == 0) {
        request.url = url.text;
        if (http_send(http, &request, &response, NULL) == 0)
            (void)learn_region(&response, region);
    }
    if (*region == '\0')
        (void)snprintf(region, S3_REGION_SIZE, "%s", DEFAULT_REGION);
}

static int check_response(const char *uri, const struct http_response *response,
                          struct spoor_error *err)
{
    int status = response->status;
    bool is_denied = status == 401 || status == 403 || strstr(response->body.text, "Expired");
    bool is_refused = status >= 400 && status < 500 && status != 408 && status != 429;

    if (http_is_success(status))
        return 0;
    return error_set(err,
                     is_denied    ? EACCES
                     : is_refused ? EPERM
                                  : EIO,
                     "%.200s: HTTP status %d", uri, status);
}

int s3_put(struct http *http, const char *uri, const struct buffer *body,
           struct s3_credentials *credentials, uint64_t timeout_ms, struct spoor_error *err)
{
    static const char *const headers[] = { "Content-Type: application/gzip", NULL };
    CLEANUP(http_response_done) struct http_response response = { 0 };
    const char *base = getenv("SPOOR_S3_URL");
    struct http_signature signature = {
        .access_key = credentials->access_key,
        .secret_key = credentials->secret_key,
        .session_token = *credentials->session_token ? credentials->session_token : NULL,
        .region = credentials->region,
    };

    if (*credentials->region == '\0')
        find_region(http, uri, base, credentials->region);
    for (int attempt = 0; attempt < 2; attempt++) {
        CLEANUP(buffer_done) struct buffer url = { 0 };
        struct http_request request = { .method = "PUT",
                                        .headers = headers,
                                        .body = body->text,
                                        .body_length = body->length,
                                        .signature = &signature,
                                        .timeout_ms = timeout_ms,
                                        .wanted_header = REGION_HEADER };
        int r = s3_add_url(uri, credentials->region, base, &url);

        if (r < 0)
            return error_set(err, r, "'%.200s' is not the address of an object in S3", uri);
        request.url = url.text;
        r = http_send(http, &request, &response, err);
        if (r < 0)
            return r;
        if (http_is_success(response.status) || !learn_region(&response, credentials->region))
            break;
    }
    return check_response(uri, &response, err);
}

/* ---- settings ----------------------------------------------------------- */

#define SENTINEL_DEFAULT_URL "https://api.sentinel.sparecores.net"

#define INTERVAL_MIN_SECONDS 0.1
#define INTERVAL_MAX_SECONDS 86400.0
#define LIMIT_MIN_MB 0.001
#define LIMIT_MAX_MB 1e6
#define WAIT_MAX_SECONDS 3600.0

/* No message contains the token. */
int upload_settings_set_token(struct upload_settings *settings, const char *token,
                              struct spoor_error *err)
{
    for (const char *c = token; *c != '\0'; c++) {
        if (*c <= ' ' || *c > '~')
            return error_set(err, EINVAL,
                             "SENTINEL_API_TOKEN is not a token: it has a blank or a "
                             "character that is not ASCII");
    }
    if (strlen(token) >= sizeof(settings->token))
        return error_set(err, EINVAL, "SENTINEL_API_TOKEN is longer than %zu characters",
                         sizeof(settings->token) - 1);
    (void)snprintf(settings->token, sizeof(settings->token), "%s", token);
    return 0;
}

int upload_settings_set_url(struct upload_settings *settings, const char *url,
                            struct spoor_error *err)
{
    size_t length = strlen(url);

    while (length > 0 && url[length - 1] == '/')
        length--;
    if ((strncmp(url, "https://", 8) != 0 && strncmp(url, "http://", 7) != 0) ||
        length >= sizeof(settings->url))
        return error_set(err, EINVAL,
                         "invalid SENTINEL_API_URL '%.200s': expected https://HOST", url);
    (void)snprintf(settings->url, sizeof(settings->url), "%.*s", (int)length, url);
    return 0;
}

int upload_settings_set_interval(struct upload_settings *settings, double seconds,
                                 struct spoor_error *err)
{
    if (!(seconds >= INTERVAL_MIN_SECONDS && seconds <= INTERVAL_MAX_SECONDS))
        return error_set(err, EINVAL, "invalid upload interval: expected 0.1 to 86400 seconds");
    settings->interval_ns = (uint64_t)llround(seconds * 1e9);
    return 0;
}

static int read_number(environment_get *get, const char *name, double min, double max,
                       double *ret, struct spoor_error *err)
{
    const char *text = get(name);
    double value;

    if (!text || *text == '\0')
        return 0;
    if (decimal_parse(text, &value) < 0 || !(value >= min && value <= max))
        return error_set(err, EINVAL, "invalid %s '%.100s': expected %s to %s", name, text,
                         decimal_number(min).text, decimal_number(max).text);
    *ret = value;
    return 0;
}

int upload_settings_read(environment_get *get, struct upload_settings *ret,
                         struct spoor_error *err)
{
    const char *token = get("SENTINEL_API_TOKEN"), *url = get("SENTINEL_API_URL");
    double seconds = 60, limit_mb = 100, wait_seconds = 5;
    int r;

    *ret = (struct upload_settings){ .url = SENTINEL_DEFAULT_URL };
    r = read_number(get, "TRACKER_UPLOAD_INTERVAL", INTERVAL_MIN_SECONDS, INTERVAL_MAX_SECONDS,
                    &seconds, err);
    if (r == 0)
        r = read_number(get, "TRACKER_UPLOAD_DISK_LIMIT", LIMIT_MIN_MB, LIMIT_MAX_MB, &limit_mb,
                        err);
    if (r == 0)
        r = read_number(get, "TRACKER_UPLOAD_WAIT", 0, WAIT_MAX_SECONDS, &wait_seconds, err);
    ret->interval_ns = (uint64_t)llround(seconds * 1e9);
    ret->wait_ns = (uint64_t)llround(wait_seconds * 1e9);
    ret->disk_limit_bytes = (uint64_t)llround(limit_mb * 1e6);
    if (r == 0 && url && *url != '\0')
        r = upload_settings_set_url(ret, url, err);
    if (r == 0 && token)
        r = upload_settings_set_token(ret, token, err);
    return r;
}

/* ---- responses ---------------------------------------------------------------- */

static int refuse_answer(struct spoor_error *err, const char *what)
{
    return error_set(err, EPROTO, "the answer of the upload service has no valid %s", what);
}

bool sentinel_copy_text(const json_t *object, const char *key, char *buf, size_t size)
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
    return is_name(text, strlen(text)) && *text != '.';
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
    if (!sentinel_copy_text(document, "upload_uri_prefix", run.uri_prefix,
                            sizeof(run.uri_prefix)))
        return refuse_answer(err, "upload_uri_prefix");
    *ret = run;
    return 0;
}

/* Parses "2026-03-14T09:26:53Z", also with decimals, or with "+00:00" or no time zone (UTC). */
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

    if (!sentinel_copy_text(object, "access_key", found.access_key, sizeof(found.access_key)) ||
        !sentinel_copy_text(object, "secret_key", found.secret_key, sizeof(found.secret_key)))
        return refuse_answer(err, "upload_credentials");
    (void)sentinel_copy_text(object, "session_token", found.session_token,
                             sizeof(found.session_token));
    (void)sentinel_copy_text(object, "region", found.region, sizeof(found.region));
    if (!expiry)
        expiry = json_object_get(object, "expiration");
    found.expires_at = parse_expiry(json_string_value(expiry));
    *ret = found;
    return 0;
}

struct sentinel sentinel_of(const struct upload_settings *settings)
{
    return (struct sentinel){ .url = settings->url,
                              .token = settings->token,
                              .timeout_ms = REQUEST_TIMEOUT_MS };
}

/* ---- requests --------------------------------------------------------------- */

/* The message contains the start of the response, in which the service explains a rejection. */
static int check_status(const char *url, const struct http_response *response,
                        struct spoor_error *err)
{
    int status = response->status;
    bool may_succeed_later = status >= 500 || status == 408 || status == 425 || status == 429;

    if (http_is_success(status))
        return 0;
    return error_set(err, may_succeed_later ? EIO : EPERM, "%.200s: HTTP status %d: %.150s",
                     url, status, response->body.text);
}

/* Sends a request. `run_id` and `action` NULL: registers a run. `body` NULL: an empty body. */
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

    if (response.status == 409) /* an earlier request succeeded, but its response was lost */
        r = 0;
    if (r == 0)
        buffer_add(ret, response.body.text, response.body.length);
    return r < 0 ? r : buffer_error(ret);
}
