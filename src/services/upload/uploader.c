/* SPDX-License-Identifier: Apache-2.0 */
#include "services/upload/uploader.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "services/upload/gzip.h"

/* After a long time without network there is more than one request should carry. */
enum { BATCH_MAX_BYTES = 8 << 20 };

/* Credentials that are valid for less than this are renewed. */
enum { RENEWED_BEFORE_SECONDS = 300 };

void uploader_done(struct uploader *uploader)
{
    uploader->http = http_close(uploader->http);
    explicit_bzero(&uploader->credentials, sizeof(uploader->credentials));
}

static int connect_api(struct uploader *uploader, struct sentinel *ret, struct spoor_error *err)
{
    int r = uploader->http ? 0 : http_open(&uploader->http, err);

    *ret = (struct sentinel){ .http = uploader->http,
                              .url = uploader->settings->url,
                              .token = uploader->settings->token,
                              .timeout_ms = uploader->timeout_ms };
    return r;
}

static void note_progress(const struct uploader *uploader)
{
    if (uploader->progressed)
        uploader->progressed(uploader->data);
}

/* A JSON file of the spool. NULL: there is none, or it is damaged. */
static json_t *load(const struct spool *spool, const char *name)
{
    CLEANUP(buffer_done) struct buffer text = { 0 };

    if (spool_read(spool, name, &text) < 0)
        return NULL;
    return json_loadb(text.text, text.length, 0, NULL);
}

/* ---- the description -------------------------------------------------------- */

/* A value as the service wants it; texts, lists of texts and objects of these. */
static void add_value(struct json_writer *json, const char *key, const json_t *value)
{
    CLEANUP(buffer_done) struct buffer document = { 0 };
    char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);

    if (text)
        buffer_add_text(&document, text);
    free(text);
    if (document.length > 0)
        json_add_document(json, key, &document);
}

static int describe(const struct uploader *uploader, const struct spool *spool,
                    struct buffer *ret)
{
    json_auto_t *run = load(spool, SPOOL_RUN);
    struct json_writer json = { .out = ret, .style = &json_compact };
    const char *key;
    json_t *value;

    json_begin(&json, NULL, '{');
    json_object_foreach(json_object_get(run, "metadata"), key, value)
    {
        add_value(&json, key, value);
    }
    if (uploader->add_machine)
        uploader->add_machine(&json);
    json_end(&json);
    return buffer_error(ret);
}

static void keep_credentials(struct uploader *uploader, struct spool *spool)
{
    (void)snprintf(uploader->credentials_of, sizeof(uploader->credentials_of), "%s",
                   spool->run.id);
    if (*uploader->credentials.region == '\0')
        memcpy(uploader->credentials.region, spool->region, sizeof(spool->region));
    note_progress(uploader);
}

int uploader_register(struct uploader *uploader, struct spool *spool, struct spoor_error *err)
{
    CLEANUP(buffer_done) struct buffer description = { 0 };
    struct sentinel api;
    int r;

    if (*spool->run.id != '\0')
        return 0;
    r = connect_api(uploader, &api, err);
    if (r < 0)
        return r;
    r = describe(uploader, spool, &description);
    if (r < 0)
        return error_sys(err, r, "cannot describe the run");
    r = sentinel_register(&api, &description, &spool->run, &uploader->credentials, err);
    if (r < 0)
        return r;
    keep_credentials(uploader, spool);
    r = spool_save(spool);
    return r < 0 ? error_sys(err, r, "cannot write to '%s'", spool->path) : 0;
}

/* ---- batches ---------------------------------------------------------------- */

int uploader_add_uri(const struct spool *spool, uint64_t number, struct buffer *out)
{
    const char *prefix = spool->run.uri_prefix, *id = spool->run.id;
    size_t length = strlen(prefix);

    while (length > 0 && prefix[length - 1] == '/')
        length--;
    buffer_add(out, prefix, length);
    if (spool->has_short_keys)
        buffer_format(out, "/%04" PRIu64 ".csv.gz", number);
    else
        buffer_format(out, "/%s/%06" PRIu64 ".csv.gz", id, number);
    return buffer_error(out);
}

static int renew(struct uploader *uploader, struct spool *spool, struct spoor_error *err)
{
    struct sentinel api;
    int r = connect_api(uploader, &api, err);

    if (r == 0)
        r = sentinel_refresh(&api, spool->run.id, &uploader->credentials, err);
    if (r == 0)
        keep_credentials(uploader, spool);
    return r;
}

static bool are_valid(const struct uploader *uploader, const struct spool *spool)
{
    double now = (double)clock_now().realtime_ns / 1e9;

    return strcmp(uploader->credentials_of, spool->run.id) == 0 &&
           uploader->credentials.expires_at - now >= RENEWED_BEFORE_SECONDS;
}

static int put(struct uploader *uploader, struct spool *spool, const struct buffer *body,
               struct spoor_error *err)
{
    CLEANUP(buffer_done) struct buffer uri = { 0 };
    bool is_new = !are_valid(uploader, spool);
    int r = is_new ? renew(uploader, spool, err) : 0;

    if (r < 0)
        return r;
    if (uploader_add_uri(spool, spool->batches, &uri) < 0)
        return error_set(err, ENOMEM, "out of memory");
    r = s3_put(uploader->http, uri.text, body, &uploader->credentials, uploader->timeout_ms,
               err);
    if (r == -EACCES && !is_new) {
        r = renew(uploader, spool, err);
        if (r == 0)
            r = s3_put(uploader->http, uri.text, body, &uploader->credentials,
                       uploader->timeout_ms, err);
    }
    memcpy(spool->region, uploader->credentials.region, sizeof(spool->region));
    return r;
}

