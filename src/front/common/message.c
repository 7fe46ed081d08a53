/* SPDX-License-Identifier: Apache-2.0 */
#include "front/common/message.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void message_clean(char *text)
{
    for (unsigned char *c = (unsigned char *)text; *c; c++) {
        if (*c < 0x20 || *c == 0x7f) {
            *c = '?';
        } else if (c[0] == 0xc2 && c[1] >= 0x80 && c[1] <= 0x9f) { /* C1 in UTF-8 */
            *c++ = '?';
            *c = '?';
        }
    }
}

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
    message_clean(line);
    length = strlen(line);
    line[length] = '\n';
    written = write(STDERR_FILENO, line, length + 1);
    (void)written; /* there is nowhere else to say that stderr is gone */
    return EXIT_OWN_FAILURE;
}
