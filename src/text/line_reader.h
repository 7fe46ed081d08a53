/* SPDX-License-Identifier: Apache-2.0 */
/* line_reader.h - reads the lines of a file, one after the other, in bounded memory. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum { LINE_MAX_BYTES = 1 << 20 };

/* The caller sets `fd` and zeroes the rest. */
struct line_reader {
    int fd;       /* borrowed */
    char *buffer; /* owned */
    size_t start, end;
    bool is_at_end;
};

/* A line without its newline, NUL-terminated, valid until the next one is read. `is_torn`:
 * the file ends without a newline after it. */
struct line {
    char *text;
    size_t length;
    bool is_torn;
};

/* Reads ahead until `length` bytes are available, or the file ends. *ret points to the
 * *ret_length unread bytes, which are not NUL-terminated. Later calls still return them as
 * lines. */
int line_reader_peek(struct line_reader *reader, size_t length, const char **ret,
                     size_t *ret_length);

/* Reads a line. Returns 1; 0 at the end of the file; -E2BIG: the line is longer than
 * LINE_MAX_BYTES; another -errno. */
int line_reader_next(struct line_reader *reader, struct line *ret);
void line_reader_done(struct line_reader *reader);
