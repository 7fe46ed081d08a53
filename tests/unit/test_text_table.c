/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above */
#include <cmocka.h>
#include <math.h>

#include "base/compiler.h"
#include "compat/gpu_tracker/subtrack/text_table.h"

static void check_table(const struct text_table *table, unsigned tabs, const char *expected)
{
    struct buffer out = { 0 };

    text_table_write(table, tabs, &out);
    assert_string_equal(out.text, expected);
    buffer_done(&out);
}

static void a_number_has_at_most_eight_decimals(void **state)
{
    (void)state;
    assert_string_equal(cell_number(0).text, "0.0");
    assert_string_equal(cell_number(13).text, "13.0");
    assert_string_equal(cell_number(0.086913024).text, "0.08691302");
    assert_string_equal(cell_number(0.00000177).text, "1.77e-06");
    assert_string_equal(cell_number(1e-9).text, "0.0");
    assert_string_equal(cell_number(31000000000.5).text, "31000000000.5");
    assert_string_equal(cell_number(nan("")).text, "NaN");
    assert_string_equal(cell_number(1e300).text, "1e+300");
}

static void a_column_of_numbers_is_wider_than_its_header(void **state)
{
    static const char *const headers[] = { "min", "std" };
    static const char *const index[] = { "a", "main" };
    static const struct cell_text cells[] = { { "0.25" }, { "0.0" }, { "12.125" }, { "1.0" } };
    const struct text_table table = { headers, index, cells, 2, 2, false };

    (void)state;
    check_table(&table, 1,
                "\t        min  std\n"
                "\ta      0.25  0.0\n"
                "\tmain 12.125  1.0\n");
}

static void a_column_of_words_is_wider_than_its_cells(void **state)
{
    static const char *const headers[] = { "unit", "cores" };
    static const struct cell_text cells[] = { { "bytes" }, { "12" } };
    const struct text_table table = { headers, NULL, cells, 1, 2, true };

    (void)state;
    check_table(&table, 0,
                "   unit cores\n"
                "  bytes    12\n");
}

static void width_is_counted_in_characters(void **state)
{
    static const char *const headers[] = { "\xc3\xa9t\xc3\xa9" };
    static const struct cell_text cells[] = { { "12345.5" } };
    const struct text_table table = { headers, NULL, cells, 1, 1, false };

    (void)state;
    check_table(&table, 0, "     \xc3\xa9t\xc3\xa9\n 12345.5\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_number_has_at_most_eight_decimals),
        cmocka_unit_test(a_column_of_numbers_is_wider_than_its_header),
        cmocka_unit_test(a_column_of_words_is_wider_than_its_cells),
        cmocka_unit_test(width_is_counted_in_characters),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
