/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above */
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "front/common/command.h"
#include "front/common/help.h"

/* What `write` prints about a command; the caller frees it. */
static char *printed(void (*write)(FILE *, const struct command *), const char *command)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    assert_non_null(out);
    write(out, command_find(command));
    fclose(out);
    return text;
}

static void overview(FILE *out, const struct command *command)
{
    (void)command;
    help_overview(out);
}

static void completion(FILE *out, const struct command *command)
{
    (void)command;
    help_completion_bash(out);
}

static void help_fits_80_columns(void **state)
{
    char *texts[] = { printed(overview, "run"), printed(help_command, "run"),
                      printed(help_command, "attach"), printed(help_command, "doctor"),
                      printed(help_command, "help") };

    (void)state;
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

static void info_offers_the_formats_that_it_has(void **state)
{
    char *text = printed(help_command, "info");

    (void)state;
    assert_non_null(strstr(text, "--format text|json "));
    assert_null(strstr(text, "csv"));
    assert_null(strstr(text, "FILE"));
    free(text);
}

static void help_manual_and_completion_name_every_option(void **state)
{
    char *help = printed(help_command, "run");
    char *manual = printed(help_man_options, "run");
    char *script = printed(completion, "run");

    (void)state;
    for (size_t i = 0; i < settings_table.count; i++) {
        bool is_of_run = settings_table.rows[i].flags & OPTION_RUN;
        char name[64];

        (void)snprintf(name, sizeof(name), "--%s", settings_table.rows[i].name);
        assert_int_equal(strstr(help, name) != NULL, is_of_run);
        assert_int_equal(strstr(manual, name) != NULL, is_of_run);
        assert_non_null(strstr(script, name));
    }
    free(help);
    free(manual);
    free(script);
}

static void lines_break_at_spaces_only(void **state)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    char word[101];

    (void)state;
    memset(word, 'x', sizeof(word) - 1);
    word[sizeof(word) - 1] = '\0';
    help_wrap(out, "one  two", 0, 4);
    help_wrap(out, "", 0, 4);
    help_wrap(out, "a b", 77, 2); /* 77 and one letter, a blank and the next: one too many */
    help_wrap(out, word, 10, 2);
    fclose(out);
    assert_memory_equal(text, "one two\n\na\n  b\nxxx", strlen("one two\n\na\n  b\nxxx"));
    assert_int_equal(size, strlen("one two\n\na\n  b\n") + 101);
    free(text);
}

static void commands_are_found_by_their_whole_name(void **state)
{
    (void)state;
    assert_non_null(command_find("run"));
    assert_null(command_find("ru"));
    assert_null(command_find(""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(help_fits_80_columns),
        cmocka_unit_test(info_offers_the_formats_that_it_has),
        cmocka_unit_test(help_manual_and_completion_name_every_option),
        cmocka_unit_test(lines_break_at_spaces_only),
        cmocka_unit_test(commands_are_found_by_their_whole_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
