/* SPDX-License-Identifier: Apache-2.0 */
/* test_push.c - pushes rows; the test replaces the network. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "fake_root.h"
#include "services/upload/push.h"
#include "services/upload/spool.h"
#include "unit_test.h"

/* ---- settings ----------------------------------------------------------- */

static const char *variables[8]; /* names and values, alternating */

static const char *get(const char *name)
{
    for (size_t i = 0; i + 1 < ARRAY_SIZE(variables) && variables[i]; i += 2) {
        if (strcmp(variables[i], name) == 0)
            return variables[i + 1];
    }
    return NULL;
}

static void set(const char *name, const char *value)
{
    size_t i = 0;

    while (variables[i])
        i += 2;
    variables[i] = name;
    variables[i + 1] = value;
}

static int clear(void **state)
{
    memset(variables, 0, sizeof(variables));
    return 0;
}

static void check_push(const char *url, const char *expected, const char *service)
{
    struct upload_settings settings;
    struct spoor_error err;
    const char *found;

    assert_int_equal(push_settings(url, "ab", get, &settings, &found, &err), 0);
    assert_string_equal(settings.url, expected);
    assert_string_equal(found, service);
    assert_int_equal(settings.wait_ns, 200000000);
}

TEST_WITH(test_the_url_determines_the_push_service, clear, NULL)
{
    static const char *const bad[] = {
        "",           "ftp://a",     "http://",     "http:///x",
        "http://a/x", "http://a b/", "http://u@a/", "http://a/\n"
    };
    struct upload_settings settings;
    struct spoor_error err;
    const char *service;

    check_push("http://a:1", "http://a:1/metrics/job/spoor/run_id/ab", "pushgateway");
    check_push("https://a/", "https://a/metrics/job/spoor/run_id/ab", "pushgateway");
    check_push("http://a/metrics/job/x", "http://a/metrics/job/x", "pushgateway");
    check_push("http://a/api/v1/import/prometheus?extra_label=a=b",
               "http://a/api/v1/import/prometheus?extra_label=a=b", "import");
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
        assert_int_equal(push_settings(bad[i], "ab", get, &settings, &service, &err), -EINVAL);
}

static void check_otlp(const char *url, const char *expected)
{
    struct upload_settings settings;
    struct spoor_error err;

    assert_int_equal(otlp_settings(url, get, &settings, &err), 0);
    assert_string_equal(settings.url, expected);
}

