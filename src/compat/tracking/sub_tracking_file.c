/* SPDX-License-Identifier: Apache-2.0 */
#include "compat/tracking/sub_tracking_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/reserve.h"
#include "compat/tracking/table.h"
#include "output/output_file.h"
#include "text/csv.h"

/* The number of columns. */
enum { SUB_TRACKING_COLUMNS = 4 };

/* ---- reading ------------------------------------------------------------ */

enum column { PROCESS_ID, CODE_BLOCK_NAME, POSITION, TIMESTAMP };

static const char *const sub_tracking_columns[SUB_TRACKING_COLUMNS] = {
    [PROCESS_ID] = "process_id",
    [CODE_BLOCK_NAME] = "code_block_name",
    [POSITION] = "position",
    [TIMESTAMP] = "timestamp",
};

static const struct table_place place = { "data", 0 };

void block_log_done(struct block_log *log)
{
    for (size_t i = 0; i < log->count; i++)
        free(log->events[i].name);
    free(log->events);
    *log = (struct block_log){ 0 };
}

int block_log_add(struct block_log *log, int64_t process_id, const char *name, bool is_stop,
                  double timestamp)
{
    struct block_event event = { process_id, strdup(name), log->count, timestamp, is_stop };

    if (!event.name ||
        reserve(&log->events, &log->capacity, log->count + 1, sizeof(event)) < 0) {
        free(event.name);
        return -ENOMEM;
    }
    log->events[log->count++] = event;
    return 0;
}

static int read_row(struct table *table, struct block_log *log, struct spoor_error *err)
{
    int64_t process_id = 0, position = 0;
    double timestamp = 0;

    if (table_integer(table, PROCESS_ID, &process_id, err) < 0 ||
        table_integer(table, POSITION, &position, err) < 0 ||
        table_number(table, TIMESTAMP, &timestamp, err) < 0)
        return -EBADMSG;
    if (position != 0 && position != 1)
        return table_refuse(table, err, "invalid position %lld: must be 0 (start) or 1 (stop)",
                            (long long)position);
    if (block_log_add(log, process_id, table_text(table, CODE_BLOCK_NAME), position == 1,
                      timestamp) < 0)
        return error_set(err, ENOMEM, "out of memory");
    return 0;
}

int sub_tracking_read(const char *path, struct block_log *ret, struct spoor_error *err)
{
    struct block_log log = { 0 };
    struct table *table = NULL;
    int r = table_open(path, &place, sub_tracking_columns, SUB_TRACKING_COLUMNS, &table, err);

    while (r >= 0 && (r = table_next(table, err)) > 0)
        r = read_row(table, &log, err);
    table_close(table);
    if (r < 0) {
        block_log_done(&log);
        return r;
    }
    *ret = log;
    return 0;
}

/* ---- appending ----------------------------------------------------------
 *
 * A row is appended to a CSV file by a single write, so that rows of several processes never
 * mix. The process that finds the file empty writes the header as well; a lock ensures that
 * only one process does.
 */

enum { BUSY_MS = 10000 };

static void add_header(struct csv_writer *csv)
{
    for (size_t i = 0; i < SUB_TRACKING_COLUMNS; i++)
        csv_add_text(csv, sub_tracking_columns[i]);
    csv_end_row(csv);
}

/* Formats the lines to add, in memory. */
static void make_lines(bool has_header, const struct phase_mark *mark, struct buffer *out)
{
    struct csv_writer csv = { .out = out, .dialect = &csv_python };

    if (has_header)
        add_header(&csv);
    csv_add_i64(&csv, mark->process_id);
    csv_add_text(&csv, mark->name);
    csv_add_i64(&csv, mark->is_stop);
    csv_add_number(&csv, mark->timestamp);
    csv_end_row(&csv);
}

static int append_csv(const char *path, const struct phase_mark *mark, bool is_guarded)
{
    /* Opening a FIFO without a reader fails at once; a FIFO with a reader is rejected below. */
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
        (void)!ftruncate(fd, status.st_size); /* remove an incomplete row */
        return -ENOSPC;
    }
    return 0;
}

static int insert(sqlite3 *db, const struct phase_mark *mark)
{
    sqlite3_stmt *statement = NULL;
    int code = SQLITE_ERROR;

    if (sqlite3_exec(db,
                     "BEGIN IMMEDIATE;"
                     "CREATE TABLE IF NOT EXISTS data (process_id INTEGER, "
                     "code_block_name VARCHAR, position INTEGER, timestamp FLOAT)",
                     NULL, NULL, NULL) == SQLITE_OK &&
        sqlite3_prepare_v2(db,
                           "INSERT INTO data (process_id, code_block_name, position, "
                           "timestamp) VALUES (?, ?, ?, ?)",
                           -1, &statement, NULL) == SQLITE_OK &&
        sqlite3_bind_int64(statement, 1, mark->process_id) == SQLITE_OK &&
        sqlite3_bind_text(statement, 2, mark->name, -1, SQLITE_STATIC) == SQLITE_OK &&
        sqlite3_bind_int(statement, 3, mark->is_stop) == SQLITE_OK &&
        sqlite3_bind_double(statement, 4, mark->timestamp) == SQLITE_OK)
        code = sqlite3_step(statement);
    sqlite3_finalize(statement);
    return code == SQLITE_DONE ? sqlite3_exec(db, "COMMIT", NULL, NULL, NULL) : code;
}

static int append_sqlite(const char *path, const struct phase_mark *mark,
                         struct spoor_error *err)
{
    sqlite3 *db = NULL;
    int r = 0;

    if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL) !=
            SQLITE_OK ||
        sqlite3_busy_timeout(db, BUSY_MS) != SQLITE_OK || table_distrust(db) != SQLITE_OK ||
        insert(db, mark) != SQLITE_OK)
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

/* ---- combining ---------------------------------------------------------- */

enum { CHUNK_BYTES = 64 << 10 }; /* size of one write */

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

/* Cells are copied unchanged: a timestamp keeps all its digits. */
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

static int combine_csv(const char *path, int fd, const char *const *files, size_t count,
                       struct spoor_error *err)
{
    struct combined to = { path, fd, { 0 } };
    struct csv_writer csv = { .out = &to.lines, .dialect = &csv_pandas };
    int r = 0;

    add_header(&csv);
    for (size_t i = 0; i < count && r == 0; i++)
        r = copy_csv(files[i], &to, err);
    if (r == 0)
        r = flush(&to, err);
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
    int r = 0;

    if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK ||
        table_distrust(db) != SQLITE_OK)
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

/* Checks that all files are readable and of the same kind. */
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
    r = kind == TABLE_CSV ? combine_csv(path, fd, files, count, err)
                          : combine_sqlite(path, files, count, err);
    if (close(fd) < 0 && r == 0)
        r = error_sys(err, errno, "File %s", path);
    if (r < 0)
        (void)unlink(path);
    return r;
}
