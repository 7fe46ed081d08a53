/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text/csv.h"
#include "unit_test.h"

/* Reads all records and compares them with `expected`, in which '|' separates cells and ';'
 * ends a record. If the reader fails, "!" and an errno value follow. */
static void check(const char *text, size_t length, const char *expected)
{
    FILE *in = fmemopen((void *)(uintptr_t)text, length, "r");
    struct csv_reader reader = { .in = in };
    char found[512] = "";
    size_t used = 0;
    int r;

    assert_non_null(in);
    while ((r = csv_reader_next(&reader)) > 0) {
        for (size_t i = 0; i < reader.count; i++)
            used +=
                (size_t)snprintf(found + used, sizeof(found) - used, "%s%c",
                                 csv_reader_cell(&reader, i), i + 1 < reader.count ? '|' : ';');
    }
    if (r < 0)
        (void)snprintf(found + used, sizeof(found) - used, "!%d", -r);
    assert_string_equal(found, expected);
    csv_reader_done(&reader);
    fclose(in);
}

#define CHECK(text, expected) check(text, strlen(text), expected)

TEST(lines_are_split_into_cells_at_commas)
{
    CHECK("a,b\n1,2\n", "a|b;1|2;");
    CHECK("a,b\r\n1,2\r\n", "a|b;1|2;");
    CHECK("a,b\n1,2", "a|b;1|2;");
    CHECK(",\n", "|;");
    CHECK("a\rb\n", "a\rb;");
    CHECK("\n\na\n\n", "a;");
}

TEST(quoted_cells_may_contain_separators)
{
    CHECK("\"a,b\",c\n", "a,b|c;");
    CHECK("\"say \"\"x\"\"\",c\n", "say \"x\"|c;");
    CHECK("\"two\nlines\",c\n", "two\nlines|c;");
    CHECK("a\"b,c\n", "a\"b|c;");
    CHECK("\"a\"", "a;");
}

TEST(invalid_csv_is_refused)
{
    static const char nul[] = "a,\0b\n";
    char expected[16];

    (void)snprintf(expected, sizeof(expected), "!%d", EBADMSG);
    CHECK("\"a,b\n", expected);
    check(nul, sizeof(nul) - 1, expected);
}

TEST(an_unterminated_record_is_refused)
{
    size_t length = CSV_RECORD_MAX + 10;
    char *text = malloc(length + 1);
    char expected[16];

    assert_non_null(text);
    memset(text, 'x', length);
    (void)snprintf(expected, sizeof(expected), "!%d", E2BIG);
    check(text, length, expected);
    memset(text, ',', length);
    check(text, length, expected);
    free(text);
}

/* The reader accepts the output of Python's csv dialects. */
TEST(quoted_cells_survive_a_round_trip)
{
    static const char *const cells[] = { "plain", "a,b", "say \"x\"", "two\nlines", "" };
    struct buffer out = { 0 };
    struct csv_writer csv = { .out = &out, .dialect = &csv_pandas };

    for (size_t i = 0; i < 5; i++)
        csv_add_text(&csv, cells[i]);
    csv_end_row(&csv);
    assert_string_equal(out.text, "plain,\"a,b\",\"say \"\"x\"\"\",\"two\nlines\",\n");
    CHECK(out.text, "plain|a,b|say \"x\"|two\nlines|;");
    buffer_done(&out);
}
