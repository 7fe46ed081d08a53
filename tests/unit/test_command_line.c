/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "fake_root.h"
#include "job/command_line.h"
#include "unit_test.h"

TEST(arguments_are_quoted_for_a_shell)
{
    static const char *const arguments[] = { "/bin/sh", "-c", "echo a\tb", "", NULL };
    char *line = command_line_make(arguments, false);

    assert_string_equal(line, "/bin/sh -c $'echo a\\tb' ''");
    free(line);
}

TEST(a_long_command_line_is_truncated_between_characters)
{
    char word[400] = "x"; /* the prefix puts the limit inside a two-byte character */
    const char *const arguments[] = { word, NULL };
    char *line;

    for (size_t i = 1; i + 2 < sizeof(word); i += 2)
        memcpy(word + i, "\xc3\xa9", 3);
    line = command_line_make(arguments, false);
    assert_in_range(strlen(line), COMMAND_LINE_MAX - 2, COMMAND_LINE_MAX);
    assert_string_equal(line + strlen(line) - 5, "\xc3\xa9...");
    free(line);
}

TEST(a_command_line_marks_missing_arguments)
{
    static const char *const arguments[] = { "cat", "a", NULL };
    char *line = command_line_make(arguments, true);

    assert_string_equal(line, "cat a...");
    free(line);
}

FAKE_ROOT_TEST(the_command_line_of_a_process_is_read_from_proc)
{
    struct fake_root *fake = *state;
    char text[COMMAND_LINE_MAX * 2];
    char *line;

    assert_null(command_line_read(&fake->root, 42));
    fake_root_write(fake, "proc/42/cmdline", "cc1"); /* without the terminating NUL */
    line = command_line_read(&fake->root, 42);
    assert_string_equal(line, "cc1");
    free(line);
    memset(text, 'y', sizeof(text));
    text[sizeof(text) - 1] = '\0';
    fake_root_write(fake, "proc/42/cmdline", text);
    line = command_line_read(&fake->root, 42);
    assert_int_equal(strlen(line), COMMAND_LINE_MAX);
    assert_string_equal(line + COMMAND_LINE_MAX - 4, "y...");
    free(line);
}
