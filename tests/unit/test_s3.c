/* SPDX-License-Identifier: Apache-2.0 */
/* test_s3.c - the URLs of objects. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above */
#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "base/compiler.h"
#include "services/upload/s3.h"

static void objects_have_urls(void **state)
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

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct buffer url = { 0 };

        assert_int_equal(s3_add_url(cases[i].uri, cases[i].region, cases[i].base, &url), 0);
        assert_string_equal(url.text, cases[i].url);
        buffer_done(&url);
    }
}

static void other_uris_are_refused(void **state)
{
    static const char *const uris[] = {
        "", "s3:", "s3://", "s3://b", "s3://b/", "http://b/k", "s3://evil.com?b/k", "s3://b@c/k"
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(uris); i++) {
        struct buffer url = { 0 };

        assert_int_equal(s3_add_url(uris[i], "r", NULL, &url), -EINVAL);
        buffer_done(&url);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(objects_have_urls),
        cmocka_unit_test(other_uris_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
