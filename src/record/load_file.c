/* SPDX-License-Identifier: Apache-2.0 */
/* load_file.c - the reports of a file. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "record/load.h"

void records_done(struct records *records)
{
    for (size_t i = 0; i < records->count; i++)
        record_done(&records->items[i]);
    free(records->items);
    *records = (struct records){ 0 };
}

static int parse_next(const char **cursor, const char *end, struct records *records,
                      struct spoor_error *err)
{
    struct record *items =
        realloc(records->items, (records->count + 1) * sizeof(*records->items));
    size_t length;
    int r;

    if (!items)
        return error_set(err, ENOMEM, "out of memory");
    records->items = items;
    if (records->count == LOAD_REPORTS_MAX)
        return error_set(err, EFBIG, "more than %d reports", LOAD_REPORTS_MAX);
    r = record_parse(*cursor, (size_t)(end - *cursor), &items[records->count], &length, err);
    if (r < 0)
        return records->count > 0 ? error_prefix(err, r, "report %zu", records->count + 1) : r;
    records->count++;
    *cursor += length;
    while (*cursor < end && strchr(" \t\r\n", **cursor) && **cursor)
        (*cursor)++;
    return 0;
}

int records_read(int fd, const char *path, struct buffer *text, struct records *ret,
                 struct spoor_error *err)
{
    CLEANUP(records_done) struct records records = { 0 };
    const char *cursor, *end;
    int r = buffer_read(text, fd, LOAD_BYTES_MAX);

    if (r == -EFBIG)
        return error_set(err, EFBIG, "'%s' is larger than 64 MiB; " NOT_A_REPORT, path);
    if (r < 0)
        return error_sys(err, r, "cannot read '%s'", path);
    cursor = text->text;
    end = text->text + text->length;
    do {
        r = parse_next(&cursor, end, &records, err);
        if (r < 0)
            return error_prefix(err, r, "'%s'", path);
    } while (cursor < end);
    *ret = records;
    records = (struct records){ 0 };
    return 0;
}

int records_load(const char *path, struct records *ret, struct spoor_error *err)
{
    CLEANUP(buffer_done) struct buffer text = { 0 };
    AUTO_CLOSE int opened = -1;
    int fd = STDIN_FILENO;

    if (strcmp(path, "-") != 0) {
        opened = fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
        if (fd < 0)
            return error_sys(err, errno, "cannot read '%s'", path);
    }
    return records_read(fd, path, &text, ret, err);
}
