/* SPDX-License-Identifier: Apache-2.0 */
/* What shells do with the scripts is tested by tests/functional/test_completion.py. */
#include <errno.h>
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
    { '\0', "kind", "a|b", "it's [one]: of two", 1, .apply = option_text },
    { '\0', "stream", "FILE", "stream", 1 | OPTION_OPTIONAL, .apply = option_text },
    { 't', "tag", "KEY:VALUE", "a tag", 1 | OPTION_REPEATABLE, .apply = option_text },
    { '\0', "other", "N", "of another command", 2, .apply = option_text },
};
static const struct option_table table = { rows, 5 };
static const struct command commands[] = {
    { .name = "secret", .is_hidden = true },
    { .name = "one-two", .options = &table, .scope = 1, .summary = "do it" },
    { 0 },
};
static const struct program program = { .name = "my-program", .commands = commands };

/* The script for this shell; the caller frees it. */
static char *written(const char *shell)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    assert_non_null(out);
    assert_int_equal(completion_write(out, &program, shell), 0);
    fclose(out);
    return text;
}

static void check_holds(const char *shell, const char *part)
{
    char *text = written(shell);

    if (!strstr(text, part))
        fail_msg("not in the script for %s: %s\n%s", shell, part, text);
    free(text);
}

static void help_is_cut_at_the_first_pause(void **state)
{
    (void)state;
    assert_int_equal(completion_short_help("write to FILE (- for stdout)"), 13);
    assert_int_equal(completion_short_help("a, b"), 1);
    assert_int_equal(completion_short_help("all of it"), 9);
    assert_int_equal(completion_short_help(""), 0);
}

static void a_value_offers_files_words_or_nothing(void **state)
{
    const struct option pid = { '\0', "pid", "PID", "", 1, .complete = COMPLETE_PIDS };
    const struct option words = { '\0', "x", "X", "", 1, .complete = "a b" };

    (void)state;
    assert_int_equal(completion_offer(&rows[0]), OFFER_FILES);
    assert_int_equal(completion_offer(&rows[1]), OFFER_WORDS);
    assert_int_equal(completion_offer(&rows[3]), OFFER_NOTHING);
    assert_int_equal(completion_offer(&pid), OFFER_PROCESSES);
    assert_int_equal(completion_offer(&words), OFFER_WORDS);
}

static void bash_completes_values(void **state)
{
    (void)state;
    check_holds("bash", "-o|--output) COMPREPLY=($(compgen -f -- \"$cur\")); return ;;");
    check_holds("bash", "--kind) COMPREPLY=($(compgen -W \"a b\" -- \"$cur\")); return ;;");
    check_holds("bash", "words+=\" --output --kind --stream --tag\"");
    check_holds("bash", "complete -F _my_program my-program\n");
}

static void zsh_gets_escaped_specifications(void **state)
{
    (void)state;
    check_holds("zsh", "'(-o --output)'{-o+,--output=}'[write to FILE]:FILE:_files'");
    check_holds("zsh", "'--kind=[it'\\''s \\[one\\]]:a|b:(a b)'");
    check_holds("zsh", "'--stream=-[stream]::FILE: '");
    check_holds("zsh", "'*'{-t+,--tag=}'[a tag]:KEY\\:VALUE: '");
}

static void fish_gets_a_line_for_each_option(void **state)
{
    (void)state;
    check_holds("fish",
                "complete -c my-program -n __my_program_in_one_two -s o -l output -r -F "
                "-d 'write to FILE'\n");
    check_holds("fish", "-l kind -x -a 'a b' -d 'it\\'s [one]'\n");
    check_holds("fish", "-l stream -d 'stream'\n");
}

static void hidden_commands_are_not_offered(void **state)
{
    static const char *const shells[] = { "bash", "zsh", "fish" };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(shells); i++) {
        char *text = written(shells[i]);

        assert_non_null(strstr(text, "one-two"));
        assert_null(strstr(text, "secret"));
        assert_null(strstr(text, "other"));
        free(text);
    }
}

static void another_shell_is_refused(void **state)
{
    (void)state;
    assert_int_equal(completion_write(stdout, &program, "tcsh"), -EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(help_is_cut_at_the_first_pause),
        cmocka_unit_test(a_value_offers_files_words_or_nothing),
        cmocka_unit_test(bash_completes_values),
        cmocka_unit_test(zsh_gets_escaped_specifications),
        cmocka_unit_test(fish_gets_a_line_for_each_option),
        cmocka_unit_test(hidden_commands_are_not_offered),
        cmocka_unit_test(another_shell_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
