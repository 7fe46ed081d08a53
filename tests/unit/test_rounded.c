/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above */
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>

#include "base/compiler.h"
#include "text/rounded.h"

static const char *write(double value, struct buffer *out)
{
    buffer_clear(out);
    buffer_add_text(out, "");
    rounded_write(value, out);
    return out->text;
}

static void four_digits_are_written_without_zeros_at_the_end(void **state)
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

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        assert_string_equal(write(cases[i].value, &out), cases[i].text);
    assert_string_equal(write((double)NAN, &out), "");
    assert_string_equal(write((double)INFINITY, &out), "");
    buffer_done(&out);
}

/* Also as a float, which is what curves are kept as. */
static void what_was_read_back_is_written_the_same(void **state)
{
    struct buffer first = { 0 }, second = { 0 };
    double value = 1.2345e-9;

    (void)state;
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

static void numbers_are_equal_if_they_are_written_the_same(void **state)
{
    (void)state;
    assert_true(rounded_equal(12345.1, 12345.2));
    assert_false(rounded_equal(12345, 12355));
    assert_false(rounded_equal(1, -1));
    assert_true(rounded_equal(0, 0));
    assert_true(rounded_equal((double)NAN, (double)NAN));
    assert_false(rounded_equal((double)NAN, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(four_digits_are_written_without_zeros_at_the_end),
        cmocka_unit_test(what_was_read_back_is_written_the_same),
        cmocka_unit_test(numbers_are_equal_if_they_are_written_the_same),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
