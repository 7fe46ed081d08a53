/* SPDX-License-Identifier: Apache-2.0 */
/* sub_tracking_combine.c - several files as one. Row by row: none is held in memory. */
#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <unistd.h>

#include "base/error.h"
#include "compat/tracking/sub_tracking_file.h"
#include "compat/tracking/table.h"
#include "text/csv.h"

static const struct table_place place = { "data", 0 };

enum { CHUNK_BYTES = 64 << 10 }; /* written at once */

struct combined {
    const char *path;
    int fd;
    struct buffer lines; /* not written yet */
};

static int flush(struct combined *to, struct spoor_error *err)
{
    int r = buffer_write(&to->lines, to->fd);

    buffer_clear(&to->lines);
    return r < 0 ? error_sys(err, r, "File %s", to->path) : 0;
}

/* Cells are copied as they stand: a timestamp keeps each of its digits. */
static int copy_csv(const char *file, struct combined *to, struct spoor_error *err)
{
    struct csv_writer csv = { .out = &to->lines, .dialect = &csv_pandas };
    struct table *table = NULL;
    int r = table_open(file, &place, sub_tracking_columns, SUB_TRACKING_COLUMNS, &table, err);

    while (r >= 0 && (r = table_next(table, err)) > 0) {
        for (size_t i = 0; i < SUB_TRACKING_COLUMNS; i++)
            csv_add_text(&csv, table_text(table, i));
        csv_end_row(&csv);
        if (to->lines.length >= CHUNK_BYTES)
            r = flush(to, err);
    }
    table_close(table);
    return r;
}

static int combine_csv(const char *path, const char *const *files, size_t count,
                       struct spoor_error *err)
{
    struct combined to = { path, open(path, O_WRONLY | O_TRUNC | O_CLOEXEC), { 0 } };
    struct csv_writer csv = { .out = &to.lines, .dialect = &csv_pandas };
    int r = 0;

    if (to.fd < 0)
        return error_sys(err, errno, "File %s", path);
    for (size_t i = 0; i < SUB_TRACKING_COLUMNS; i++)
        csv_add_text(&csv, sub_tracking_columns[i]);
    csv_end_row(&csv);
    for (size_t i = 0; i < count && r == 0; i++)
        r = copy_csv(files[i], &to, err);
    if (r == 0)
        r = flush(&to, err);
    if (close(to.fd) < 0 && r == 0)
        r = error_sys(err, errno, "File %s", path);
    buffer_done(&to.lines);
    return r;
}

static int run(sqlite3 *db, const char *sql, const char *file, struct spoor_error *err)
{
    sqlite3_stmt *statement = NULL;
    int code = sqlite3_prepare_v2(db, sql, -1, &statement, NULL);

    if (code == SQLITE_OK && sqlite3_bind_parameter_count(statement) == 1)
        code = sqlite3_bind_text(statement, 1, file, -1, SQLITE_STATIC);
    if (code == SQLITE_OK)
        code = sqlite3_step(statement);
    sqlite3_finalize(statement);
    return code == SQLITE_DONE
               ? 0
               : error_set(err, EBADMSG, "File %s: %s", file, sqlite3_errmsg(db));
}

#define SELECT "SELECT process_id, code_block_name, position, timestamp FROM input.data"

static int combine_sqlite(const char *path, const char *const *files, size_t count,
                          struct spoor_error *err)
{
    sqlite3 *db = NULL;
    int code = sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL);
    int r = 0;

    if (code == SQLITE_OK)
        code = table_distrust(db);
    if (code != SQLITE_OK)
        r = error_set(err, EIO, "File %s: %s", path, sqlite3_errmsg(db));
    for (size_t i = 0; i < count && r == 0; i++) {
        r = run(db, "ATTACH DATABASE ? AS input", files[i], err);
        if (r == 0)
            r = run(db, i ? "INSERT INTO data " SELECT : "CREATE TABLE data AS " SELECT,
                    files[i], err);
        if (r == 0)
            r = run(db, "DETACH DATABASE input", files[i], err);
    }
    sqlite3_close(db);
    return r;
}

/* Of the same kind, and there to be read. */
static int check_files(const char *path, const char *const *files, size_t count,
                       struct spoor_error *err)
{
    int kind = table_check_name(path, err);

    if (kind < 0)
        return kind;
    if (access(path, F_OK) == 0)
        return error_set(err, EEXIST,
                         "Cannot create sub-tracking file %s. File already exists.", path);
    for (size_t i = 0; i < count; i++) {
        if ((int)table_kind(files[i]) != kind)
            return error_set(err, EINVAL,
                             "File %s does not end with the same extension as %s. Must end in "
                             "\"%s\".",
                             files[i], path, kind == TABLE_CSV ? ".csv" : ".sqlite");
    }
    for (size_t i = 0; i < count; i++) {
        if (access(files[i], R_OK) < 0)
            return error_sys(err, errno, "File %s", files[i]);
    }
    return kind;
}

int sub_tracking_combine(const char *path, const char *const *files, size_t count,
                         struct spoor_error *err)
{
    int kind = check_files(path, files, count, err);
    int fd, r;

    if (kind < 0)
        return kind;
    fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0)
        return error_sys(err, errno, "File %s", path);
    close(fd);
    r = kind == TABLE_CSV ? combine_csv(path, files, count, err)
                          : combine_sqlite(path, files, count, err);
    if (r < 0)
        (void)unlink(path);
    return r;
}
