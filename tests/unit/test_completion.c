/* SPDX-License-Identifier: Apache-2.0 */
/* What shells make of it is tested by tests/functional/test_completion.py. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above */
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "front/completion.h"

static const struct option rows[] = {
    { 'o', "output", "FILE", "write to FILE (- for stdout)", 1, .complete = COMPLETE_FILES },
    { '\0', "kind", "a|b", "one, of two", 1, .apply = option_text },
    { '\0', "stream", "FILE", "", 1 | OPTION_OPTIONAL, .complete = "x y" },
    { 't', "tag", "KEY:VALUE", "a tag", 1 | OPTION_REPEATABLE, .apply = option_text },
    { '\0', "other", "N", "of another command", 2, .apply = option_text },
};
static const struct option_table table = { rows, 5 };
static const struct command commands[] = {
    { .name = "secret", .is_hidden = true },
    { .name = "one", .options = &table, .scope = 1, .summary = "do it" },
    { .name = "run",
      .options = &table,
      .scope = 2,
      .summary = "run",
      .max_operands = OPERANDS_REST,
      .complete = COMPLETE_COMMANDS },
    { .name = "show", .summary = "show", .max_operands = 1, .complete = COMPLETE_PIDS },
    { 0 },
};

/* Words are separated by single spaces; the last one may be empty. */
static void check(const char *words, const char *expected)
{
    const struct program program = { .name = "my-program", .commands = commands };
    char *copy = strdup(words), *rest = copy, *text = NULL, *list[16];
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    int count = 0;

    assert_non_null(out);
    while (rest)
        list[count++] = strsep(&rest, " ");
    completion_write(out, &program, list, count);
    fclose(out);
    assert_string_equal(text, expected);
    free(text);
    free(copy);
}

static void commands_are_offered_with_their_summary(void **state)
{
    (void)state;
    check("", "one\tdo it\nrun\trun\nshow\tshow\n--help\tshow this help and exit\n"
              "--version\tshow the version and exit\n");
    check("unknown x", "");
    check("secret x", "");
}

static void options_are_offered_with_the_start_of_their_help(void **state)
{
    const char *options = "--output\twrite to FILE\n--kind\tone\n--stream\t\n--tag\ta tag\n";

    (void)state;
    check("one -", options);
    check("one -t x", "");
    check("one -t x -", options);
    check("one -o=x ", options);
    check("one --stream ", options);
}

static void a_value_offers_files_words_or_nothing(void **state)
{
    (void)state;
    check("one -o ", "<files>\n");
    check("one --output x", "<files>\n");
    check("one --output=x", "<files>\n");
    check("one --kind ", "a\nb\n");
    check("one --kind=", "a\nb\n");
    check("one --tag ", "");
    check("one --stream=", "x\ny\n");
    check("one --other=", "--output\twrite to FILE\n--kind\tone\n--stream\t\n--tag\ta tag\n");
}

static void an_equals_sign_may_be_a_word(void **state)
{
    (void)state;
    check("one --kind =", "a\nb\n");
    check("one --kind = b", "a\nb\n");
    check("one --stream = ", "x\ny\n");
    check("run --other = 5 cat ", "<command> 5\n");
}

static void a_command_to_run_is_left_to_the_shell(void **state)
{
    (void)state;
    check("run ca", "<command> 2\n");
    check("run --other 5 cat -", "<command> 4\n");
    check("run --other=5 cat -", "<command> 3\n");
    check("run -- -", "<command> 3\n");
    check("run -", "--other\tof another command\n");
    check("show 1", "<processes>\n");
    check("show -", "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(commands_are_offered_with_their_summary),
        cmocka_unit_test(options_are_offered_with_the_start_of_their_help),
        cmocka_unit_test(a_value_offers_files_words_or_nothing),
        cmocka_unit_test(an_equals_sign_may_be_a_word),
        cmocka_unit_test(a_command_to_run_is_left_to_the_shell),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
