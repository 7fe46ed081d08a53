/* SPDX-License-Identifier: Apache-2.0 */
#include "front/common/message.h"

#include <stdio.h>
#include <unistd.h>

#include "base/cleanup.h"

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

void message_write(const char *prefix, const char *fmt, va_list args)
{
    AUTO_FREE char *text = NULL;
    AUTO_FREE char *line = NULL;
    ssize_t written;
    int length;

    if (vasprintf(&text, fmt, args) < 0) {
        text = NULL;
        return;
    }
    message_clean(text);
    length = asprintf(&line, "%s%s\n", prefix, text);
    if (length < 0) {
        line = NULL;
        return;
    }
    written = write(STDERR_FILENO, line, (size_t)length);
    (void)written; /* stderr is closed: there is no other place for it */
}
