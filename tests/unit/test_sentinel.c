/* SPDX-License-Identifier: Apache-2.0 */
/* test_sentinel.c - compression, URLs of objects, settings of uploads, and responses of the
 * service. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "services/upload/sentinel.h"
#include "unit_test.h"

/* ---- gzip --------------------------------------------------------------- */

static void unpack(const struct buffer *packed, char *text, size_t size)
{
    z_stream stream = { .next_in = (unsigned char *)packed->text,
                        .avail_in = (uInt)packed->length,
                        .next_out = (unsigned char *)text,
                        .avail_out = (uInt)size };

    assert_int_equal(inflateInit2(&stream, 15 + 16), Z_OK);
    assert_int_equal(inflate(&stream, Z_FINISH), Z_STREAM_END);
    assert_int_equal(stream.total_out, size);
    inflateEnd(&stream);
}

TEST(an_empty_file_is_valid)
{
    struct buffer packed = { 0 };
    char text[1];

    assert_int_equal(gzip_add("", 0, &packed), 0);
    unpack(&packed, text, 0);
    buffer_done(&packed);
}

/* The text is large enough for several pieces of output, and hardly compressible. */
TEST(large_text_survives_a_round_trip)
{
    enum { SIZE = 300000 };
    char *text = malloc(SIZE), *back = malloc(SIZE);
    struct buffer packed = { 0 };
    uint32_t random = 1;

    for (size_t i = 0; i < SIZE; i++) {
        random = random * 1664525 + 1013904223;
        text[i] = (char)(random >> 24);
    }
    assert_int_equal(gzip_add(text, SIZE, &packed), 0);
    assert_true(packed.length > SIZE / 2);
    unpack(&packed, back, SIZE);
    assert_memory_equal(text, back, SIZE);
    buffer_done(&packed);
    free(text);
    free(back);
}

/* ---- s3 ----------------------------------------------------------------- */

TEST(s3_uris_are_converted_to_urls)
{
    static const struct {
        const char *uri, *region, *base, *url;
    } cases[] = {
        { "s3://b/k", "eu-west-1", NULL, "https://b.s3.eu-west-1.amazonaws.com/k" },
        { "s3://b/a/b.gz", "", "", "https://b.s3.amazonaws.com/a/b.gz" },
        { "s3://a.b/k", "r", NULL, "https://s3.r.amazonaws.com/a.b/k" },
        { "s3://b/a b/\xc3\xa4+%", "r", NULL,
          "https://b.s3.r.amazonaws.com/a%20b/%C3%A4%2B%25" },
        { "s3://b/k", "r", "http://127.0.0.1:8", "http://127.0.0.1:8/b/k" },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct buffer url = { 0 };

        assert_int_equal(s3_add_url(cases[i].uri, cases[i].region, cases[i].base, &url), 0);
        assert_string_equal(url.text, cases[i].url);
        buffer_done(&url);
    }
}

TEST(other_uris_are_refused)
{
    static const char *const uris[] = {
        "", "s3:", "s3://", "s3://b", "s3://b/", "http://b/k", "s3://evil.com?b/k", "s3://b@c/k"
    };

    for (size_t i = 0; i < ARRAY_SIZE(uris); i++) {
        struct buffer url = { 0 };

        assert_int_equal(s3_add_url(uris[i], "r", NULL, &url), -EINVAL);
        buffer_done(&url);
    }
}

/* ---- upload settings ---------------------------------------------------- */

static const char *const *variables; /* name, value, ..., NULL */

static const char *get(const char *name)
{
    for (const char *const *each = variables; *each; each += 2) {
        if (strcmp(*each, name) == 0)
            return each[1];
    }
    return NULL;
}

TEST(nothing_is_uploaded_by_default)
{
    static const char *const none[] = { NULL };
    struct upload_settings settings;

    variables = none;
    assert_int_equal(upload_settings_read(get, &settings, NULL), 0);
    assert_string_equal(settings.token, "");
    assert_string_equal(settings.url, "https://api.sentinel.sparecores.net");
    assert_true(settings.interval_ns == 60 * NS_PER_SECOND);
    assert_true(settings.wait_ns == 5 * NS_PER_SECOND);
    assert_true(settings.disk_limit_bytes == 100000000);
}

TEST(upload_settings_are_read_from_variables)
{
    static const char *const all[] = { "SENTINEL_API_TOKEN",
                                       "t",
                                       "SENTINEL_API_URL",
                                       "http://127.0.0.1:8//",
                                       "TRACKER_UPLOAD_INTERVAL",
                                       "0.5",
                                       "TRACKER_UPLOAD_DISK_LIMIT",
                                       "2",
                                       "TRACKER_UPLOAD_WAIT",
                                       "0",
                                       NULL };
    struct upload_settings settings;

    variables = all;
    assert_int_equal(upload_settings_read(get, &settings, NULL), 0);
    assert_string_equal(settings.token, "t");
    assert_string_equal(settings.url, "http://127.0.0.1:8");
    assert_true(settings.interval_ns == NS_PER_SECOND / 2);
    assert_true(settings.disk_limit_bytes == 2000000);
    assert_true(settings.wait_ns == 0);
}

