/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sub_tracking_append.c - append a row while other processes do the same.
 *
 * In a CSV file a row is one write to its end, which the kernel keeps whole. The process that
 * finds it empty also writes the header; a lock ensures that only one does.
 */
#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "compat/tracking/sub_tracking_file.h"
#include "compat/tracking/table.h"
#include "output/output_file.h"
#include "text/csv.h"

enum { BUSY_MS = 10000 };

/* The lines to add, in memory. */
static void make_lines(bool has_header, const struct phase_mark *mark, struct buffer *out)
{
    struct csv_writer csv = { .out = out, .dialect = &csv_python };

    if (has_header) {
        for (size_t i = 0; i < SUB_TRACKING_COLUMNS; i++)
            csv_add_text(&csv, sub_tracking_columns[i]);
        csv_end_row(&csv);
    }
    csv_add_i64(&csv, mark->process_id);
    csv_add_text(&csv, mark->name);
    csv_add_i64(&csv, mark->is_stop);
    csv_add_number(&csv, mark->timestamp);
    csv_end_row(&csv);
}

static int append_csv(const char *path, const struct phase_mark *mark, bool is_guarded)
{
    /* A FIFO without a reader is not waited for, and one with a reader is refused below. */
    const int guard = is_guarded ? O_NOFOLLOW | O_NONBLOCK : 0;
    AUTO_CLOSE int fd =
        open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY | guard, 0666);
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
    if (is_guarded && !S_ISREG(status.st_mode))
        return -EEXIST;
    make_lines(status.st_size == 0, mark, &lines);
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

static int insert(sqlite3 *db, const struct phase_mark *mark)
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
        code = sqlite3_bind_int64(statement, 1, mark->process_id);
    if (code == SQLITE_OK)
        code = sqlite3_bind_text(statement, 2, mark->name, -1, SQLITE_STATIC);
    if (code == SQLITE_OK)
        code = sqlite3_bind_int(statement, 3, mark->is_stop);
    if (code == SQLITE_OK)
        code = sqlite3_bind_double(statement, 4, mark->timestamp);
    if (code == SQLITE_OK)
        code = sqlite3_step(statement);
    sqlite3_finalize(statement);
    return code == SQLITE_DONE ? sqlite3_exec(db, "COMMIT", NULL, NULL, NULL) : code;
}

static int append_sqlite(const char *path, const struct phase_mark *mark,
                         struct spoor_error *err)
{
    sqlite3 *db = NULL;
    int code = sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL);
    int r = 0;

    if (code == SQLITE_OK)
        code = sqlite3_busy_timeout(db, BUSY_MS);
    if (code == SQLITE_OK)
        code = table_distrust(db);
    if (code == SQLITE_OK)
        code = insert(db, mark);
    if (code != SQLITE_OK)
        r = error_set(err, EIO, "cannot write '%s': %s", path, sqlite3_errmsg(db));
    sqlite3_close(db);
    return r;
}

int phase_file_append(const char *path, const struct phase_mark *mark, bool is_guarded,
                      struct spoor_error *err)
{
    int r;

    if (!output_file_is_trusted(path))
        return error_set(err, EPERM,
                         "cannot write '%s': it belongs to another user in a public directory",
                         path);
    switch (table_kind(path)) {
    case TABLE_SQLITE:
        return append_sqlite(path, mark, err);
    case TABLE_CSV:
        r = append_csv(path, mark, is_guarded);
        return r < 0 ? error_sys(err, r, "cannot write '%s'", path) : 0;
    case TABLE_NONE:
        break;
    }
    return error_set(err, EINVAL, "phase file '%s': the name must end in .csv or .sqlite",
                     path);
}
