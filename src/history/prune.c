/* SPDX-License-Identifier: Apache-2.0 */
#include "history/index.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/amount.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "history/store.h"
#include "output/output_file.h"

/* ---- one file ------------------------------------------------------------- */

static int copy(int to, int from, off_t offset, off_t end)
{
    char bytes[16384];

    while (offset < end) {
        ssize_t n =
            pread(from, bytes, smaller(sizeof(bytes), (uint64_t)(end - offset)), offset);
        struct buffer piece = { .text = bytes };
        int r;

        if (n <= 0)
            return n < 0 ? -errno : -EIO;
        piece.length = (size_t)n;
        r = buffer_write(&piece, to);
        if (r < 0)
            return r;
        offset += n;
    }
    return 0;
}

/* Copies the rows to keep, and the rows appended since the file was indexed. */
static int copy_all(int to, int from, sqlite3_stmt *rows, off_t tail, off_t size)
{
    int r = 0;

    while (r == 0 && sqlite3_step(rows) == SQLITE_ROW) {
        off_t offset = sqlite3_column_int64(rows, 0);

        r = copy(to, from, offset, offset + sqlite3_column_int64(rows, 1) + 1);
    }
    return r < 0 ? r : copy(to, from, tail, size);
}

/* Holds a lock on the file: no process appends meanwhile, and those that wait for the lock
 * open the new file afterwards. */
static int rewrite_file(const char *path, sqlite3_stmt *rows, sqlite3_int64 inode, off_t tail)
{
    AUTO_CLOSE int fd = -1;
    struct replacement new_file;
    struct stat status;
    bool is_locked, is_empty;
    int r;

    fd = history_open_locked(path, 0, &is_locked);
    if (fd < 0)
        return fd == -ENOENT ? 0 : take_fd(&fd);
    if (fstat(fd, &status) < 0 || (sqlite3_int64)status.st_ino != inode)
        return -ESTALE; /* replaced since it was indexed */
    r = replacement_open(&new_file, path, true);
    if (r < 0)
        return r;
    r = copy_all(new_file.fd, fd, rows, tail, status.st_size);
    is_empty = lseek(new_file.fd, 0, SEEK_CUR) == 0;
    if (r == 0)
        r = replacement_sync(&new_file);
    if (r < 0 || is_empty)
        replacement_cancel(&new_file);
    if (r == 0 && is_empty)
        return unlink(path) < 0 ? -errno : 0;
    return r < 0 ? r : replacement_commit(&new_file, false);
}

/* ---- all files ------------------------------------------------------------ */

static int rewrite_files(struct history_index *index, struct spoor_error *err)
{
    CLEANUP(history_finalize)
    sqlite3_stmt *files = history_prepare(
        index, "SELECT number, path, inode, offset FROM file WHERE number IN (SELECT file FROM "
               "run WHERE number IN (SELECT number FROM doomed))");
    CLEANUP(history_finalize)
    sqlite3_stmt *rows =
        files ? history_prepare(index, "SELECT offset, length FROM run WHERE file = ?1 AND "
                                       "number NOT IN (SELECT number FROM doomed) ORDER BY "
                                       "offset")
              : NULL;
    int code;

    if (!rows)
        return history_index_fail(index, err);
    while ((code = sqlite3_step(files)) == SQLITE_ROW) {
        const char *path = (const char *)sqlite3_column_text(files, 1);
        int r;

        (void)sqlite3_reset(rows);
        (void)sqlite3_bind_int64(rows, 1, sqlite3_column_int64(files, 0));
        r = rewrite_file(path, rows, sqlite3_column_int64(files, 2),
                         sqlite3_column_int64(files, 3));
        if (r < 0 && r != -ESTALE)
            return error_sys(err, r, "cannot replace '%s'", path);
    }
    return code == SQLITE_DONE ? 0 : history_index_fail(index, err);
}

static uint64_t count(struct history_index *index, const char *sql)
{
    CLEANUP(history_finalize) sqlite3_stmt *query = history_prepare(index, sql);

    return query && sqlite3_step(query) == SQLITE_ROW ? (uint64_t)sqlite3_column_int64(query, 0)
                                                      : 0;
}

/* Lists the runs to remove. Runs of a name, and bytes, are counted from the newest run. */
static int doom(struct history_index *index, const struct history_limits *limits)
{
    char sql[1024];

    (void)snprintf(
        sql, sizeof(sql),
        "CREATE TEMP TABLE doomed AS SELECT number FROM (SELECT number, started, row_number() "
        "OVER "
        "(PARTITION BY coalesce(name, command, '') ORDER BY started DESC, number DESC) AS "
        "place "
        "FROM run) WHERE started < %.3f OR (%zu > 0 AND place > %zu);"
        "INSERT INTO doomed SELECT number FROM (SELECT number, sum(length + 1) OVER (ORDER BY "
        "started DESC, number DESC) AS size FROM run WHERE number NOT IN (SELECT number FROM "
        "doomed)) WHERE %.0f > 0 AND size > %.0f",
        limits->started_after, limits->runs, limits->runs, limits->bytes, limits->bytes);
    return sqlite3_exec(index->db, sql, NULL, NULL, NULL) == SQLITE_OK ? 0 : -EIO;
}

int history_prune(struct history_index *index, const struct history_limits *limits,
                  struct history_removed *ret, struct spoor_error *err)
{
    if (doom(index, limits) < 0)
        return history_index_fail(index, err);
    ret->runs = count(index, "SELECT count(*) FROM doomed");
    ret->of = count(index, "SELECT count(*) FROM run");
    return ret->runs > 0 ? rewrite_files(index, err) : 0;
}
