/* SPDX-License-Identifier: Apache-2.0 */
#include "text/line_reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Moves the unread bytes to the front, and reads more after them. */
static int read_more(struct line_reader *reader)
{
    size_t left = reader->end - reader->start;
    ssize_t n;

    if (!reader->buffer)
        reader->buffer = malloc(LINE_MAX_BYTES + 1);
    if (!reader->buffer)
        return -ENOMEM;
    if (left == LINE_MAX_BYTES)
        return -E2BIG;
    memmove(reader->buffer, reader->buffer + reader->start, left);
    reader->start = 0;
    reader->end = left;
    do {
        n = read(reader->fd, reader->buffer + left, LINE_MAX_BYTES - left);
    } while (n < 0 && errno == EINTR);
    if (n < 0)
        return -errno;
    reader->is_at_end = n == 0;
    reader->end += (size_t)n;
    return 0;
}

int line_reader_peek(struct line_reader *reader, size_t length, const char **ret,
                     size_t *ret_length)
{
    int r = 0;

    while (r == 0 && !reader->is_at_end && reader->end - reader->start < length)
        r = read_more(reader);
    if (r < 0)
        return r;
    *ret = reader->buffer + reader->start;
    *ret_length = reader->end - reader->start;
    return 0;
}

int line_reader_next(struct line_reader *reader, struct line *ret)
{
    size_t searched = 0;

    for (;;) {
        size_t left = reader->end - reader->start;
        char *text = reader->buffer, *newline = NULL;
        int r;

        if (left > 0) {
            text += reader->start;
            newline = memchr(text + searched, '\n', left - searched);
        }
        if (newline || (reader->is_at_end && left > 0)) {
            size_t length = newline ? (size_t)(newline - text) : left;

            text[length] = '\0';
            *ret = (struct line){ text, length, !newline };
            reader->start += length + (newline != NULL);
            return 1;
        }
        if (reader->is_at_end)
            return 0;
        searched = left;
        r = read_more(reader);
        if (r < 0)
            return r;
    }
}

void line_reader_done(struct line_reader *reader)
{
    free(reader->buffer);
    *reader = (struct line_reader){ .fd = -1 };
}
