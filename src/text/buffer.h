/* SPDX-License-Identifier: Apache-2.0 */
/*
 * buffer.h - text that grows, up to a maximum: built piece by piece and then written at once,
 * or read as a whole.
 *
 * A failure (no memory, too long) is remembered and later calls do nothing, so a
 * writer checks once, at the end, with buffer_error().
 */
#pragma once

#include <stdarg.h>
#include <stddef.h>

#include "base/compiler.h"

enum { BUFFER_MAX = 64 << 20 };

/* A zeroed struct is empty. */
struct buffer {
    char *text; /* NUL-terminated once anything was added; owned */
    size_t length;
    size_t capacity;
    int error; /* 0 or -errno */
};

void buffer_done(struct buffer *buffer);
void buffer_clear(struct buffer *buffer); /* empties the buffer and keeps its memory */
void buffer_add(struct buffer *buffer, const char *text, size_t length);
void buffer_add_text(struct buffer *buffer, const char *text);
void buffer_format(struct buffer *buffer, const char *fmt, ...) PRINTF_LIKE(2, 3);
void buffer_format_list(struct buffer *buffer, const char *fmt, va_list args) PRINTF_LIKE(2, 0);
int buffer_error(const struct buffer *buffer);

/* Returns the text; "" if nothing was added. */
static inline const char *buffer_text(const struct buffer *buffer)
{
    return buffer->text ? buffer->text : "";
}

/* Writes the whole text, and waits for room if the descriptor is non-blocking. 0 or -errno. */
int buffer_write(const struct buffer *buffer, int fd);

/* Adds everything that can be read from a descriptor, or from a file. On success `text` is not
 * NULL. 0 or -errno; -EFBIG: more than `max_bytes` or BUFFER_MAX. */
int buffer_read(struct buffer *buffer, int fd, size_t max_bytes);
int buffer_read_file(struct buffer *buffer, const char *path, size_t max_bytes);
