/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "base/amount.h"
#include "text/csv.h"
#include "unit_test.h"

static void check_row(const struct csv_dialect *dialect, const char *text, const char *expected)
{
    struct buffer out = { 0 };
    struct csv_writer csv = { .out = &out, .dialect = dialect };

    csv_add_text(&csv, text);
    csv_add_number(&csv, 3);
    csv_add_number(&csv, 1e-7);
    csv_add_u64(&csv, 7);
    csv_add_i64(&csv, -7);
    csv_add_seconds(&csv, 1500000000, 3);
    csv_end_row(&csv);
    assert_int_equal(buffer_error(&out), 0);
    assert_string_equal(out.text, expected);
    buffer_done(&out);
}

TEST(dialects_differ_in_quotes_numbers_and_line_ends)
{
    check_row(NULL, "a\tb,c", "\"a\\tb,c\",3,1e-07,7,-7,1.500\n");
    check_row(&csv_safe, "", "\"\",3,1e-07,7,-7,1.500\n");
    check_row(&csv_python, "a\tb,c", "\"a\tb,c\",3.0,1e-07,7,-7,1.500\r\n");
    check_row(&csv_python, " a", " a,3.0,1e-07,7,-7,1.500\r\n");
    check_row(&csv_pandas, "", ",3.0,1e-07,7,-7,1.500\n");
    check_row(&csv_quoted, "", "\"\",3.0,1e-07,7,-7,1.500\n");
    check_row(&csv_quoted_crlf, "a", "\"a\",3.0,1e-07,7,-7,1.500\r\n");
}

TEST(an_unknown_value_is_an_empty_cell)
{
    static const struct csv_dialect *const dialects[] = { &csv_safe, &csv_pandas };

    for (size_t i = 0; i < 2; i++) {
        struct buffer out = { 0 };
        struct csv_writer csv = { .out = &out, .dialect = dialects[i] };

        csv_add_text(&csv, NULL);
        csv_add_number(&csv, (double)NAN);
        csv_add_number(&csv, (double)INFINITY);
        csv_add_u64(&csv, UNKNOWN);
        csv_add_seconds(&csv, UNKNOWN, 3);
        csv_begin_cell(&csv);
        csv_end_row(&csv);
        assert_string_equal(out.text, ",,,,,\n");
        buffer_done(&out);
    }
}

TEST(the_first_cell_of_a_row_has_no_comma_before_it)
{
    struct buffer out = { 0 };
    struct csv_writer csv = { .out = &out };

    for (unsigned i = 0; i < 2; i++) {
        csv_add_text(&csv, "a");
        csv_begin_cell(&csv);
        buffer_add_text(&out, "b");
        csv_end_row(&csv);
    }
    assert_string_equal(out.text, "a,b\na,b\n");
    buffer_done(&out);
}
