/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sub_tracking_append.c - a row more, while others do the same.
 *
 * In a CSV file a row is one write to its end, which the kernel keeps whole. Who finds it
 * empty writes the header too; a lock sees to it that only one does.
 */
#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "store/sub_tracking_file.h"
#include "store/table.h"
#include "text/csv_writer.h"

enum { BUSY_MS = 10000 };

/* The lines to add, in memory. */
static void make_lines(bool has_header, int64_t process_id, const char *name, bool is_stop,
                       double timestamp, struct buffer *out)
{
    struct csv_writer csv = { .out = out, .dialect = &csv_python };

    if (has_header) {
        for (size_t i = 0; i < SUB_TRACKING_COLUMNS; i++)
            csv_add_text(&csv, sub_tracking_columns[i]);
        csv_end_row(&csv);
    }
    csv_add_i64(&csv, process_id);
    csv_add_text(&csv, name);
    csv_add_i64(&csv, is_stop);
    csv_add_number(&csv, timestamp);
    csv_end_row(&csv);
}

static int append_csv(const char *path, int64_t process_id, const char *name, bool is_stop,
                      double timestamp)
{
    AUTO_CLOSE int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY, 0666);
    CLEANUP(buffer_done) struct buffer lines = { 0 };
    struct stat status;
    ssize_t written;

    if (fd < 0)
        return -errno;
    while (flock(fd, LOCK_EX) < 0) {
        if (errno == ENOLCK || errno == EOPNOTSUPP)
            break; /* a file system without locks: the header may come twice */
        if (errno != EINTR)
            return -errno;
    }
    if (fstat(fd, &status) < 0)
        return -errno;
    make_lines(status.st_size == 0, process_id, name, is_stop, timestamp, &lines);
    if (buffer_error(&lines) < 0)
        return buffer_error(&lines);
    written = write(fd, lines.text, lines.length);
    if (written < 0)
        return -errno;
    if ((size_t)written < lines.length) {
        (void)!ftruncate(fd, status.st_size); /* half a row is none */
        return -ENOSPC;
    }
    return 0;
}

static int insert(sqlite3 *db, int64_t process_id, const char *name, bool is_stop,
                  double timestamp)
{
    sqlite3_stmt *statement = NULL;
    int code = sqlite3_exec(db,
                            "BEGIN IMMEDIATE;"
                            "CREATE TABLE IF NOT EXISTS data (process_id INTEGER, "
                            "code_block_name VARCHAR, position INTEGER, timestamp FLOAT)",
                            NULL, NULL, NULL);

    if (code == SQLITE_OK)
        code = sqlite3_prepare_v2(db,
                                  "INSERT INTO data (process_id, code_block_name, position, "
                                  "timestamp) VALUES (?, ?, ?, ?)",
                                  -1, &statement, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_bind_int64(statement, 1, process_id);
    if (code == SQLITE_OK)
        code = sqlite3_bind_text(statement, 2, name, -1, SQLITE_STATIC);
    if (code == SQLITE_OK)
        code = sqlite3_bind_int(statement, 3, is_stop);
    if (code == SQLITE_OK)
        code = sqlite3_bind_double(statement, 4, timestamp);
    if (code == SQLITE_OK)
        code = sqlite3_step(statement);
    sqlite3_finalize(statement);
    return code == SQLITE_DONE ? sqlite3_exec(db, "COMMIT", NULL, NULL, NULL) : code;
}

static int append_sqlite(const char *path, int64_t process_id, const char *name, bool is_stop,
                         double timestamp, struct spoor_error *err)
{
    sqlite3 *db = NULL;
    int code = sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL);
    int r = 0;

    if (code == SQLITE_OK)
        code = sqlite3_busy_timeout(db, BUSY_MS);
    if (code == SQLITE_OK)
        code = insert(db, process_id, name, is_stop, timestamp);
    if (code != SQLITE_OK)
        r = error_set(err, EIO, "File %s: %s", path, sqlite3_errmsg(db));
    sqlite3_close(db);
    return r;
}

int sub_tracking_append(const char *path, int64_t process_id, const char *name, bool is_stop,
                        double timestamp, struct spoor_error *err)
{
    int r = table_check_name(path, err);

    if (r < 0)
        return r;
    if (r == TABLE_SQLITE)
        return append_sqlite(path, process_id, name, is_stop, timestamp, err);
    r = append_csv(path, process_id, name, is_stop, timestamp);
    return r < 0 ? error_sys(err, r, "File %s", path) : 0;
}