/* 1: sent; 0: there was nothing to send. */
static int send_batch(struct uploader *uploader, struct spool *spool, struct spoor_error *err)
{
    CLEANUP(buffer_done) struct buffer body = { 0 };
    struct spool_batch batch = { 0 };
    int r = spool_read_batch(spool, BATCH_MAX_BYTES, &batch);

    if (r == 0 && batch.rows > 0)
        r = gzip_add(batch.csv.text, batch.csv.length, &body);
    buffer_done(&batch.csv);
    if (r < 0)
        return error_sys(err, r, "cannot read '%s'", spool->path);
    if (batch.rows == 0)
        return 0;
    r = put(uploader, spool, &body, err);
    if (r < 0)
        return r;
    r = spool_advance(spool, batch.end);
    if (r < 0)
        return error_sys(err, r, "cannot write to '%s'", spool->path);
    note_progress(uploader);
    return 1;
}

int uploader_send(struct uploader *uploader, struct spool *spool, struct spoor_error *err)
{
    int r = uploader->http ? 0 : http_open(&uploader->http, err);

    while (r == 0) {
        if (uploader->is_hurried && uploader->is_hurried(uploader->data))
            return error_set(err, ECANCELED, "interrupted");
        r = send_batch(uploader, spool, err);
        if (r <= 0)
            return r;
        r = 0;
    }
    return r;
}

/* ---- the end ---------------------------------------------------------------- */

static void add_uris(const struct spool *spool, struct json_writer *json)
{
    CLEANUP(buffer_done) struct buffer uri = { 0 };

    json_begin(json, "data_uris", '[');
    for (uint64_t i = 0; i < spool->batches && buffer_error(json->out) == 0; i++) {
        buffer_clear(&uri);
        if (uploader_add_uri(spool, i, &uri) == 0)
            json_add_text(json, NULL, uri.text);
    }
    json_end(json);
}

/* A tracker that was killed has left no end. */
static void add_end(const struct spool *spool, struct json_writer *json)
{
    json_auto_t *end = load(spool, SPOOL_END);
    struct clock_text now = clock_format((double)clock_now().realtime_ns / 1e9);
    const char *status = json_string_value(json_object_get(end, "run_status"));
    const char *date = json_string_value(json_object_get(end, "finished_at"));
    const json_t *code = json_object_get(end, "exit_code");

    json_add_number(json, "exit_code", code ? (double)json_integer_value(code) : 1);
    json_add_text(json, "run_status", status ? status : "failed");
    json_add_text(json, "finished_at", date ? date : now.text);
}

/* The rows are in `csv` if they are part of the message. */
static int finish(struct uploader *uploader, struct spool *spool, const struct buffer *csv,
                  struct buffer *answer, struct spoor_error *err)
{
    CLEANUP(buffer_done) struct buffer body = { 0 };
    CLEANUP(buffer_done) struct buffer unwanted = { 0 };
    struct json_writer json = { .out = &body, .style = &json_compact };
    struct sentinel api;
    int r = connect_api(uploader, &api, err);

    if (r < 0)
        return r;
    json_begin(&json, NULL, '{');
    add_end(spool, &json);
    if (csv) {
        json_add_text(&json, "data_source", "inline");
        json_add_text(&json, "data_csv", csv->text ? csv->text : "");
    } else {
        json_add_text(&json, "data_source", "s3");
        add_uris(spool, &json);
    }
    json_end(&json);
    if (buffer_error(&body) < 0)
        return error_set(err, ENOMEM, "out of memory");
    r = sentinel_finish(&api, spool->run.id, &body, answer ? answer : &unwanted, err);
    if (r == 0)
        note_progress(uploader);
    return r;
}

int uploader_finish(struct uploader *uploader, struct spool *spool, struct buffer *answer,
                    struct spoor_error *err)
{
    uint64_t rows = 0, bytes = 0;
    int r = uploader_register(uploader, spool, err);

    if (r < 0)
        return r;
    r = spool_count(spool, &rows, &bytes);
    if (r == 0 && spool->batches == 0 && bytes <= BATCH_MAX_BYTES) {
        struct spool_batch batch = { 0 };

        r = spool_read_batch(spool, BATCH_MAX_BYTES, &batch);
        r = r < 0 ? error_sys(err, r, "cannot read '%s'", spool->path)
                  : finish(uploader, spool, &batch.csv, answer, err);
        buffer_done(&batch.csv);
        return r;
    }
    if (r < 0)
        return error_sys(err, r, "cannot read '%s'", spool->path);
    r = uploader_send(uploader, spool, err);
    return r < 0 ? r : finish(uploader, spool, NULL, answer, err);
}

void uploader_add_summary(const struct spool *spool, const struct buffer *answer,
                          struct json_writer *json)
{
    json_auto_t *result =
        answer->length > 0 ? json_loadb(answer->text, answer->length, 0, NULL) : NULL;

    json_add_text(json, "run_id", *spool->run.id ? spool->run.id : NULL);
    add_uris(spool, json);
    if (result)
        add_value(json, "result", result);
    else
        json_add_null(json, "result");
}
