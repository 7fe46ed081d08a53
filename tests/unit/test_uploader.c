/* SPDX-License-Identifier: Apache-2.0 */
/* test_uploader.c - the names of batches, and their summary.
 * (tests/functional/test_upload.py tests the uploads.) */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above */
#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "services/upload/uploader.h"

static void batches_are_numbered(void **state)
{
    struct spool spool = { .run = { "r-1", "s3://b/c//" } };
    struct buffer uri = { 0 };

    (void)state;
    assert_int_equal(uploader_add_uri(&spool, 7, &uri), 0);
    assert_string_equal(uri.text, "s3://b/c/r-1/000007.csv.gz");
    spool.has_short_keys = true;
    buffer_clear(&uri);
    assert_int_equal(uploader_add_uri(&spool, 12345, &uri), 0);
    assert_string_equal(uri.text, "s3://b/c/12345.csv.gz");
    buffer_done(&uri);
}

static void assert_summary(const struct spool *spool, const char *answer, const char *expected)
{
    struct buffer text = { 0 }, body = { 0 };
    struct json_writer json = { .out = &text, .style = &json_compact };

    buffer_add_text(&body, answer);
    json_begin(&json, NULL, '{');
    uploader_add_summary(spool, &body, &json);
    json_end(&json);
    assert_string_equal(text.text, expected);
    buffer_done(&text);
    buffer_done(&body);
}

static void a_summary_is_json_for_every_response(void **state)
{
    struct spool spool = { .run = { "", "s3://b" } };

    (void)state;
    assert_summary(&spool, "", "{\"run_id\":null,\"data_uris\":[],\"result\":null}");
    spool.run.id[0] = 'r';
    spool.batches = 1;
    assert_summary(
        &spool, "<html>",
        "{\"run_id\":\"r\",\"data_uris\":[\"s3://b/r/000000.csv.gz\"],\"result\":null}");
    spool.batches = 0;
    assert_summary(&spool, "{\"a\": \"\\n\"}",
                   "{\"run_id\":\"r\",\"data_uris\":[],\"result\":{\"a\":\"\\n\"}}");
}

/* A damaged state.json may contain anything. */
static void a_too_long_list_of_names_is_an_error(void **state)
{
    struct spool spool = { .run = { "r", "s3://b" }, .batches = UINT64_MAX };
    struct buffer text = { 0 }, none = { 0 };
    struct json_writer json = { .out = &text, .style = &json_compact };

    (void)state;
    memset(spool.run.uri_prefix, 'x', sizeof(spool.run.uri_prefix) - 1);
    json_begin(&json, NULL, '{');
    uploader_add_summary(&spool, &none, &json);
    json_end(&json);
    assert_int_equal(buffer_error(&text), -EFBIG);
    buffer_done(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(batches_are_numbered),
        cmocka_unit_test(a_summary_is_json_for_every_response),
        cmocka_unit_test(a_too_long_list_of_names_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
