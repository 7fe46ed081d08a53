/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "text/escape.h"
#include "text/utf8.h"
#include "unit_test.h"

typedef void escape_function(const char *text, struct buffer *out);

static void check(escape_function *escape, const char *text, const char *expected)
{
    struct buffer out = { 0 };

    escape(text, &out);
    assert_int_equal(buffer_error(&out), 0);
    assert_string_equal(out.text ? out.text : "", expected);
    buffer_done(&out);
}

struct pair {
    const char *text, *expected;
};

static void check_all(escape_function *escape, const struct pair *pairs, size_t count)
{
    for (size_t i = 0; i < count; i++)
        check(escape, pairs[i].text, pairs[i].expected);
}

TEST(control_characters_are_escaped_for_a_terminal)
{
    static const struct pair pairs[] = {
        { "", "" },
        { "plain text", "plain text" },
        { "a\nb\tc\rd", "a\\nb\\tc\\rd" },
        { "\x1b[2J\x1b]0;title\x07", "\\x1b[2J\\x1b]0;title\\x07" },
        { "\x7f", "\\x7f" },
        { "\xc2\x9b"
          "31m",
          "\\u009b31m" }, /* CSI as one character */
        { "a\\nb", "a\\\\nb" },
        { "\xe2\x80\xae"
          "evil",
          "\\u202eevil" },                                  /* right-to-left override */
        { "\xe2\x81\xa6x\xe2\x81\xa9", "\\u2066x\\u2069" }, /* isolates */
        { "\xe2\x80\xa8", "\\u2028" },
        { "\xf3\xa0\x81\x81", "\\U000e0041" }, /* a tag character */
    };

    check_all(escape_terminal, pairs, ARRAY_SIZE(pairs));
}

TEST(valid_utf8_is_kept)
{
    static const char text[] =
        "\xc3\xa9 \xe2\x82\xac \xf0\x9f\x90\xbe"; /* e acute, euro, paws */

    check(escape_terminal, text, text);
    check(escape_csv, text, text);
    check(escape_json, text, "\"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x90\xbe\"");
}

/* Each of these is invalid UTF-8 from the first byte to the last. */
static const char *const broken[] = {
    "\x80", /* a lone continuation byte */
    "\xff",
    "\xfe",
    "\xc3", /* truncated */
    "\xe2\x82",
    "\xf0\x9f\x90",
    "\xc0\xaf", /* overlong '/' */
    "\xe0\x80\xaf",
    "\xf0\x80\x80\xaf",
    "\xed\xa0\x80", /* a surrogate */
    "\xed\xbf\xbf",
    "\xf4\x90\x80\x80", /* beyond U+10FFFF */
    "\xf8\x88\x80\x80", /* five bytes */
};

TEST(invalid_bytes_are_shown_in_hexadecimal)
{
    for (size_t i = 0; i < ARRAY_SIZE(broken); i++) {
        struct buffer expected = { 0 };
        uint32_t character = 7;

        for (const char *c = broken[i]; *c; c++)
            buffer_format(&expected, "\\x%02x", (unsigned)(unsigned char)*c);
        check(escape_terminal, broken[i], expected.text);
        buffer_done(&expected);
        assert_true(utf8_decode(broken[i], &character) < 0);
        assert_int_equal(character, 7); /* untouched on failure */
    }
}

TEST(invalid_bytes_are_replaced_in_json)
{
    for (size_t i = 0; i < ARRAY_SIZE(broken); i++) {
        struct buffer expected = { 0 };

        buffer_add_text(&expected, "\"");
        for (size_t k = 0; k < strlen(broken[i]); k++)
            buffer_add_text(&expected, "\xef\xbf\xbd");
        buffer_add_text(&expected, "\"");
        check(escape_json, broken[i], expected.text);
        buffer_done(&expected);
    }
}

TEST(a_valid_character_follows_an_invalid_byte)
{
    check(escape_terminal, "\xe2\x82z", "\\xe2\\x82z");
    check(escape_terminal, "\xc3\xc3\xa9", "\\xc3\xc3\xa9");
}

TEST(json_strings_are_quoted)
{
    static const struct pair pairs[] = {
        { "", "\"\"" },
        { "a\"b\\c/", "\"a\\\"b\\\\c/\"" },
        { "\n\r\t\x01\x1b", "\"\\n\\r\\t\\u0001\\u001b\"" },
        { "\x7f\xc2\x80", "\"\\u007f\\u0080\"" },
        { "\xe2\x80\xa8\xe2\x80\xae", "\"\\u2028\\u202e\"" },
        { "\xf3\xa0\x81\x81", "\"\\udb40\\udc41\"" }, /* a pair of surrogates */
    };

    check_all(escape_json, pairs, ARRAY_SIZE(pairs));
}

