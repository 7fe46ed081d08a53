/* SPDX-License-Identifier: Apache-2.0 */
#include "services/upload/push.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "base/error.h"
#include "base/parse.h"
#include "base/reserve.h"
#include "services/upload/spool.h"
#include "text/json_member.h"

enum { LABELS_MAX = 128, HEADERS_MAX = 16 };

/* ---- settings ----------------------------------------------------------- */

#define INTERVAL_NS (10 * NS_PER_SECOND)
#define WAIT_NS (200 * NS_PER_MS)
#define DISK_LIMIT_BYTES 100000000
#define PUSHGATEWAY_PATH "/metrics/job/"
#define IMPORT_PATH "/api/v1/import/prometheus"
#define OTLP_PATH "/v1/metrics"

/* Parses two hexadecimal digits; -1: there are none. */
static int read_escape(const char *text)
{
    char digits[3] = "", *end;
    long value;

    (void)snprintf(digits, sizeof(digits), "%s", text);
    value = strtol(digits, &end, 16);
    return end == digits + 2 && digits[0] != '-' && digits[0] != '+' ? (int)value : -1;
}

/* Decodes %NN in place and removes surrounding blanks. */
static char *decode(char *text)
{
    char *out, *start = text + strspn(text, " \t");

    out = start;
    for (const char *c = start; *c; c++) {
        int byte = *c == '%' ? read_escape(c + 1) : -1;

        *out++ = byte > 0 ? (char)byte : *c;
        c += byte > 0 ? 2 : 0;
    }
    while (out > start && (out[-1] == ' ' || out[-1] == '\t'))
        out--;
    *out = '\0';
    return start;
}

void push_for_each_pair(const char *list,
                        void (*add)(const char *key, const char *value, void *data), void *data)
{
    while (list && *list) {
        size_t length = strcspn(list, ",");
        char *pair = strndup(list, length), *equals = pair ? strchr(pair, '=') : NULL;

        if (equals) {
            *equals = '\0';
            add(decode(pair), decode(equals + 1), data);
        }
        free(pair);
        list += length + (list[length] == ',');
    }
}

/* Skips names and values with a line break, which would begin another header. */
static void add_header(const char *name, const char *value, void *data)
{
    struct buffer *lines = data;

    if (*name && !strpbrk(name, " :\r\n") && !strpbrk(value, "\r\n"))
        buffer_format(lines, "%s: %s\n", name, value);
}

static int set_url(const char *url, const char *path, const char *id,
                   struct upload_settings *ret, struct spoor_error *err)
{
    size_t scheme = strncmp(url, "https://", 8) == 0  ? 8
                    : strncmp(url, "http://", 7) == 0 ? 7
                                                      : 0;
    size_t host = strcspn(url + scheme, "/?#");
    bool has_path = url[scheme + host] != '\0' && strcmp(url + scheme + host, "/") != 0;
    int n;

    for (const char *c = url; *c; c++)
        scheme = *c <= ' ' || *c > '~' ? 0 : scheme;
    if (scheme == 0 || host == 0)
        return error_set(err, EINVAL,
                         "invalid URL '%.200s': expected http://HOST or https://HOST", url);
    if (memchr(url + scheme, '@', host))
        return error_set(err, EINVAL,
                         "no password in a URL, since it is stored with samples that wait: use "
                         "the variable SPOOR_PUSH_HEADERS or OTEL_EXPORTER_OTLP_HEADERS");
    if (has_path)
        n = snprintf(ret->url, sizeof(ret->url), "%s", url);
    else
        n = snprintf(ret->url, sizeof(ret->url), "%.*s%s%s", (int)(scheme + host), url, path,
                     id);
    return n < 0 || (size_t)n >= sizeof(ret->url)
               ? error_set(err, EINVAL, "the URL is too long")
               : 0;
}

/* Headers may contain secrets: they come from variables and are never stored. */
static int set_headers(const char *list, struct upload_settings *ret, struct spoor_error *err)
{
    CLEANUP(buffer_done) struct buffer lines = { 0 };

    push_for_each_pair(list, add_header, &lines);
    if (lines.length >= sizeof(ret->token))
        return error_set(err, EINVAL, "the headers are longer than %zu characters",
                         sizeof(ret->token) - 1);
    if (lines.length > 0)
        memcpy(ret->token, lines.text, lines.length + 1);
    return 0;
}

static const struct upload_settings defaults = { .interval_ns = INTERVAL_NS,
                                                 .wait_ns = WAIT_NS,
                                                 .disk_limit_bytes = DISK_LIMIT_BYTES };

int push_settings(const char *url, const char *run_id, environment_get *get,
                  struct upload_settings *ret, const char **ret_service,
                  struct spoor_error *err)
{
    int r;

    *ret = defaults;
    *ret_service = strstr(url, IMPORT_PATH) ? "import" : "pushgateway";
    r = set_url(url, PUSHGATEWAY_PATH "spoor/run_id/", run_id, ret, err);
    if (r == 0 && !strstr(ret->url, IMPORT_PATH) && !strstr(ret->url, PUSHGATEWAY_PATH))
        return error_set(err, EINVAL,
                         "invalid URL '%.200s': expected one of a Pushgateway "
                         "(" PUSHGATEWAY_PATH "...) or of VictoriaMetrics (" IMPORT_PATH ")",
                         url);
    return r < 0 ? r : set_headers(get("SPOOR_PUSH_HEADERS"), ret, err);
}