TEST(invalid_upload_settings_are_refused)
{
    static const char *const bad[][3] = {
        { "SENTINEL_API_TOKEN", "a\nb", NULL },      { "SENTINEL_API_TOKEN", "\xc3\xa4", NULL },
        { "SENTINEL_API_URL", "api.x.net", NULL },   { "TRACKER_UPLOAD_INTERVAL", "nan", NULL },
        { "TRACKER_UPLOAD_INTERVAL", "0", NULL },    { "TRACKER_UPLOAD_INTERVAL", "1m", NULL },
        { "TRACKER_UPLOAD_DISK_LIMIT", "-1", NULL }, { "TRACKER_UPLOAD_WAIT", "inf", NULL },
    };

    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        struct upload_settings settings;
        struct spoor_error err = { 0 };

        variables = bad[i];
        assert_int_equal(upload_settings_read(get, &settings, &err), -EINVAL);
        if (strcmp(bad[i][0], "SENTINEL_API_TOKEN") == 0)
            assert_null(strstr(err.message, bad[i][1])); /* a token is a secret */
        else
            assert_non_null(strstr(err.message, bad[i][0]));
    }
}

/* ---- sentinel ----------------------------------------------------------- */

static struct buffer as_buffer(const char *text)
{
    struct buffer buffer = { 0 };

    buffer_add_text(&buffer, text);
    return buffer;
}

static int parse_run(const char *text, struct sentinel_run *ret)
{
    struct buffer answer = as_buffer(text);
    int r = sentinel_parse_run(&answer, ret, NULL);

    buffer_done(&answer);
    return r;
}

static int parse_credentials(const char *text, struct s3_credentials *ret)
{
    struct buffer answer = as_buffer(text);
    int r = sentinel_parse_credentials(&answer, ret, NULL);

    buffer_done(&answer);
    return r;
}

TEST(a_run_has_an_id_and_a_destination)
{
    struct sentinel_run run;

    assert_int_equal(parse_run("{\"run_id\":\"a-1\",\"upload_uri_prefix\":\"s3://b/c\"}", &run),
                     0);
    assert_string_equal(run.id, "a-1");
    assert_string_equal(run.uri_prefix, "s3://b/c");
    assert_int_equal(parse_run("{\"run_id\":17,\"upload_uri_prefix\":\"s3://b\"}", &run), 0);
    assert_string_equal(run.id, "17");
}

TEST(damaged_runs_are_refused)
{
    static const char *const damaged[] = {
        "",
        "[]",
        "null",
        "{\"run_id\":",
        "{\"run_id\":null,\"upload_uri_prefix\":\"s3://b\"}",
        "{\"run_id\":\"\",\"upload_uri_prefix\":\"s3://b\"}",
        "{\"run_id\":\"..\",\"upload_uri_prefix\":\"s3://b\"}",
        "{\"run_id\":\"a/b\",\"upload_uri_prefix\":\"s3://b\"}",
        "{\"run_id\":\"a?b\",\"upload_uri_prefix\":\"s3://b\"}",
        "{\"run_id\":\"a\"}",
        "{\"run_id\":\"a\",\"upload_uri_prefix\":7}",
    };

    for (size_t i = 0; i < ARRAY_SIZE(damaged); i++) {
        struct sentinel_run run = { .id = "untouched" };

        assert_int_equal(parse_run(damaged[i], &run), -EPROTO);
        assert_string_equal(run.id, "untouched");
    }
}

#define KEYS "\"access_key\":\"A\",\"secret_key\":\"S\""

TEST(credentials_may_expire)
{
    static const struct {
        const char *answer;
        double expires_at;
    } cases[] = {
        { "{\"upload_credentials\":{" KEYS ",\"expires_at\":\"2026-03-14T09:26:53Z\"}}",
          1773480413 },
        { "{\"upload_credentials\":{" KEYS ",\"expires_at\":\"2026-03-14T09:26:53.5+00:00\"}}",
          1773480413.5 },
        { "{\"upload_credentials\":{" KEYS ",\"expiration\":\"2026-03-14T09:26:53\"}}",
          1773480413 },
        { "{\"upload_credentials\":{" KEYS ",\"expires_at\":\"soon\"}}", (double)INFINITY },
        { "{\"upload_credentials\":{" KEYS "}}", (double)INFINITY },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct s3_credentials found;

        assert_int_equal(parse_credentials(cases[i].answer, &found), 0);
        assert_string_equal(found.access_key, "A");
        assert_string_equal(found.secret_key, "S");
        assert_string_equal(found.session_token, "");
        assert_string_equal(found.region, "");
        if (isinf(cases[i].expires_at))
            assert_true(isinf(found.expires_at));
        else
            assert_true(fabs(found.expires_at - cases[i].expires_at) < 1e-6);
    }
}

TEST(credentials_may_have_a_region_and_a_token)
{
    struct s3_credentials found;

    assert_int_equal(parse_credentials("{\"upload_credentials\":{" KEYS
                                       ",\"session_token\":\"T\",\"region\":\"eu-west-1\"}}",
                                       &found),
                     0);
    assert_string_equal(found.session_token, "T");
    assert_string_equal(found.region, "eu-west-1");
    assert_int_equal(
        parse_credentials("{\"upload_credentials\":{\"access_key\":\"A\"}}", &found), -EPROTO);
    assert_int_equal(parse_credentials("{" KEYS "}", &found), -EPROTO);
}
