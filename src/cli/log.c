/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/message.h"

PRINTF_LIKE(2, 0)
static void put(const char *level, const char *fmt, va_list args)
{
    char line[1024];
    ssize_t written;
    size_t length;

    (void)snprintf(line, sizeof(line), "%s:root:", level); /* fits */
    length = strlen(line);
    (void)vsnprintf(line + length, sizeof(line) - length - 1, fmt, args); /* cut is fine */
    message_clean(line);
    length = strlen(line);
    line[length] = '\n';
    written = write(STDERR_FILENO, line, length + 1);
    (void)written; /* there is nowhere else to say that stderr is gone */
}

void log_warning(const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    put("WARNING", fmt, args);
    va_end(args);
}

int log_error(const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    put("ERROR", fmt, args);
    va_end(args);
    return 1;
}
