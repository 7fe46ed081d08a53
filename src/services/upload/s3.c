/* SPDX-License-Identifier: Apache-2.0 */
#include "services/upload/s3.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "text/escape.h"

#define SCHEME "s3://"
#define REGION_HEADER "x-amz-bucket-region"
#define DEFAULT_REGION "eu-central-1"

enum { REGION_TIMEOUT_MS = 2000 };

/* What identifies a bucket, a key or a region: none of it can end a URL's host. */
static bool is_name(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if (!isalnum((unsigned char)text[i]) && !strchr("-._", text[i]))
            return false;
    }
    return length > 0;
}

static int find_bucket(const char *uri, const char **ret, size_t *ret_length)
{
    if (strncmp(uri, SCHEME, strlen(SCHEME)) != 0)
        return -EINVAL;
    *ret = uri + strlen(SCHEME);
    *ret_length = strcspn(*ret, "/");
    return is_name(*ret, *ret_length) ? 0 : -EINVAL;
}

/* The URL of a bucket without a slash at its end. A name with dots does not fit a certificate of
 * Amazon's, and becomes a part of the path. `region` may be empty. */
static int add_bucket_url(const char *uri, const char *region, const char *base,
                          struct buffer *out)
{
    const char *dot = *region ? "." : "";
    const char *bucket;
    size_t length;
    int size;

    if (find_bucket(uri, &bucket, &length) < 0)
        return -EINVAL;
    size = (int)length;
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

/* Returns whether the answer names another region than the one we had. */
static bool learn_region(const struct http_response *response, char *region)
{
    if (!is_name(response->header, strlen(response->header)) ||
        strlen(response->header) >= S3_REGION_SIZE || strcmp(response->header, region) == 0)
        return false;
    (void)snprintf(region, S3_REGION_SIZE, "%s", response->header);
    return true;
}

/* Every answer of a bucket names its region, even one that refuses. */
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

static int judge(const char *uri, const struct http_response *response, struct spoor_error *err)
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
    return judge(uri, &response, err);
}
