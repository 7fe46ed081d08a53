/* SPDX-License-Identifier: Apache-2.0 */
#include "source/proc/pid_cmdline.h"

#include <string.h>

size_t cmdline_split(char *text, size_t length, const char **arguments, size_t capacity)
{
    size_t count = 0;

    for (size_t at = 0; at < length && count + 1 < capacity; at += strlen(text + at) + 1)
        arguments[count++] = text + at;
    arguments[count] = NULL;
    return count;
}

ssize_t pid_cmdline_read(const struct root *root, pid_t pid, char *text, size_t size)
{
    return root_read_start(root, text, size, "proc/%d/cmdline", (int)pid);
}
