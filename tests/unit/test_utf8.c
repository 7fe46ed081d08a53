/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "text/utf8.h"
#include "unit_test.h"

static void check(const char *text, const struct wrap *wrap, const char *expected)
{
    struct buffer out = { 0 };

    wrap_text(text, wrap, &out);
    assert_int_equal(buffer_error(&out), 0);
    assert_string_equal(out.text ? out.text : "", expected);
    buffer_done(&out);
}

static void lines_break_at_the_last_blank_that_fits(void **state)
{
    const struct wrap wrap = { .width = 10, .column = 4, .indent = 2 };

    check("", &wrap, "");
    check("a", &wrap, "a");
    check("abc de", &wrap, "abc de");
    check("abc def", &wrap, "abc\n  def");
    check("abc def ghij k lmn", &wrap, "abc\n  def ghij\n  k lmn");
    check("ab   cdefgh", &wrap, "ab\n  cdefgh"); /* spaces at a line break are dropped */
    check("a  b", &wrap, "a  b");                /* other spaces are kept */
}

static void a_long_word_is_split(void **state)
{
    const struct wrap wrap = { .width = 8, .column = 3, .indent = 3 };

    check("0123456789ab", &wrap, "01234\n   56789\n   ab");
    check("a 0123456789 b", &wrap, "a\n   01234\n   56789\n   b");
}

static void words_of_prose_are_not_split(void **state)
{
    const struct wrap wrap = { .width = 8, .column = 3, .indent = 3, .is_prose = true };

    check("  one  two ", &wrap, "one\n   two");
    check("a  b", &wrap, "a b");
    check("0123456789ab c", &wrap, "0123456789ab\n   c");
    check("a 0123456789ab", &wrap, "a\n   0123456789ab");
}

static void wrapping_ends_even_with_a_width_of_0(void **state)
{
    const struct wrap prose = { .width = 2, .column = 5, .indent = 5, .is_prose = true };
    const struct wrap other = { .width = 0 };

    check("ab c", &prose, "ab\n     c");
    check("ab c", &other, "ab\nc");
}

static void width_is_counted_in_columns(void **state)
{
    const struct wrap wrap = { .width = 4 };

    check("\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9 b", &wrap, "\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\nb");
    check("\xe6\xbc\xa2\xe6\xbc\xa2\xe6\xbc\xa2", &wrap,
          "\xe6\xbc\xa2\xe6\xbc\xa2\n\xe6\xbc\xa2");
}

static void each_line_has_its_own_color(void **state)
{
    const struct wrap wrap = { .width = 4, .indent = 1, .before = "<", .after = ">" };

    check("abc def", &wrap, "<abc>\n <def>");
    check("", &wrap, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_break_at_the_last_blank_that_fits),
        cmocka_unit_test(a_long_word_is_split),
        cmocka_unit_test(words_of_prose_are_not_split),
        cmocka_unit_test(wrapping_ends_even_with_a_width_of_0),
        cmocka_unit_test(width_is_counted_in_columns),
        cmocka_unit_test(each_line_has_its_own_color),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
