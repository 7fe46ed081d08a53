/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "text/number.h"
#include "unit_test.h"

TEST(numbers_are_read_as_strtod_does)
{
    static const char *const texts[] = {
        "0",
        "1",
        "-1",
        "12.5",
        "0.000001",
        "1773480413.589123456",
        "1e3",
        "1.5E-7",
        "-2.5e+10",
        "123456789012345678",
        "98765432109876543210987",
        "0.1234567890123456789012345",
        "1e300",
        "4.9e-324",
        "1e400",
        "0e400",
        "-0e400",
        "007",
        "5.",
    };

    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        const char *cursor = texts[i];
        double value, expected = strtod(texts[i], NULL);

        assert_int_equal(number_read(&cursor, &value), 0);
        assert_int_equal(*cursor, '\0');
        if (isinf(expected))
            assert_true(isinf(value));
        else
            assert_true(fabs(value - expected) <= 1e-15 * fabs(expected) + 1e-320);
    }
}

TEST(the_cursor_stops_after_the_number)
{
    const char *text = "12.5,3e,x", *cursor = text;
    double value;

    assert_int_equal(number_read(&cursor, &value), 0);
    assert_ptr_equal(cursor, text + 4);
    cursor++;
    assert_int_equal(number_read(&cursor, &value), 0);
    assert_ptr_equal(cursor, text + 6); /* the 'e' does not belong to the number */
    cursor = text + 8;
    assert_int_equal(number_read(&cursor, &value), -EBADMSG);
    assert_ptr_equal(cursor, text + 8);
}

TEST(an_invalid_number_is_refused)
{
    static const char *const texts[] = { "", "-", ".", "e5", "nan", "inf", "+1", " 1", "-.e1" };

    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        const char *cursor = texts[i];
        double value = 7;

        assert_int_equal(number_read(&cursor, &value), -EBADMSG);
        assert_true(fabs(value - 7) < 1e-9);
    }
}