TEST(json_in_python_style_is_ascii)
{
    static const struct pair pairs[] = {
        { "a\"b\\c/ ~", "\"a\\\"b\\\\c/ ~\"" },
        { "\b\f\n\r\t\x01\x1f\x7f", "\"\\b\\f\\n\\r\\t\\u0001\\u001f\\u007f\"" },
        { "\xc3\xa9\xe2\x82\xac", "\"\\u00e9\\u20ac\"" },
        { "\xf0\x9f\x98\x80", "\"\\ud83d\\ude00\"" },
        { "\xff\xc3", "\"\\ufffd\\ufffd\"" },
    };

    check_all(escape_json_ascii, pairs, ARRAY_SIZE(pairs));
}

TEST(csv_cells_in_python_style_keep_their_text)
{
    static const struct pair pairs[] = {
        { "plain", "plain" },
        { "", "" },
        { "a,b", "\"a,b\"" },
        { "say \"x\"", "\"say \"\"x\"\"\"" },
        { "two\nlines", "\"two\nlines\"" },
        { "two\rlines", "\"two\rlines\"" },
        { " a\\b\t\xff", " a\\b\t\xff" },
    };

    check_all(escape_csv_minimal, pairs, ARRAY_SIZE(pairs));
    check(escape_csv_always, "", "\"\"");
    check(escape_csv_always, "a\"b", "\"a\"\"b\"");
}

TEST(messages_contain_no_terminal_commands)
{
    static const struct pair pairs[] = {
        { "a\x1b[31m\tb\x7f", "a\\x1b[31m\\tb\\x7f" },
        { "\xc2\x9b"
          "c",
          "\\u009bc" },
        { "\x9b"
          "c\x80\x9f",
          "\\x9bc\\x80\\x9f" },
        { "\xe2\x80\xae", "\\u202e" },
        { "\xe2\x80", "\\xe2\\x80" },
        { "\xc3\xa9 a\\b \xe4\xb8\xad", "\xc3\xa9 a\\b \xe4\xb8\xad" },
    };

    check_all(escape_unsafe, pairs, ARRAY_SIZE(pairs));
}

TEST(csv_cells_are_quoted_if_needed)
{
    static const struct pair pairs[] = {
        { "plain", "plain" },
        { "", "\"\"" },
        { "a,b", "\"a,b\"" },
        { "say \"x\"", "\"say \"\"x\"\"\"" },
        { " a", "\" a\"" },
        { "a ", "\"a \"" },
        { "two\nlines\r", "two\\nlines\\r" },
        { "=1+1", "=1+1" },
        { "@x", "@x" },
        { "\x1b,\xff", "\"\\x1b,\\xff\"" },
        { "a\\b", "a\\\\b" },
    };

    check_all(escape_csv, pairs, ARRAY_SIZE(pairs));
    check(escape_csv_quote, "'a\\b', \"c\"", "\"'a\\b', \"\"c\"\"\"");
}

TEST(url_components_contain_no_delimiters)
{
    static const struct pair pairs[] = {
        { "m5.large_x-1~", "m5.large_x-1~" },
        { "", "" },
        { "../a?b=c&d#e", "..%2Fa%3Fb%3Dc%26d%23e" },
        { "100% x\r\n", "100%25%20x%0D%0A" },
        { "\xc3\xa9\xff", "%C3%A9%FF" },
    };

    check_all(escape_url, pairs, ARRAY_SIZE(pairs));
}

TEST(a_url_path_keeps_its_slashes)
{
    static const struct pair pairs[] = {
        { "/runs/0001.csv.gz", "/runs/0001.csv.gz" },
        { "/a b//c?d", "/a%20b//c%3Fd" },
    };

    check_all(escape_url_path, pairs, ARRAY_SIZE(pairs));
}

