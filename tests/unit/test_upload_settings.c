/* SPDX-License-Identifier: Apache-2.0 */
/* test_upload_settings.c - the variables of uploads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above */
#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "services/upload/upload_settings.h"

static const char *const *variables; /* name, value, ..., NULL */

static const char *get(const char *name)
{
    for (const char *const *each = variables; *each; each += 2) {
        if (strcmp(*each, name) == 0)
            return each[1];
    }
    return NULL;
}

static void nothing_is_uploaded_by_default(void **state)
{
    static const char *const none[] = { NULL };
    struct upload_settings settings;

    (void)state;
    variables = none;
    assert_int_equal(upload_settings_read(get, &settings, NULL), 0);
    assert_string_equal(settings.token, "");
    assert_string_equal(settings.url, "https://api.sentinel.sparecores.net");
    assert_true(settings.interval_ns == 60 * NS_PER_SECOND);
    assert_true(settings.wait_ns == 5 * NS_PER_SECOND);
    assert_true(settings.disk_limit_bytes == 100000000);
}

static void variables_are_read(void **state)
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

    (void)state;
    variables = all;
    assert_int_equal(upload_settings_read(get, &settings, NULL), 0);
    assert_string_equal(settings.token, "t");
    assert_string_equal(settings.url, "http://127.0.0.1:8");
    assert_true(settings.interval_ns == NS_PER_SECOND / 2);
    assert_true(settings.disk_limit_bytes == 2000000);
    assert_true(settings.wait_ns == 0);
}

static void bad_values_are_refused(void **state)
{
    static const char *const bad[][3] = {
        { "SENTINEL_API_TOKEN", "a\nb", NULL },      { "SENTINEL_API_TOKEN", "\xc3\xa4", NULL },
        { "SENTINEL_API_URL", "api.x.net", NULL },   { "TRACKER_UPLOAD_INTERVAL", "nan", NULL },
        { "TRACKER_UPLOAD_INTERVAL", "0", NULL },    { "TRACKER_UPLOAD_INTERVAL", "1m", NULL },
        { "TRACKER_UPLOAD_DISK_LIMIT", "-1", NULL }, { "TRACKER_UPLOAD_WAIT", "inf", NULL },
    };

    (void)state;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_uploaded_by_default),
        cmocka_unit_test(variables_are_read),
        cmocka_unit_test(bad_values_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
