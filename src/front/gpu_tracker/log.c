/* SPDX-License-Identifier: Apache-2.0 */
#include "front/gpu_tracker/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "text/escape.h"

static void say(const char *level, const char *fmt, va_list args) PRINTF_LIKE(2, 0);

static void say(const char *level, const char *fmt, va_list args)
{
    AUTO_FREE char *text = NULL;
    AUTO_FREE char *line = NULL;
    ssize_t written;
    int length;

    if (vasprintf(&text, fmt, args) < 0) {
        text = NULL;
        return;
    }
    escape_message(text);
    length = asprintf(&line, "%s:root:%s\n", level, text);
    if (length < 0) {
        line = NULL;
        return;
    }
    written = write(STDERR_FILENO, line, (size_t)length);
    (void)written; /* there is nowhere else to say that stderr is gone */
}

int gpu_tracker_error(const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    say("ERROR", fmt, args);
    va_end(args);
    return 1;
}

void gpu_tracker_warning(const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    say("WARNING", fmt, args);
    va_end(args);
}