TEST(arguments_can_be_pasted_into_a_shell)
{
    static const struct pair pairs[] = {
        { "plain-1.0_x/y:z=@%+,", "plain-1.0_x/y:z=@%+," },
        { "", "''" },
        { "two words", "'two words'" },
        { "$HOME;`x`*", "'$HOME;`x`*'" },
        { "it's", "'it'\\''s'" },
        { "'", "''\\'''" },
        { "back\\slash", "'back\\slash'" },
        { "a\nb", "$'a\\nb'" },
        { "it's\x1b[m\\", "$'it\\'s\\x1b[m\\\\'" },
        { "\xff", "$'\\xff'" },
        { "\xc3\xa9", "'\xc3\xa9'" },
    };

    check_all(escape_shell, pairs, ARRAY_SIZE(pairs));
}

TEST(a_command_joins_its_arguments_with_blanks)
{
    static const char *const command[] = { "sh", "-c", "exit 7", NULL };
    static const char *const empty[] = { NULL };
    struct buffer out = { 0 };

    escape_command(NULL, &out);
    escape_command(empty, &out);
    assert_int_equal(out.length, 0);
    escape_command(command, &out);
    assert_string_equal(out.text, "sh -c 'exit 7'");
    buffer_done(&out);
}

TEST(text_is_ascii_for_ascii_terminals)
{
    check(escape_ascii, "a\\b", "a\\b");
    check(escape_ascii, "\xc3\xa9\xf0\x9f\x90\xbe", "\\u00e9\\U0001f43e");
}

/* For any input, every byte of the output must be harmless. */
TEST(huge_hostile_text_is_safe)
{
    static escape_function *const escapes[] = { escape_terminal, escape_csv, escape_json,
                                                escape_json_ascii, escape_shell };
    enum { SIZE = 100000 };
    char *text = malloc(SIZE + 1);
    uint32_t random = 12345;

    assert_non_null(text);
    for (size_t i = 0; i < SIZE; i++) {
        random = random * 1664525 + 1013904223;
        text[i] = (char)(random >> 24 ? random >> 24 : 1);
    }
    text[SIZE] = '\0';
    for (size_t i = 0; i < ARRAY_SIZE(escapes); i++) {
        struct buffer out = { 0 };
        const char *cursor;
        uint32_t character = 0;
        int length;

        escapes[i](text, &out);
        assert_int_equal(buffer_error(&out), 0);
        for (cursor = out.text; (length = utf8_decode(cursor, &character)) != 0;
             cursor += length) {
            assert_true(length > 0);
            assert_false(utf8_is_unsafe(character));
        }
        buffer_done(&out);
    }
    free(text);
}

TEST(columns_count_wide_characters_twice)
{
    static const char text[] = "a\xc3\xa9\xe6\xbc\xa2z"; /* a, e acute, a Han character, z */

    assert_int_equal(utf8_columns(""), 0);
    assert_int_equal(utf8_columns(text), 5);
    assert_int_equal(utf8_fitting(text, 0), 0);
    assert_int_equal(utf8_fitting(text, 2), 3);
    assert_int_equal(utf8_fitting(text, 3), 3); /* the wide character does not fit */
    assert_int_equal(utf8_fitting(text, 4), 6);
    assert_int_equal(utf8_fitting(text, 100), 7);
}

TEST(a_text_is_truncated_between_characters)
{
    static const char text[] = "a\xc3\xa9\xe6\xbc\xa2z";
    static const size_t expected[] = { 0, 1, 1, 3, 3, 3, 6, 7, 7 };

    for (size_t bytes = 0; bytes < ARRAY_SIZE(expected); bytes++)
        assert_int_equal(utf8_whole(text, bytes), expected[bytes]);
}

TEST(characters_of_every_length_are_decoded)
{
    static const struct {
        const char *text;
        uint32_t character;
    } rows[] = {
        { "\x01", 1 },
        { "\x7f", 0x7f },
        { "\xc2\x80", 0x80 },
        { "\xdf\xbf", 0x7ff },
        { "\xe0\xa0\x80", 0x800 },
        { "\xed\x9f\xbf", 0xd7ff },
        { "\xee\x80\x80", 0xe000 },
        { "\xef\xbf\xbf", 0xffff },
        { "\xf0\x90\x80\x80", 0x10000 },
        { "\xf4\x8f\xbf\xbf", 0x10ffff },
    };
    static const char *const invalid[] = { "\xed\xa0\x80", "\xed\xbf\xbf", "\xf4\x90\x80\x80" };
    uint32_t character = 0;

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        assert_int_equal(utf8_decode(rows[i].text, &character), strlen(rows[i].text));
        assert_int_equal(character, rows[i].character);
    }
    for (size_t i = 0; i < ARRAY_SIZE(invalid); i++)
        assert_int_equal(utf8_decode(invalid[i], &character), -EILSEQ);
}