TEST_WITH(test_otlp_endpoint_comes_from_option_or_variables, clear, NULL)
{
    check_otlp(NULL, "http://localhost:4318/v1/metrics");
    set("OTEL_EXPORTER_OTLP_ENDPOINT", "http://a/b/");
    check_otlp(NULL, "http://a/b/v1/metrics");
    set("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "http://c/d");
    check_otlp(NULL, "http://c/d");
    check_otlp("http://e", "http://e/v1/metrics");
    check_otlp("http://e/f", "http://e/f");
}

TEST_WITH(test_otlp_headers_come_from_variables, clear, NULL)
{
    struct upload_settings settings;
    struct spoor_error err;

    set("OTEL_EXPORTER_OTLP_HEADERS", "a=b%3D%zz , c = d%20e,f,=g,h i=j,k=l%0Am");
    set("OTEL_METRIC_EXPORT_INTERVAL", "2500");
    assert_int_equal(otlp_settings("http://a", get, &settings, &err), 0);
    assert_string_equal(settings.token, "a: b=%zz\nc: d e\n");
    assert_int_equal(settings.interval_ns, 2500000000);
}

/* ---- requests ----------------------------------------------------------- */

static struct {
    int status;
    const char *retry;
    struct buffer body;
    char method[8];
    bool has_secrets;
} network;

int __wrap_http_send(struct http *http, const struct http_request *request,
                     struct http_response *ret, struct spoor_error *err);

int __wrap_http_send(UNUSED struct http *http, const struct http_request *request,
                     struct http_response *ret, UNUSED struct spoor_error *err)
{
    buffer_clear(&network.body);
    buffer_add(&network.body, request->body, request->body_length);
    (void)snprintf(network.method, sizeof(network.method), "%s", request->method);
    network.has_secrets = request->has_secrets;
    ret->status = network.status;
    (void)snprintf(ret->header, sizeof(ret->header), "%s", network.retry);
    return 0;
}

struct fixture {
    struct fake_root folder;
    struct spool spool;
    struct push_state state;
};

static int set_up(void **state)
{
    struct fixture *fixture = calloc(1, sizeof(*fixture));

    fake_root_init(&fixture->folder);
    fake_root_write(&fixture->folder, "run.json",
                    "{\"metadata\": {\"interval_seconds\": 1, \"labels\": {\"run_id\": \"ab\", "
                    "\"no-name\": \"x\"}, \"resource\": {}}}");
    fixture->spool = SPOOL_CLOSED;
    (void)snprintf(fixture->spool.path, sizeof(fixture->spool.path), "%s",
                   fixture->folder.path);
    (void)snprintf(fixture->spool.service, sizeof(fixture->spool.service), "import");
    network.status = 200;
    network.retry = "";
    *state = fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;

    fake_root_done(&fixture->folder);
    buffer_done(&network.body);
    free(fixture);
    return 0;
}

static int push(struct fixture *fixture, const char *rows)
{
    const struct sentinel api = { .url = "http://a", .token = "", .timeout_ms = 1 };
    struct spool_batch batch = { 0 };
    struct spoor_error err;
    int r;

    buffer_add_text(&batch.csv, rows);
    r = push_send(&fixture->state, &api, &fixture->spool, &batch, &err);
    buffer_done(&batch.csv);
    return r;
}

#define ROW(time, read, rss)                                                      \
    "{\"timestamp\": " time ", \"elapsed_seconds\": 1, \"job_read_bytes\": " read \
    ", \"job_rss_bytes\": " rss ", \"job_cpu_seconds\": null, \"gpus\": null}\n"
#define READ "spoor_job_read_bytes_total{run_id=\"ab\"} "
#define RSS "spoor_job_rss_bytes{run_id=\"ab\"} "
#define ELAPSED "spoor_run_elapsed_seconds{run_id=\"ab\"} 1 "

TEST_WITH(test_samples_closer_than_the_interval_are_merged, set_up, tear_down)
{
    assert_int_equal(push(*state, ROW("10", "5", "1") ROW("10.2", "6", "9")
                                      ROW("10.6", "4", "2") ROW("11.5", "7", "3")),
                     0);
    assert_string_equal(network.body.text,
                        ELAPSED "10000\n" RSS "1 10000\n" READ "5 10000\n" /* the first row */
                        ELAPSED "11500\n" RSS "9 11500\n" READ "7 11500\n");
    /* The next batch starts at the last row, and its counter does not decrease. */
    assert_int_equal(push(*state, ROW("12.6", "3", "1")), 0);
    assert_string_equal(network.body.text, ELAPSED "12600\n" RSS "1 12600\n" READ "7 12600\n");
}

TEST_WITH(test_damaged_rows_are_skipped, set_up, tear_down)
{
    assert_int_equal(push(*state, "{\n[]\n\n\"x\"\n" ROW("10", "5", "1") "{\"timestamp\": 11"),
                     0);
    assert_string_equal(network.body.text, ELAPSED "10000\n" RSS "1 10000\n" READ "5 10000\n");
}

TEST_WITH(test_each_http_status_is_handled, set_up, tear_down)
{
    static const struct {
        int status, expected;
    } rows[] = { { 204, 0 },    { 400, -EBADMSG }, { 413, -EBADMSG }, { 422, -EBADMSG },
                 { 404, -EIO }, { 401, -EIO },     { 429, -EIO },     { 500, -EIO },
                 { 503, -EIO }, { 301, -EIO } };
    struct fixture *fixture = *state;

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        network.status = rows[i].status;
        assert_int_equal(push(fixture, ROW("10", "5", "1")), rows[i].expected);
        assert_int_equal(fixture->state.retry_ns, 0);
    }
    network.retry = "7";
    network.status = 503;
    assert_int_equal(push(fixture, ROW("10", "5", "1")), -EIO);
    assert_int_equal(fixture->state.retry_ns, 7000000000);
}

TEST_WITH(test_a_pushgateway_gets_the_last_sample, set_up, tear_down)
{
    struct fixture *fixture = *state;

    (void)snprintf(fixture->spool.service, sizeof(fixture->spool.service), "pushgateway");
    assert_int_equal(push(fixture, ROW("10", "5", "1") ROW("12", "6", "2")), 0);
    assert_string_equal(network.method, "PUT");
    assert_non_null(strstr(network.body.text, RSS "2\n"));
    assert_null(strstr(network.body.text, RSS "1\n"));
}
