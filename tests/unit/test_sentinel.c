/* SPDX-License-Identifier: Apache-2.0 */
/* test_sentinel.c - the answers of the service. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above */
#include <cmocka.h>
#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/compiler.h"
#include "services/upload/sentinel.h"

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

static void a_run_has_an_id_and_a_place(void **state)
{
    struct sentinel_run run;

    (void)state;
    assert_int_equal(parse_run("{\"run_id\":\"a-1\",\"upload_uri_prefix\":\"s3://b/c\"}", &run),
                     0);
    assert_string_equal(run.id, "a-1");
    assert_string_equal(run.uri_prefix, "s3://b/c");
    assert_int_equal(parse_run("{\"run_id\":17,\"upload_uri_prefix\":\"s3://b\"}", &run), 0);
    assert_string_equal(run.id, "17");
}

static void refuses_damaged_runs(void **state)
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

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(damaged); i++) {
        struct sentinel_run run = { .id = "untouched" };

        assert_int_equal(parse_run(damaged[i], &run), -EPROTO);
        assert_string_equal(run.id, "untouched");
    }
}

#define KEYS "\"access_key\":\"A\",\"secret_key\":\"S\""

static void credentials_may_expire(void **state)
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

    (void)state;
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

static void credentials_may_have_a_region_and_a_token(void **state)
{
    struct s3_credentials found;

    (void)state;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_has_an_id_and_a_place),
        cmocka_unit_test(refuses_damaged_runs),
        cmocka_unit_test(credentials_may_expire),
        cmocka_unit_test(credentials_may_have_a_region_and_a_token),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