int otlp_settings(const char *url, environment_get *get, struct upload_settings *ret,
                  struct spoor_error *err)
{
    const char *whole = get("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT");
    const char *base = get("OTEL_EXPORTER_OTLP_ENDPOINT");
    const char *interval = get("OTEL_METRIC_EXPORT_INTERVAL");
    const char *headers = get("OTEL_EXPORTER_OTLP_METRICS_HEADERS");
    char joined[sizeof(ret->url)];
    uint64_t interval_ms;
    int r;

    *ret = defaults;
    base = base && *base ? base : "http://localhost:4318";
    (void)snprintf(joined, sizeof(joined), "%s%s", base,
                   base[strlen(base) - 1] == '/' ? &OTLP_PATH[1] : OTLP_PATH);
    if (url)
        r = set_url(url, OTLP_PATH, "", ret, err);
    else
        r = set_url(whole && *whole ? whole : joined, "", "", ret, err);
    if (r == 0 && interval && parse_whole_u64(interval, &interval_ms) == 0 &&
        interval_ms >= 100)
        ret->interval_ns = interval_ms * NS_PER_MS;
    if (!headers || !*headers)
        headers = get("OTEL_EXPORTER_OTLP_HEADERS");
    return r < 0 ? r : set_headers(headers, ret, err);
}

/* ---- rows --------------------------------------------------------------- */

static void read_gpu(const json_t *object, struct export_gpu *ret)
{
    const char *uuid = member_text(object, "uuid");
    const json_t *part = json_object_get(object, "part");

    *ret = (struct export_gpu){
        .index = (unsigned)json_integer_value(json_object_get(object, "index")),
        .part = json_is_integer(part) ? (int)json_integer_value(part) : -1,
    };
    (void)snprintf(ret->uuid, sizeof(ret->uuid), "%s", uuid ? uuid : "");
    for (int i = 0; i < GPU_MEASURE_COUNT; i++)
        ret->values[i] = member_number(object, gpu_measure_row((enum gpu_measure)i)->name);
}

/* Parses a row of samples. Returns false if the text is not a row. */
static bool read_row(const char *text, size_t length, struct export_sample *ret)
{
    json_auto_t *row = json_loadb(text, length, 0, NULL);
    const json_t *gpus = json_object_get(row, "gpus");

    *ret = (struct export_sample){ .unix_seconds = member_number(row, "timestamp"),
                                   .elapsed_seconds = member_number(row, "elapsed_seconds"),
                                   .cpu_limit = (double)NAN,
                                   .memory_limit_bytes = (double)NAN };
    for (int i = 0; i < METRIC_COUNT; i++)
        ret->values[i] = member_number(row, metric_row((enum metric)i)->published.name);
    for (size_t i = 0; i < json_array_size(gpus) && i < EXPORT_GPUS_MAX; i++)
        read_gpu(json_array_get(gpus, i), &ret->gpus[ret->gpu_count++]);
    return ret->unix_seconds >= 0 && ret->elapsed_seconds >= 0;
}

struct samples {
    struct export_sample *items; /* owned */
    size_t count, capacity;
};

static void free_samples(struct samples *samples)
{
    free(samples->items);
}

/* Adds a row. If the last row covers less than an interval, folds the new row into it
 * instead. */
static int add_sample(struct samples *samples, const struct push_state *state,
                      const struct export_sample *sample, double interval_seconds)
{
    size_t count = samples->count;
    const struct export_sample *sent = *state->run_id ? &state->latest : NULL;
    struct export_sample *last;

    if (reserve(&samples->items, &samples->capacity, count + 1, sizeof(*samples->items)) < 0 ||
        !samples->items)
        return -ENOMEM;
    last = samples->items + count; /* the place of the new row */
    if (count > 0) {
        const struct export_sample *before = count > 1 ? last - 2 : sent;

        if (before && last[-1].unix_seconds - before->unix_seconds < 0.9 * interval_seconds) {
            export_sample_fold(last - 1, sample);
            return 0;
        }
        *last = last[-1];
        export_sample_follow(last, sample);
    } else if (sent) {
        *last = *sent;
        export_sample_follow(last, sample);
    } else {
        *last = *sample;
    }
    samples->count++;
    return 0;
}

static int read_rows(const struct spool_batch *batch, const struct push_state *state,
                     double interval_seconds, struct samples *ret)
{
    const char *row = batch->csv.text, *end = row + batch->csv.length, *newline;
    int r = 0;

    for (; r == 0 && row < end; row = newline + 1) {
        struct export_sample sample;

        newline = memchr(row, '\n', (size_t)(end - row));
        if (!newline)
            break;
        if (read_row(row, (size_t)(newline - row), &sample))
            r = add_sample(ret, state, &sample, interval_seconds);
    }
    return r;
}

/* ---- requests ----------------------------------------------------------- */

