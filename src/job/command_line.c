/* SPDX-License-Identifier: Apache-2.0 */
#include "job/command_line.h"

#include <string.h>

#include "source/proc/pid_files.h"
#include "text/escape.h"
#include "text/utf8.h"

static const char ellipsis[] = "...";

char *command_line_make(const char *const *arguments, bool is_cut)
{
    struct buffer line = { 0 }, cut = { 0 };
    char *copy = NULL;

    escape_command(arguments, &line);
    if (line.text && (is_cut || line.length > COMMAND_LINE_MAX)) {
        buffer_add(&cut, line.text, utf8_whole(line.text, COMMAND_LINE_MAX - strlen(ellipsis)));
        buffer_add_text(&cut, ellipsis);
    }
    if (buffer_error(&line) == 0 && buffer_error(&cut) == 0 && line.text)
        copy = strdup(cut.text ? cut.text : line.text);
    buffer_done(&line);
    buffer_done(&cut);
    return copy;
}

char *command_line_read(const struct root *root, pid_t pid)
{
    char text[COMMAND_LINE_MAX + 2];
    const char *arguments[COMMAND_LINE_MAX + 2];
    ssize_t n = pid_cmdline_read(root, pid, text, sizeof(text) - 1);

    if (n <= 0)
        return NULL;
    text[n + 1] = '\0';
    (void)cmdline_split(text, (size_t)n, arguments, COMMAND_LINE_MAX + 2);
    return command_line_make(arguments, n >= COMMAND_LINE_MAX);
}
