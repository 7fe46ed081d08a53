/* SPDX-License-Identifier: Apache-2.0 */
/* Tests help and completion; tests/functional/test_completion.py tests completion in real
 * shells. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compat/gpu_tracker/program.h"
#include "front/help.h"
#include "front/spoor/settings.h"
#include "unit_test.h"

/* ---- help --------------------------------------------------------------- */

/* Returns the help for a command, or for the program if `command` is NULL; the caller frees
 * it. */
static char *printed(const struct program *program, const char *command)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    assert_non_null(out);
    if (command)
        help_command(out, program, command_find(program->commands, command));
    else
        help_overview(out, program);
    fclose(out);
    return text;
}

TEST(help_fits_80_columns)
{
    char *texts[] = { printed(&spoor_program, NULL), printed(&spoor_program, "run"),
                      printed(&spoor_program, "attach"), printed(&spoor_program, "doctor"),
                      printed(&spoor_program, "help") };

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        for (const char *line = texts[i]; *line; line += strcspn(line, "\n") + 1) {
            size_t length = strcspn(line, "\n");

            assert_true(length < 80);
            assert_true(length == 0 || line[length - 1] != ' ');
            assert_int_equal(line[length], '\n');
        }
        free(texts[i]);
    }
}

TEST(summaries_of_commands_are_aligned)
{
    char *text = printed(&spoor_program, NULL);

    assert_non_null(strstr(text, "\n  run        run a command"));
    assert_non_null(strstr(text, "\n  recommend  recommend what"));
    free(text);
}

TEST(info_lists_only_its_supported_formats)
{
    char *text = printed(&spoor_program, "info");

    assert_non_null(strstr(text, "--format text|json "));
    assert_null(strstr(text, "csv"));
    free(text);
}

TEST(hidden_commands_are_not_listed)
{
    char *text = printed(&spoor_program, NULL);

    assert_non_null(strstr(text, "  attach "));
    assert_null(strstr(text, "agent"));
    free(text);
}

/* Compares the output of `write` with `expected`. */
static void check_printed(void (*write)(FILE *out), const char *expected)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    write(out);
    fclose(out);
    assert_string_equal(text, expected);
    free(text);
}

static void print_usage(FILE *out)
{
    help_usage(out, &gpu_tracker_program,
               command_find(gpu_tracker_program.commands, "sub-track"));
}

TEST(full_usage_has_a_line_for_each_subcommand)
{
    check_printed(print_usage,
                  "Usage:\n"
                  "    gpu-tracker sub-track combine --stf=<sub-track-file> -p <file-path>...\n"
                  "    gpu-tracker sub-track analyze --tf=<tracking-file> "
                  "--stf=<sub-track-file> [--output=<output>] [--format=<format>]\n"
                  "    gpu-tracker sub-track compare [--output=<output>] [--format=<format>] "
                  "[--cconfig=<config-file>] [-m <name>=<file-path>...] "
                  "[--stat=<statistic>]\n");
}

static void print_manual(FILE *out)
{
    static const struct option rows[] = {
        { 'o', "out-file", "FILE", "write to FILE [now]", 1, .action = ACTION_HELP },
        { '\0', "kind", "a|b", "a_b", 1, .action = ACTION_HELP },
        { '\0', "other", NULL, "of another command", 2, .action = ACTION_HELP },
        { '\0', "key", "", "", 1 | OPTION_FILE_ONLY, .action = ACTION_HELP },
    };
    static const struct option_table table = { rows, 4 };
    const struct command command = { .name = "c", .options = &table, .scope = 1 };

    man_options(out, &command);
}

TEST(the_manual_is_escaped)
{
    check_printed(print_manual, "*-o*, *--out-file* _FILE_\n\tWrite to FILE \\[now\\].\n\n"
                                "*--kind* a|b\n\tA\\_b.\n\n");
}

TEST(lines_break_at_spaces_only)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    char word[101];

    memset(word, 'x', sizeof(word) - 1);
    word[sizeof(word) - 1] = '\0';
    help_wrap(out, "one  two", 0, 4);
    help_wrap(out, "", 0, 4);
    help_wrap(out, "a b", 77, 2); /* "b" would be in column 80, which is too far */
    help_wrap(out, word, 10, 2);
    fclose(out);
    assert_memory_equal(text, "one two\n\na\n  b\nxxx", strlen("one two\n\na\n  b\nxxx"));
    assert_int_equal(size, strlen("one two\n\na\n  b\n") + 101);
    free(text);
}

/* ---- completion --------------------------------------------------------- */

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

/* Completes a command line. Words are separated by single spaces; the last one may be empty. */
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

TEST(completion_offers_commands_with_their_summary)
{
    check("", "one\tdo it\nrun\trun\nshow\tshow\n--help\tshow this help and exit\n"
              "--version\tshow the version and exit\n");
    check("unknown x", "");
    check("secret x", "");
}

TEST(completion_offers_options_with_the_start_of_their_help)
{
    const char *options = "--output\twrite to FILE\n--kind\tone\n--stream\t\n--tag\ta tag\n";

    check("one -", options);
    check("one -t x", "");
    check("one -t x -", options);
    check("one -o=x ", options);
    check("one --stream ", options);
}

TEST(completion_of_a_value_offers_files_words_or_nothing)
{
    check("one -o ", "<files>\n");
    check("one --output x", "<files>\n");
    check("one --output=x", "<files>\n");
    check("one --kind ", "a\nb\n");
    check("one --kind=", "a\nb\n");
    check("one --tag ", "");
    check("one --stream=", "x\ny\n");
    check("one --other=", "--output\twrite to FILE\n--kind\tone\n--stream\t\n--tag\ta tag\n");
}

TEST(completion_accepts_an_equals_sign_as_a_separate_word)
{
    check("one --kind =", "a\nb\n");
    check("one --kind = b", "a\nb\n");
    check("one --stream = ", "x\ny\n");
    check("run --other = 5 cat ", "<command> 5\n");
}

TEST(completion_of_the_command_to_run_is_left_to_the_shell)
{
    check("run ca", "<command> 2\n");
    check("run --other 5 cat -", "<command> 4\n");
    check("run --other=5 cat -", "<command> 3\n");
    check("run -- -", "<command> 3\n");
    check("run -", "--other\tof another command\n");
    check("show 1", "<processes>\n");
    check("show -", "");
}
