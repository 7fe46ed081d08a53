/* SPDX-License-Identifier: Apache-2.0 */
#include "front/common/message.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "text/escape.h"

int complain(const char *fmt, ...)
{
    char line[1024] = "spoor: ";
    size_t start = strlen(line);
    ssize_t written;
    size_t length;
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(line + start, sizeof(line) - start - 1, fmt, args); /* cut is fine */
    va_end(args);
    escape_message(line);
    length = strlen(line);
    line[length] = '\n';
    written = write(STDERR_FILENO, line, length + 1);
    (void)written; /* there is nowhere else to say that stderr is gone */
    return EXIT_OWN_FAILURE;
}
