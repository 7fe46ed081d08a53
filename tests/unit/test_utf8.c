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

TEST(lines_break_at_the_last_blank_that_fits)
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

TEST(a_long_word_is_split)
{
    const struct wrap wrap = { .width = 8, .column = 3, .indent = 3 };

    check("0123456789ab", &wrap, "01234\n   56789\n   ab");
    check("a 0123456789 b", &wrap, "a\n   01234\n   56789\n   b");
}

TEST(words_of_prose_are_not_split)
{
    const struct wrap wrap = { .width = 8, .column = 3, .indent = 3, .is_prose = true };

    check("  one  two ", &wrap, "one\n   two");
    check("a  b", &wrap, "a b");
    check("0123456789ab c", &wrap, "0123456789ab\n   c");
    check("a 0123456789ab", &wrap, "a\n   0123456789ab");
}

TEST(wrapping_ends_even_with_a_width_of_0)
{
    const struct wrap prose = { .width = 2, .column = 5, .indent = 5, .is_prose = true };
    const struct wrap other = { .width = 0 };

    check("ab c", &prose, "ab\n     c");
    check("ab c", &other, "ab\nc");
}

TEST(width_is_counted_in_columns)
{
    const struct wrap wrap = { .width = 4 };

    check("\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9 b", &wrap, "\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\nb");
    check("\xe6\xbc\xa2\xe6\xbc\xa2\xe6\xbc\xa2", &wrap,
          "\xe6\xbc\xa2\xe6\xbc\xa2\n\xe6\xbc\xa2");
}

TEST(each_line_has_its_own_color)
{
    const struct wrap wrap = { .width = 4, .indent = 1, .before = "<", .after = ">" };

    check("abc def", &wrap, "<abc>\n <def>");
    check("", &wrap, "");
}
