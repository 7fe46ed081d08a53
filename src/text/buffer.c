/* SPDX-License-Identifier: Apache-2.0 */
#include "text/buffer.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/amount.h"
#include "base/cleanup.h"
#include "base/reserve.h"

void buffer_done(struct buffer *buffer)
{
    free(buffer->text);
    *buffer = (struct buffer){ 0 };
}

void buffer_clear(struct buffer *buffer)
{
    buffer->length = 0;
    buffer->error = 0;
    if (buffer->text)
        buffer->text[0] = '\0';
}

static int make_room(struct buffer *buffer, size_t length)
{
    enum { CAPACITY_MIN = 1024 };
    size_t needed = buffer->length + length + 1;

    if (buffer->error)
        return buffer->error;
    if (length > BUFFER_MAX || needed > BUFFER_MAX)
        return buffer->error = -EFBIG;
    return buffer->error =
               reserve(&buffer->text, &buffer->capacity, larger(needed, CAPACITY_MIN), 1);
}

void buffer_add(struct buffer *buffer, const char *text, size_t length)
{
    if (make_room(buffer, length) < 0)
        return;
    if (length > 0) /* the text of an empty buffer is NULL */
        memcpy(buffer->text + buffer->length, text, length);
    buffer->length += length;
    buffer->text[buffer->length] = '\0';
}

void buffer_add_text(struct buffer *buffer, const char *text)
{
    buffer_add(buffer, text, strlen(text));
}

void buffer_format_list(struct buffer *buffer, const char *fmt, va_list args)
{
    va_list again;
    int length;

    va_copy(again, args);
    length = vsnprintf(NULL, 0, fmt, args);
    if (length < 0 && !buffer->error)
        buffer->error = -EINVAL;
    if (length >= 0 && make_room(buffer, (size_t)length) == 0) {
        /* Measured above, so it fits. */
        (void)vsnprintf(buffer->text + buffer->length, (size_t)length + 1, fmt, again);
        buffer->length += (size_t)length;
    }
    va_end(again);
}

void buffer_format(struct buffer *buffer, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    buffer_format_list(buffer, fmt, args);
    va_end(args);
}

int buffer_error(const struct buffer *buffer)
{
    return buffer->error;
}

/* Other processes share the descriptor, so its O_NONBLOCK flag must not be changed. */
static int wait_for_room(int fd)
{
    struct pollfd room = { .fd = fd, .events = POLLOUT };

    return poll(&room, 1, -1) < 0 && errno != EINTR ? -errno : 0;
}

int buffer_write(const struct buffer *buffer, int fd)
{
    size_t done = 0;

    if (buffer->error)
        return buffer->error;
    while (done < buffer->length) {
        ssize_t n = write(fd, buffer->text + done, buffer->length - done);

        if (n < 0 && errno == EAGAIN && wait_for_room(fd) == 0)
            continue;
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? -errno : -EIO;
        done += (size_t)n;
    }
    return 0;
}

int buffer_read(struct buffer *buffer, int fd, size_t max_bytes)
{
    size_t start = buffer->length;
    char piece[1 << 14];
    ssize_t n;

    while ((n = read(fd, piece, sizeof(piece))) != 0) {
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        buffer_add(buffer, piece, (size_t)n);
        if (buffer->error)
            return buffer->error;
        if (buffer->length - start > max_bytes)
            return -EFBIG;
    }
    buffer_add_text(buffer, "");
    return buffer->error;
}

int buffer_read_file(struct buffer *buffer, const char *path, size_t max_bytes)
{
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);

    return fd < 0 ? -errno : buffer_read(buffer, fd, max_bytes);
}
