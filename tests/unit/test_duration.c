/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above */
#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "base/compiler.h"
#include "front/spoor/duration.h"

static void times_are_read_with_and_without_units(void **state)
{
    static const struct {
        const char *text;
        uint64_t ns;
    } good[] = {
        { "1", 1000000000 },
        { "0.5", 500000000 },
        { ".5", 500000000 },
        { "5.", 5000000000 },
        { "500ms", 500000000 },
        { "0.25ms", 250000 },
        { "10us", 10000 },
        { "1s", 1000000000 },
        { "2m", 120000000000 },
        { "1.5min", 90000000000 },
        { "1h", 3600000000000 },
        { "1d", 86400000000000 },
        { "0", 0 },
        { "0.1", 100000000 },
        { "0.3", 300000000 },
        { "0.000000001", 1 },
        { "0.0000000019", 1 },
        { "007", 7000000000 },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
        uint64_t ns = 42;

        assert_int_equal(duration_parse(good[i].text, &ns), 0);
        assert_int_equal(ns, good[i].ns);
    }
}

static void what_is_no_time_is_refused(void **state)
{
    static const char *const bad[] = {
        "",    " ",   ".",    "nan",   "inf", "-",    "x",     "1x",     "1 s",      " 1",
        "1e3", "0x1", "1,5",  "1.2.3", "--1", "+1",   "1ms ",  "ms",     ".ms",      "1S",
        "-x",  "1\n", "1sec", "1.ss",  "-.",  "-nan", "1h30m", "1\x1b[", "infinity",
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        uint64_t ns = 42;

        assert_int_equal(duration_parse(bad[i], &ns), -EBADMSG);
        assert_int_equal(ns, 42); /* untouched on failure */
    }
}

static void what_does_not_fit_is_out_of_range(void **state)
{
    static const char *const bad[] = { "-1",
                                       "-0.5ms",
                                       "99999999999999999999",
                                       "18446744074",
                                       "18446744073.999999999",
                                       "99999999999999999999.5h" };
    char huge[5000];

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        uint64_t ns = 42;

        assert_int_equal(duration_parse(bad[i], &ns), -ERANGE);
        assert_int_equal(ns, 42);
    }
    memset(huge, '9', sizeof(huge) - 1);
    huge[sizeof(huge) - 1] = '\0';
    assert_int_equal(duration_parse(huge, &(uint64_t){ 0 }), -ERANGE);
    huge[1] = '.';
    assert_int_equal(duration_parse(huge, &(uint64_t){ 0 }), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_are_read_with_and_without_units),
        cmocka_unit_test(what_is_no_time_is_refused),
        cmocka_unit_test(what_does_not_fit_is_out_of_range),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
