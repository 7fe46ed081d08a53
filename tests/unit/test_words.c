/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above */
#include <cmocka.h>
#include <string.h>

#include "base/compiler.h"
#include "compat/gpu_tracker/program.h"

/* The words between bars: "a|b c|". */
static void check(const char *text, const char *expected)
{
    struct spoor_error err = { 0 };
    char joined[200] = "";
    char **words;

    assert_int_equal(words_split(text, &words, &err), 0);
    for (char **word = words; *word; word++) {
        (void)strncat(joined, *word, sizeof(joined) - strlen(joined) - 1);
        (void)strncat(joined, "|", sizeof(joined) - strlen(joined) - 1);
    }
    assert_string_equal(joined, expected);
    words_free(words);
}

static void blanks_part_words(void **state)
{
    (void)state;
    check("ls -l -a", "ls|-l|-a|");
    check("  bash \t example-script.sh\n", "bash|example-script.sh|");
    check("a", "a|");
    check("", "");
    check(" \t\n\v\f\r", "");
}

static void quotes_keep_blanks(void **state)
{
    (void)state;
    check("sh -c 'exit 3'", "sh|-c|exit 3|");
    check("sh -c \"echo 'a  b'\"", "sh|-c|echo 'a  b'|");
    check("a'b c'd\"e f\"", "ab cde f|");
    check("'' x \"\"", "|x||");
    check("'a\\b$'", "a\\b$|");
    check("'\n'", "\n|");
}

static void backslashes_take_the_meaning_of_the_next(void **state)
{
    (void)state;
    check("a\\ b", "a b|");
    check("\\'a \\\"b", "'a|\"b|");
    check("\\\\", "\\|");
    check("\"\\$ \\` \\\" \\\\ \\n\"", "$ ` \" \\ \\n|");
}

static void lines_are_joined_by_a_backslash(void **state)
{
    (void)state;
    check("a\\\nb", "ab|");
    check("a \\\n b", "a|b|");
    check("\"a\\\nb\"", "ab|");
    check("\\\n", "");
}

static void nothing_else_has_a_meaning(void **state)
{
    (void)state;
    check("echo $HOME * | cat; a && b > c # d", "echo|$HOME|*|||cat;|a|&&|b|>|c|#|d|");
}

/* The predecessor knew no quotes: what worked there works here. */
static void what_is_not_closed_is_taken_literally(void **state)
{
    (void)state;
    check("echo it's", "echo|it's|");
    check("echo 'a b", "echo|'a|b|");
    check("'", "'|");
    check("a b\"c d", "a|b\"c|d|");
    check("'a b' \"c\\\" \\", "'a|b'|\"c\\\"|\\|");
    check("a \\", "a|\\|");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blanks_part_words),
        cmocka_unit_test(quotes_keep_blanks),
        cmocka_unit_test(backslashes_take_the_meaning_of_the_next),
        cmocka_unit_test(lines_are_joined_by_a_backslash),
        cmocka_unit_test(nothing_else_has_a_meaning),
        cmocka_unit_test(what_is_not_closed_is_taken_literally),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
