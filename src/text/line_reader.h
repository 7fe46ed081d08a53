/* SPDX-License-Identifier: Apache-2.0 */
/* line_reader.h - the lines of a file, one after the other, in bounded memory. */
#ifndef TEXT_LINE_READER_H
#define TEXT_LINE_READER_H

#include <stdbool.h>
#include <stddef.h>

enum { LINE_MAX_BYTES = 1 << 20 };

/* Zeroed but for `fd`. */
struct line_reader {
    int fd;       /* borrowed */
    char *buffer; /* owned */
    size_t start, end;
    bool is_at_end;
};

/* A line without its newline, and NUL-ended: it lives until the next one. `is_torn`: the file ends
 * without a newline after it. */
struct line {
    char *text;
    size_t length;
    bool is_torn;
};

/* Reads ahead until `length` bytes are there, or the file ends. *ret, which is not NUL-ended, has
 * *ret_length of them; all are still to be read as lines. */
int line_reader_peek(struct line_reader *reader, size_t length, const char **ret,
                     size_t *ret_length);

/* 1; 0 at the end of the file; -E2BIG: the line is longer than LINE_MAX_BYTES; another -errno. */
int line_reader_next(struct line_reader *reader, struct line *ret);
void line_reader_done(struct line_reader *reader);

#endif
