/* SPDX-License-Identifier: Apache-2.0 */
#include "compat/resource_tracker/request.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/compiler.h"
#include "base/error.h"
#include "front/agent.h"
#include "services/http.h"
#include "services/upload/sentinel.h"
#include "text/json_writer.h"

enum { TIMEOUT_DEFAULT_SECONDS = 30, TIMEOUT_MAX_SECONDS = 3600, HEADERS_MAX = 32 };

static void close_http(struct http **http)
{
    http_close(*http);
}

/* NULL: there is none. */
static const char *text_of(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

static uint64_t timeout_of(const json_t *order)
{
    double seconds = json_number_value(json_object_get(order, "timeout"));

    if (!(seconds > 0))
        seconds = TIMEOUT_DEFAULT_SECONDS;
    if (seconds > TIMEOUT_MAX_SECONDS)
        seconds = TIMEOUT_MAX_SECONDS;
    return (uint64_t)(seconds * 1e3) + 1;
}

static int read_body(const json_t *order, struct buffer *body, struct http_request *request,
                     struct spoor_error *err)
{
    const char *path = text_of(order, "body_file");
    const json_t *text = json_object_get(order, "body");
    int r;

    if (path) {
        r = buffer_read_file(body, path, BUFFER_MAX);
        if (r < 0)
            return error_sys(err, r, "%s", path);
        request->body = body->text;
        request->body_length = body->length;
    } else if (json_is_string(text)) {
        request->body = json_string_value(text);
        request->body_length = json_string_length(text);
    }
    return 0;
}

static int send_request(const json_t *order, struct http_response *ret, struct spoor_error *err)
{
    CLEANUP(buffer_done) struct buffer body = { 0 };
    CLEANUP(close_http) struct http *http = NULL;
    const json_t *signature = json_object_get(order, "signature");
    const json_t *list = json_object_get(order, "headers");
    const char *headers[HEADERS_MAX + 1] = { 0 };
    struct http_signature signer = { text_of(signature, "access_key"),
                                     text_of(signature, "secret_key"),
                                     text_of(signature, "session_token"),
                                     text_of(signature, "region") };
    struct http_request request = { .method = text_of(order, "method"),
                                    .url = text_of(order, "url"),
                                    .headers = headers,
                                    .timeout_ms = timeout_of(order),
                                    .wanted_header = text_of(order, "wanted_header") };
    int r = read_body(order, &body, &request, err);

    for (size_t i = 0; i < json_array_size(list) && i < HEADERS_MAX; i++)
        headers[i] = json_string_value(json_array_get(list, i));
    if (json_is_object(signature))
        request.signature = &signer;
    if (r < 0)
        return r;
    if (!request.url ||
        (request.signature && !(signer.access_key && signer.secret_key && signer.region)))
        return error_set(err, EINVAL, "the request is not complete");
    r = http_open(&http, err);
    return r < 0 ? r : http_send(http, &request, ret, err);
}

/* A text that is missing is empty. */
static bool copy_text(const json_t *object, const char *key, char *buf, size_t size)
{
    const char *text = text_of(object, key);
    int n = snprintf(buf, size, "%s", text ? text : "");

    return n >= 0 && (size_t)n < size;
}

static int put_object(const json_t *order, struct http_response *ret, struct spoor_error *err)
{
    CLEANUP(buffer_done) struct buffer body = { 0 };
    CLEANUP(close_http) struct http *http = NULL;
    const json_t *signature = json_object_get(order, "signature");
    const char *path = text_of(order, "body_file");
    struct s3_credentials credentials = { .expires_at = (double)INFINITY };
    int r;

    if (!copy_text(signature, "access_key", credentials.access_key,
                   sizeof(credentials.access_key)) ||
        !copy_text(signature, "secret_key", credentials.secret_key,
                   sizeof(credentials.secret_key)) ||
        !copy_text(signature, "session_token", credentials.session_token,
                   sizeof(credentials.session_token)) ||
        !copy_text(signature, "region", credentials.region, sizeof(credentials.region)) ||
        !path)
        return error_set(err, EINVAL, "the request is not complete");
    r = buffer_read_file(&body, path, BUFFER_MAX);
    if (r < 0)
        return error_sys(err, r, "%s", path);
    r = http_open(&http, err);
    if (r == 0)
        r = s3_put(http, text_of(order, "s3_uri"), &body, &credentials, timeout_of(order), err);
    ret->status = r == 0 ? 200 : 0;
    return r;
}

int tracker_request_main(const struct command *command, int argc, char **argv)
{
    CLEANUP(buffer_done) struct buffer input = { 0 };
    CLEANUP(buffer_done) struct buffer output = { 0 };
    CLEANUP(http_response_done) struct http_response response = { 0 };
    json_auto_t *order = NULL;
    struct json_writer json = { .out = &output, .style = &json_compact };
    struct spoor_error err = { 0 };
    int r;

    agent_begin(); /* it belongs to no job */
    r = buffer_read(&input, STDIN_FILENO, BUFFER_MAX);
    (void)command;
    (void)argc;
    (void)argv;
    if (r == 0)
        order = json_loadb(input.text, input.length, 0, NULL);
    if (!json_is_object(order))
        r = error_set(&err, EINVAL, "expected a JSON object");
    else if (text_of(order, "s3_uri"))
        r = put_object(order, &response, &err);
    else
        r = send_request(order, &response, &err);
    json_begin(&json, NULL, '{');
    if (r < 0) {
        json_add_text(&json, "error", err.message);
    } else {
        json_add_u64(&json, "status", (uint64_t)response.status);
        json_add_text(&json, "header", *response.header ? response.header : NULL);
        json_add_text(&json, "body", response.body.text);
    }
    json_end(&json);
    buffer_add(&output, "\n", 1);
    return buffer_write(&output, STDOUT_FILENO) < 0 || r < 0;
}
