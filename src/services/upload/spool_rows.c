/* SPDX-License-Identifier: Apache-2.0 */
/* spool_rows.c - the rows of a spool, which the tracker appends to while they are sent. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arithmetic.h"
#include "base/cleanup.h"
#include "base/compiler.h"
#include "services/upload/spool.h"

enum { HEADER_MAX_BYTES = 16 << 10, PIECE_BYTES = 64 << 10 };

/* rows.csv, opened. */
struct rows {
    int fd;
    uint64_t size;
    uint64_t header_bytes; /* 0: there is no header yet */
    char header[HEADER_MAX_BYTES];
};

static void close_rows(struct rows *rows)
{
    if (rows->fd >= 0)
        close(rows->fd);
}

/* Up to `size` bytes: fewer at the end of the file. */
static ssize_t read_at(int fd, char *text, size_t size, uint64_t offset)
{
    size_t done = 0;
    ssize_t n = 1;

    while (done < size && n != 0) {
        n = pread(fd, text + done, size - done, (off_t)(offset + done));
        if (n > 0)
            done += (size_t)n;
        else if (n < 0 && errno != EINTR)
            return -errno;
    }
    return (ssize_t)done;
}

static int open_rows(const struct spool *spool, struct rows *rows)
{
    char path[PATH_MAX];
    struct stat status;
    const char *end;
    ssize_t n;

    *rows = (struct rows){ .fd = -1 };
    if (snprintf(path, sizeof(path), "%s/%s", spool->path, SPOOL_ROWS) >= (int)sizeof(path))
        return -ENAMETOOLONG;
    rows->fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (rows->fd < 0 || fstat(rows->fd, &status) < 0)
        return -errno;
    n = read_at(rows->fd, rows->header, sizeof(rows->header), 0);
    if (n < 0)
        return (int)n;
    end = memchr(rows->header, '\n', (size_t)n);
    rows->size = (uint64_t)status.st_size;
    rows->header_bytes = end ? (uint64_t)(end + 1 - rows->header) : 0;
    return 0;
}

/* Where the rows that wait begin. */
static uint64_t first_waiting(const struct spool *spool, const struct rows *rows)
{
    return rows->header_bytes == 0 ? rows->size : larger(spool->offset, rows->header_bytes);
}

static uint64_t count_lines(const char *text, size_t length)
{
    uint64_t count = 0;

    for (const char *end = text + length; (text = memchr(text, '\n', (size_t)(end - text)));
         text++)
        count++;
    return count;
}

int spool_read_batch(const struct spool *spool, size_t max_bytes, struct spool_batch *ret)
{
    CLEANUP(close_rows) struct rows rows;
    AUTO_FREE char *text = NULL;
    const char *newline;
    uint64_t start;
    ssize_t n;
    size_t size;
    int r = open_rows(spool, &rows);

    if (r < 0)
        return r;
    start = first_waiting(spool, &rows);
    size = (size_t)smaller(sub_floor0(rows.size, start), max_bytes);
    *ret = (struct spool_batch){ .end = start };
    buffer_add(&ret->csv, rows.header, rows.header_bytes);
    text = malloc(size + 1);
    if (!text)
        return -ENOMEM;
    n = read_at(rows.fd, text, size, start);
    if (n < (ssize_t)size) /* it only grows */
        return n < 0 ? (int)n : -EIO;
    newline = memrchr(text, '\n', (size_t)n);
    size = newline ? (size_t)(newline + 1 - text) : 0;
    buffer_add(&ret->csv, text, size);
    ret->rows = count_lines(text, size);
    ret->end = start + size;
    return buffer_error(&ret->csv);
}

/* Not every file system can; then the space is freed with the whole spool. */
static void free_space(const struct spool *spool)
{
    CLEANUP(close_rows) struct rows rows;

    if (open_rows(spool, &rows) == 0 && rows.header_bytes > 0 &&
        spool->offset > rows.header_bytes)
        (void)fallocate(rows.fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                        (off_t)rows.header_bytes, (off_t)(spool->offset - rows.header_bytes));
}

static int move_to(struct spool *spool, uint64_t offset, uint64_t batches,
                   uint64_t dropped_rows)
{
    struct spool before = *spool;
    int r;

    spool->offset = offset;
    spool->batches += batches;
    spool->dropped_rows += dropped_rows;
    r = spool_save(spool);
    if (r < 0)
        *spool = before;
    else
        free_space(spool);
    return r;
}

int spool_advance(struct spool *spool, uint64_t end)
{
    return move_to(spool, end, 1, 0);
}

/* Counts the whole rows from `start` on, up to the first that begins at `until` or after. *ret_end is
 * where that is. */
static int count_rows(int fd, uint64_t start, uint64_t until, uint64_t *ret_rows,
                      uint64_t *ret_end)
{
    char piece[PIECE_BYTES];
    uint64_t rows = 0, end = start, at = start;

    while (end < until) {
        ssize_t n = read_at(fd, piece, sizeof(piece), at);

        if (n < 0)
            return (int)n;
        if (n == 0)
            break;
        for (const char *c = piece;
             end < until && (c = memchr(c, '\n', (size_t)(piece + n - c))); c++) {
            rows++;
            end = at + (uint64_t)(c + 1 - piece);
        }
        at += (uint64_t)n;
    }
    *ret_rows = rows;
    *ret_end = end;
    return 0;
}

int spool_count(const struct spool *spool, uint64_t *ret_rows, uint64_t *ret_bytes)
{
    CLEANUP(close_rows) struct rows rows;
    uint64_t start, end = 0;
    int r = open_rows(spool, &rows);

    if (r < 0)
        return r;
    start = first_waiting(spool, &rows);
    r = count_rows(rows.fd, start, rows.size, ret_rows, &end);
    if (r == 0)
        *ret_bytes = sub_floor0(rows.size, start);
    return r;
}

int spool_enforce_limit(struct spool *spool, uint64_t limit_bytes)
{
    CLEANUP(close_rows) struct rows rows;
    uint64_t start, until, dropped = 0, end = 0;
    int r = open_rows(spool, &rows);

    if (r < 0)
        return r;
    start = first_waiting(spool, &rows);
    if (sub_floor0(rows.size, start) <= limit_bytes)
        return 0;
    until = rows.size - limit_bytes + limit_bytes / 4;
    r = count_rows(rows.fd, start, until, &dropped, &end);
    return r < 0 ? r : move_to(spool, end, 0, dropped);
}
