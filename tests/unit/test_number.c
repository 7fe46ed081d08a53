/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <float.h>
#include <jansson.h>
#include <locale.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/amount.h"
#include "base/compiler.h"
#include "output/stream.h"
#include "text/number.h"
#include "unit_test.h"

/* ---- decimal --------------------------------------------------------------- */

TEST(floats_are_formatted_as_by_python)
{
    static const struct {
        double value;
        const char *expected;
    } rows[] = {
        { 0, "0.0" },
        { -0.0, "-0.0" },
        { 1, "1.0" },
        { 0.1, "0.1" },
        { 0.1 + 0.2, "0.30000000000000004" },
        { 67.254165504, "67.254165504" },
        { 1746129779.2048252, "1746129779.2048252" },
        { 31000000000.0, "31000000000.0" },
        { 1e15, "1000000000000000.0" },
        { 9007199254740993.0, "9007199254740992.0" },
        { 1e16, "1e+16" },
        { 1.5e22, "1.5e+22" },
        { 0.0001, "0.0001" },
        { 0.00001, "1e-05" },
        { -1.25e-9, "-1.25e-09" },
        { DBL_MAX, "1.7976931348623157e+308" },
        { -DBL_MIN, "-2.2250738585072014e-308" },
        { HUGE_VAL, "inf" },
        { -HUGE_VAL, "-inf" },
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        assert_string_equal(decimal_float(rows[i].value).text, rows[i].expected);
    assert_string_equal(decimal_float(nan("")).text, "nan");
}

TEST(a_number_has_no_more_digits_than_needed)
{
    assert_string_equal(decimal_number(-0.0).text, "0");
    assert_string_equal(decimal_number(5).text, "5");
    assert_string_equal(decimal_number(1e16).text, "10000000000000000");
    assert_string_equal(decimal_number(0.00001).text, "0.00001");
    assert_string_equal(decimal_number(HUGE_VAL).text, "");
}

TEST(a_fixed_number_has_all_its_decimals)
{
    assert_string_equal(decimal_fixed(0, 4).text, "0.0000");
    assert_string_equal(decimal_fixed(1.5, 3).text, "1.500");
    assert_string_equal(decimal_fixed(-2.5, 0).text, "-2"); /* a tie rounds to even */
    assert_string_equal(decimal_fixed(0.125, 2).text, "0.12");
    /* The double nearest to 2.675 is a little less. */
    assert_string_equal(decimal_fixed(2.675, 2).text, "2.67");
    assert_string_equal(decimal_fixed(123456789012345.678, 9).text,
                        "123456789012345.671875000");
    assert_string_equal(decimal_fixed(1e15, 2).text, "");
    assert_string_equal(decimal_fixed(nan(""), 2).text, "");
}

static bool is_same(double a, double b)
{
    return !(a < b) && !(a > b);
}

TEST(numbers_are_rounded_as_by_python)
{
    assert_true(is_same(decimal_round(2.675, 2), 2.67));
    assert_true(is_same(decimal_round(0.00005, 4), 0.0001));
    assert_true(is_same(decimal_round(1773480413.5894, 3), 1773480413.589));
    assert_true(is_same(decimal_round(1e300, 3), 1e300));
    assert_true(isnan(decimal_round(nan(""), 3)));
}

static double parsed(const char *text)
{
    double value = 42;

    assert_int_equal(decimal_parse(text, &value), 0);
    return value;
}

TEST(a_number_is_read_exactly)
{
    uint64_t random = 88172645463325252ull;

    assert_true(is_same(parsed("1746129779.2048252"), 1746129779.2048252));
    assert_true(is_same(parsed("-0"), 0));
    assert_true(is_same(parsed("+.5"), 0.5));
    assert_true(is_same(parsed("5."), 5));
    assert_true(is_same(parsed("1e-07"), 1e-7));
    assert_true(is_same(parsed("1E3"), 1000));
    for (int i = 0; i < 20000; i++) {
        double value;

        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        memcpy(&value, &random, sizeof(value));
        if (isfinite(value))
            assert_true(is_same(parsed(decimal_float(value).text), value));
    }
}

TEST(an_invalid_number_is_refused)
{
    static const char *const texts[] = { "",      ".",   "-",      "nan", "inf", "0x10",
                                         " 1",    "1 ",  "1,5",    "1e",  "1e+", "e5",
                                         "1.2.3", "--1", "1e9999", "five" };
    char text[500];
    double value = 42;

    for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
        assert_int_equal(decimal_parse(texts[i], &value), -EBADMSG);
    memset(text, '1', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    assert_int_equal(decimal_parse(text, &value), -EBADMSG);
    assert_true(is_same(value, 42));
}

TEST(the_locale_does_not_change_the_decimal_point)
{
    static const char *const names[] = { "de_DE.UTF-8", "fr_FR.UTF-8", "de_DE" };

    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        if (setlocale(LC_NUMERIC, names[i]))
            break;
    }
    assert_string_equal(decimal_float(1.5).text, "1.5");
    assert_string_equal(decimal_fixed(1.5, 2).text, "1.50");
    assert_true(is_same(decimal_round(1.56, 1), 1.6));
    assert_true(is_same(parsed("1.5"), 1.5));
    setlocale(LC_NUMERIC, "C");
}

/* ---- number ---------------------------------------------------------------- */

static void check_number(double value, const char *expected)
{
    struct buffer out = { 0 };

    number_write(value, &out);
    assert_string_equal(out.text ? out.text : "", expected);
    buffer_done(&out);
}

TEST(numbers_have_the_shortest_form)
{
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

TEST(numbers_that_are_not_finite_are_not_written)
{
    check_number(nan(""), "");
    check_number(HUGE_VAL, "");
    check_number(-HUGE_VAL, "");
}

TEST(numbers_survive_a_round_trip)
{
    uint64_t random = 88172645463325252ull;

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

TEST(the_locale_does_not_change_numbers)
{
    static const char *const names[] = { "de_DE.UTF-8", "fr_FR.UTF-8", "de_DE", "C.UTF-8" };

    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        if (!setlocale(LC_ALL, names[i]))
            continue; /* not installed, unlike C.UTF-8 */
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

TEST(nanoseconds_are_written_as_seconds)
{
    check_seconds(0, 0, "0");
    check_seconds(0, 3, "0.000");
    check_seconds(1, 0, "0.000000001");
    check_seconds(1500000000, 0, "1.5");
    check_seconds(1500000000, 3, "1.500");
    check_seconds(1773480413589123456, 3, "1773480413.589123456");
    check_seconds(UINT64_MAX - 1, 0, "18446744073.709551614");
}

TEST(raw_values_are_written_in_their_base_unit)
{
    struct buffer out = { 0 };

    metric_write(METRIC_JOB_CPU, UNKNOWN, &out);
    assert_int_equal(out.length, 0);
    metric_write(METRIC_JOB_CPU, 250000000, &out);
    assert_string_equal(out.text, "0.25");
    buffer_clear(&out);
    metric_write(METRIC_JOB_RSS, UINT64_MAX - 1, &out);
    assert_string_equal(out.text, "18446744073709551614");
    buffer_done(&out);
}

/* web/report/tests/unit/format.test.ts has the same cases. */
TEST(human_readable_numbers_match_the_report_page)
{
    static const struct {
        const char *name;
        struct number (*write)(double value);
    } formats[] = {
        { "bytes", number_bytes },         { "rate", number_rate },
        { "duration", number_duration },   { "energy", number_energy },
        { "percent", number_percent },     { "short", number_short },
        { "count", number_count },         { "memory_step", number_memory_step },
        { "time_step", number_time_step },
    };
    json_t *cases = json_load_file(NUMBER_CASES, 0, NULL), *pair;
    size_t i;

    assert_int_equal(json_object_size(cases), ARRAY_SIZE(formats));
    for (size_t k = 0; k < ARRAY_SIZE(formats); k++) {
        const json_t *rows = json_object_get(cases, formats[k].name);

        assert_true(json_array_size(rows) > 0);
        json_array_foreach(rows, i, pair)
        {
            const json_t *value = json_array_get(pair, 0);

            assert_string_equal(
                formats[k]
                    .write(json_is_null(value) ? (double)NAN : json_number_value(value))
                    .text,
                json_string_value(json_array_get(pair, 1)));
        }
    }
    json_decref(cases);
}

/* ---- rounded --------------------------------------------------------------- */

static const char *write(double value, struct buffer *out)
{
    buffer_clear(out);
    buffer_add_text(out, "");
    rounded_write(value, out);
    return out->text;
}

TEST(numbers_of_four_digits_have_no_trailing_zeros)
{
    static const struct {
        double value;
        const char *text;
    } cases[] = {
        { 0, "0" },
        { 1, "1" },
        { 10, "10" },
        { 0.5, "0.5" },
        { 12345, "12350" },
        { 123.45, "123.5" },
        { 0.012345, "0.01235" },
        { 9999.6, "10000" },
        { -7.25, "-7.25" },
        { 1234567890, "1.235e9" },
        { 1e9, "1e9" },
        { 2000000, "2000000" },
        { 12340000, "1.234e7" },
        { 1.2e-7, "1.2e-7" },
        { 0.0001, "0.0001" },
        { 0.000012345, "1.235e-5" },
        { 0.99996, "1" },
        { 1e-40, "0" },
    };
    struct buffer out = { 0 };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        assert_string_equal(write(cases[i].value, &out), cases[i].text);
    assert_string_equal(write((double)NAN, &out), "");
    assert_string_equal(write((double)INFINITY, &out), "");
    buffer_done(&out);
}

/* Numbers may be stored as float, as in curves. */
TEST(numbers_that_were_read_are_written_unchanged)
{
    struct buffer first = { 0 }, second = { 0 };
    double value = 1.2345e-9;

    for (int i = 0; i < 20000; i++, value *= 1.00213) {
        const char *text = write(value, &first);
        double back = (double)(float)strtod(text, NULL);

        assert_true(fabs(back - value) <= 0.00051 * value);
        assert_string_equal(write(back, &second), text);
        assert_true(rounded_equal(back, value));
    }
    buffer_done(&first);
    buffer_done(&second);
}

TEST(numbers_with_the_same_text_are_equal)
{
    assert_true(rounded_equal(12345.1, 12345.2));
    assert_false(rounded_equal(12345, 12355));
    assert_false(rounded_equal(1, -1));
    assert_true(rounded_equal(0, 0));
    assert_true(rounded_equal((double)NAN, (double)NAN));
    assert_false(rounded_equal((double)NAN, 0));
}
