/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above */
#include <cmocka.h>
#include <errno.h>
#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/compiler.h"
#include "text/decimal.h"

static void a_float_is_written_as_python_does(void **state)
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

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        assert_string_equal(decimal_float(rows[i].value).text, rows[i].expected);
    assert_string_equal(decimal_float(nan("")).text, "nan");
}

static void a_number_has_no_more_than_it_needs(void **state)
{
    (void)state;
    assert_string_equal(decimal_number(-0.0).text, "0");
    assert_string_equal(decimal_number(5).text, "5");
    assert_string_equal(decimal_number(1e16).text, "10000000000000000");
    assert_string_equal(decimal_number(0.00001).text, "0.00001");
    assert_string_equal(decimal_number(HUGE_VAL).text, "");
}

static void a_fixed_number_has_all_its_decimals(void **state)
{
    (void)state;
    assert_string_equal(decimal_fixed(0, 4).text, "0.0000");
    assert_string_equal(decimal_fixed(1.5, 3).text, "1.500");
    assert_string_equal(decimal_fixed(-2.5, 0).text, "-2"); /* to the even one */
    assert_string_equal(decimal_fixed(0.125, 2).text, "0.12");
    assert_string_equal(decimal_fixed(2.675, 2).text, "2.67"); /* it is a little less */
    assert_string_equal(decimal_fixed(123456789012345.678, 9).text,
                        "123456789012345.671875000");
    assert_string_equal(decimal_fixed(1e15, 2).text, "");
    assert_string_equal(decimal_fixed(nan(""), 2).text, "");
}

static bool is_same(double a, double b)
{
    return !(a < b) && !(a > b);
}

static void numbers_are_rounded_as_python_does(void **state)
{
    (void)state;
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

static void a_number_is_read_to_the_last_bit(void **state)
{
    uint64_t random = 88172645463325252ull;

    (void)state;
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

static void what_is_no_number_is_refused(void **state)
{
    static const char *const texts[] = { "",      ".",   "-",      "nan", "inf", "0x10",
                                         " 1",    "1 ",  "1,5",    "1e",  "1e+", "e5",
                                         "1.2.3", "--1", "1e9999", "five" };
    char text[500];
    double value = 42;

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
        assert_int_equal(decimal_parse(texts[i], &value), -EBADMSG);
    memset(text, '1', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    assert_int_equal(decimal_parse(text, &value), -EBADMSG);
    assert_true(is_same(value, 42));
}

static void the_locale_changes_nothing(void **state)
{
    static const char *const names[] = { "de_DE.UTF-8", "fr_FR.UTF-8", "de_DE" };

    (void)state;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_float_is_written_as_python_does),
        cmocka_unit_test(a_number_has_no_more_than_it_needs),
        cmocka_unit_test(a_fixed_number_has_all_its_decimals),
        cmocka_unit_test(numbers_are_rounded_as_python_does),
        cmocka_unit_test(a_number_is_read_to_the_last_bit),
        cmocka_unit_test(what_is_no_number_is_refused),
        cmocka_unit_test(the_locale_changes_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
