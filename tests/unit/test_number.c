/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above */
#include <cmocka.h>
#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/unknown.h"
#include "output/measure.h"
#include "text/number.h"

static void check_number(double value, const char *expected)
{
    struct buffer out = { 0 };

    number_write(value, &out);
    assert_string_equal(out.text ? out.text : "", expected);
    buffer_done(&out);
}

static void numbers_are_as_short_as_they_can_be(void **state)
{
    (void)state;
    check_number(0, "0");
    check_number(0.1, "0.1");
    check_number(1.0 / 3, "0.3333333333333333");
    check_number(0.1 + 0.2, "0.30000000000000004");
    check_number(1462000000, "1462000000");
    check_number(-2.5, "-2.5");
    check_number(0.00001, "0.00001");
    check_number(1e-7, "1e-07");
    check_number(1.25e-9, "1.25e-09");
    check_number(123456789.125, "123456789.125");
    check_number(9007199254740993.0, "9007199254740992");
    check_number(1e16, "10000000000000000");
    check_number(1e22, "1e+22");
    check_number(DBL_MAX, "1.7976931348623157e+308");
}

static void what_is_not_finite_is_not_written(void **state)
{
    (void)state;
    check_number(nan(""), "");
    check_number(HUGE_VAL, "");
    check_number(-HUGE_VAL, "");
}

static void numbers_read_back_as_they_were(void **state)
{
    uint64_t random = 88172645463325252ull;

    (void)state;
    for (int i = 0; i < 20000; i++) {
        struct buffer out = { 0 };
        double value, again;

        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        memcpy(&value, &random, sizeof(value));
        if (!isfinite(value))
            continue;
        number_write(value, &out);
        again = strtod(out.text, NULL);
        assert_memory_equal(&value, &again, sizeof(value));
        buffer_done(&out);
    }
}

static void the_locale_changes_nothing(void **state)
{
    static const char *const names[] = { "de_DE.UTF-8", "fr_FR.UTF-8", "de_DE", "C.UTF-8" };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        if (!setlocale(LC_ALL, names[i]))
            continue; /* C.UTF-8 is always there */
        check_number(0.5, "0.5");
        check_number(1234567.25, "1234567.25");
        assert_string_equal(number_bytes(1.46e9).text, "1.46 GB");
    }
    setlocale(LC_ALL, "C");
}

static void check_seconds(uint64_t nanoseconds, unsigned decimals, const char *expected)
{
    struct buffer out = { 0 };

    number_write_seconds(nanoseconds, decimals, &out);
    assert_string_equal(out.text, expected);
    buffer_done(&out);
}

static void nanoseconds_are_written_as_seconds(void **state)
{
    (void)state;
    check_seconds(0, 0, "0");
    check_seconds(0, 3, "0.000");
    check_seconds(1, 0, "0.000000001");
    check_seconds(1500000000, 0, "1.5");
    check_seconds(1500000000, 3, "1.500");
    check_seconds(1773480413589123456, 3, "1773480413.589123456");
    check_seconds(UINT64_MAX - 1, 0, "18446744073.709551614");
}

static void raw_values_are_written_in_their_base_unit(void **state)
{
    struct buffer out = { 0 };

    (void)state;
    metric_write(METRIC_JOB_CPU, UNKNOWN, &out);
    assert_int_equal(out.length, 0);
    metric_write(METRIC_JOB_CPU, 250000000, &out);
    assert_string_equal(out.text, "0.25");
    buffer_clear(&out);
    metric_write(METRIC_JOB_RSS, UINT64_MAX - 1, &out);
    assert_string_equal(out.text, "18446744073709551614");
    buffer_done(&out);
}

static void people_get_three_digits_and_a_unit(void **state)
{
    (void)state;
    assert_string_equal(number_bytes(0).text, "0 B");
    assert_string_equal(number_bytes(999).text, "999 B");
    assert_string_equal(number_bytes(999.6).text, "1.00 kB");
    assert_string_equal(number_bytes(1000).text, "1.00 kB");
    assert_string_equal(number_bytes(9994).text, "9.99 kB");
    assert_string_equal(number_bytes(9996).text, "10.0 kB");
    assert_string_equal(number_bytes(99960).text, "100 kB");
    assert_string_equal(number_bytes(999600).text, "1.00 MB");
    assert_string_equal(number_bytes(524288000).text, "524 MB");
    assert_string_equal(number_bytes(1.8e19).text, "18.0 EB");
    assert_string_equal(number_bytes(nan("")).text, "n/a");
    assert_string_equal(number_short(3.349).text, "3.35");
    assert_string_equal(number_short(128).text, "128");
    assert_string_equal(number_count(312).text, "312");
    assert_string_equal(number_count(nan("")).text, "n/a");
}

static void durations_have_the_units_that_fit(void **state)
{
    static const struct {
        double seconds;
        const char *text;
    } rows[] = {
        { 0, "0 s" },
        { 0.0000004, "0 us" },
        { 0.000412, "412 us" },
        { 0.0009996, "1.00 ms" },
        { 0.0412, "41.2 ms" },
        { 0.9994, "999 ms" },
        { 0.9996, "1.00 s" },
        { 12.34, "12.3 s" },
        { 59.94, "59.9 s" },
        { 59.96, "1 min 00 s" },
        { 245, "4 min 05 s" },
        { 3599.4, "59 min 59 s" },
        { 3599.6, "1 h 00 min" },
        { 7380, "2 h 03 min" },
        { 86380, "1 d 00 h" },
        { 3 * 86400 + 4 * 3600, "3 d 04 h" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        assert_string_equal(number_duration(rows[i].seconds).text, rows[i].text);
    assert_string_equal(number_duration(nan("")).text, "n/a");
}

static void a_share_is_never_rounded_to_nothing(void **state)
{
    (void)state;
    assert_string_equal(number_energy(0.5).text, "0.50 J");
    assert_string_equal(number_energy(499).text, "499 J");
    assert_string_equal(number_energy(999.6).text, "1.00 kJ");
    assert_string_equal(number_energy(4.2e6).text, "4.20 MJ");
    assert_string_equal(number_energy(nan("")).text, "n/a");
    assert_string_equal(number_percent(0).text, "0.0 %");
    assert_string_equal(number_percent(0.00001).text, "<0.1 %");
    assert_string_equal(number_percent(0.003).text, "0.3 %");
    assert_string_equal(number_percent(0.0996).text, "10 %");
    assert_string_equal(number_percent(0.684).text, "68 %");
    assert_string_equal(number_percent(2).text, "200 %");
    assert_string_equal(number_percent(nan("")).text, "n/a");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_as_short_as_they_can_be),
        cmocka_unit_test(what_is_not_finite_is_not_written),
        cmocka_unit_test(numbers_read_back_as_they_were),
        cmocka_unit_test(the_locale_changes_nothing),
        cmocka_unit_test(nanoseconds_are_written_as_seconds),
        cmocka_unit_test(raw_values_are_written_in_their_base_unit),
        cmocka_unit_test(people_get_three_digits_and_a_unit),
        cmocka_unit_test(durations_have_the_units_that_fit),
        cmocka_unit_test(a_share_is_never_rounded_to_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