/* Lists the texts of an object as labels, borrowed from `object`. */
static size_t list_labels(json_t *object, struct export_label *ret)
{
    size_t count = 0;
    const char *key;
    json_t *value;

    json_object_foreach(object, key, value)
    {
        if (count < LABELS_MAX && json_is_string(value))
            ret[count++] = (struct export_label){ key, json_string_value(value) };
    }
    return count;
}

static void write_text(const struct samples *samples, json_t *metadata, bool has_times,
                       struct buffer *out)
{
    CLEANUP(buffer_done) struct buffer text = { 0 };
    struct export_label labels[LABELS_MAX];
    size_t count = list_labels(json_object_get(metadata, "labels"), labels);

    for (size_t i = 0; i < count; i++) {
        if (export_is_label_name(labels[i].name))
            export_add_label(labels[i].name, labels[i].value, &text);
    }
    for (size_t i = has_times ? 0 : samples->count - 1; i < samples->count; i++)
        export_write(&samples->items[i], text.text ? text.text : "",
                     has_times ? EXPOSE_TIMED : EXPOSE_TEXT, out);
}

static void write_otlp(const struct samples *samples, json_t *metadata, struct buffer *out)
{
    struct export_label labels[LABELS_MAX];
    size_t count = list_labels(json_object_get(metadata, "resource"), labels);

    otlp_write(samples->items, samples->count, labels, count, out);
}

/* Splits `lines` in place into headers for http_request. */
static void split_headers(char *lines, const char **ret, size_t count)
{
    char *newline;

    for (; count + 1 < HEADERS_MAX && (newline = strchr(lines, '\n')); lines = newline + 1) {
        *newline = '\0';
        ret[count++] = lines;
    }
    ret[count] = NULL;
}

static int check_answer(struct push_state *state, const struct http_response *response,
                        const char *url, struct spoor_error *err)
{
    int status = response->status;
    uint64_t seconds;

    if (http_is_success(status))
        return 0;
    if (parse_whole_u64(response->header, &seconds) == 0 && seconds < 3600)
        state->retry_ns = seconds * NS_PER_SECOND;
    /* A retry is useless: the service would reject the same rows again. */
    if (status == 400 || status == 413 || status == 422)
        return error_set(err, EBADMSG, "%s: the server refuses samples: %d", url, status);
    return error_set(err, EIO, "%s: the server answers %d", url, status);
}

static int send_body(struct push_state *state, const struct sentinel *api, const char *service,
                     const struct buffer *body, struct spoor_error *err)
{
    struct http_response response = { 0 };
    bool is_otlp = strcmp(service, "otlp") == 0;
    const char *headers[HEADERS_MAX] = { is_otlp ? "Content-Type: application/json"
                                                 : "Content-Type: text/plain; version=0.0.4" };
    char lines[sizeof(((struct upload_settings *)0)->token)];
    const struct http_request request = {
        .method = strcmp(service, "pushgateway") == 0 ? "PUT" : "POST",
        .url = api->url,
        .headers = headers,
        .body = body->text,
        .body_length = body->length,
        .timeout_ms = api->timeout_ms,
        .has_secrets = *api->token,
        .wanted_header = "Retry-After",
    };
    int r;

    (void)snprintf(lines, sizeof(lines), "%s", api->token); /* fits */
    split_headers(lines, headers, 1);
    r = http_send(api->http, &request, &response, err);
    if (r == 0)
        r = check_answer(state, &response, api->url, err);
    http_response_done(&response);
    explicit_bzero(lines, sizeof(lines));
    return r;
}

int push_send(struct push_state *state, const struct sentinel *api, const struct spool *spool,
              const struct spool_batch *batch, struct spoor_error *err)
{
    CLEANUP(free_samples) struct samples samples = { 0 };
    CLEANUP(buffer_done) struct buffer body = { 0 };
    json_auto_t *run = NULL;
    json_t *metadata;
    const char *id;
    double interval_seconds;
    int r = spool_load(spool, SPOOL_RUN, &run);

    state->retry_ns = 0;
    metadata = json_object_get(run, "metadata");
    id = member_text(json_object_get(metadata, "labels"), "run_id");
    if (r < 0 || !id)
        return error_set(err, EBADMSG, "'%s' is damaged", spool->path);
    if (strcmp(state->run_id, id) != 0)
        state->run_id[0] = '\0';
    interval_seconds = member_number(metadata, "interval_seconds");
    r = read_rows(batch, state, interval_seconds, &samples);
    if (r < 0)
        return error_set(err, ENOMEM, "out of memory");
    if (samples.count == 0)
        return 0;
    if (strcmp(spool->service, "otlp") == 0)
        write_otlp(&samples, metadata, &body);
    else
        write_text(&samples, metadata, strcmp(spool->service, "import") == 0, &body);
    if (buffer_error(&body) < 0)
        return error_set(err, ENOMEM, "out of memory");
    r = send_body(state, api, spool->service, &body, err);
    if (r == 0) {
        state->latest = samples.items[samples.count - 1];
        (void)snprintf(state->run_id, sizeof(state->run_id), "%s", id);
    }
    return r;
}
