/* SPDX-License-Identifier: Apache-2.0 */
#include "compat/tracking/tracking_file.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/compiler.h"
#include "base/error.h"
#include "compat/tracking/table.h"
#include "output/output_file.h"
#include "text/csv.h"

/* ---- fields ------------------------------------------------------------- */

const struct tracking_field tracking_fact_fields[TRACKING_FACTS] = {
    { "ram_unit", .type = TRACKING_TEXT },
    { "gpu_ram_unit", .type = TRACKING_TEXT },
    { "time_unit", .type = TRACKING_TEXT },
    { "ram_system_capacity", .type = TRACKING_REAL },
    { "gpu_ram_system_capacity", .type = TRACKING_REAL },
    { "system_core_count", .type = TRACKING_INTEGER },
    { "n_expected_cores", .type = TRACKING_INTEGER },
    { "system_gpu_count", .type = TRACKING_INTEGER },
    { "n_expected_gpus", .type = TRACKING_INTEGER },
};

/* clang-format off */
#define MEMORY(name, metric, unit, moment) \
    { name, TRACKING_REAL, metric, TRACKING_IN_##unit, TRACKING_##moment, 0 }
#define THREADS(name, metric) \
    { name, TRACKING_INTEGER, metric, TRACKING_COUNTS, TRACKING_HELD, 0 }
/* Two columns: percent of one CPU or GPU, and percent of all expected CPUs or GPUs. */
#define PERCENT(name, metric, moment, threads) \
    { name "_sum_utilization_percent", TRACKING_REAL, metric, TRACKING_PERCENT, TRACKING_##moment, threads }, \
    { name "_hardware_utilization_percent", .type = TRACKING_REAL }

/* The columns, in the order of enum tracking_column. */
const struct tracking_field tracking_row_fields[TRACKING_COLUMNS] = {
    MEMORY("main_ram", "main_rss_bytes", RAM, HELD),
    MEMORY("descendants_ram", "descendants_rss_bytes", RAM, HELD),
    MEMORY("combined_ram", "job_rss_bytes", RAM, HELD),
    MEMORY("system_ram", "host_memory_used_bytes", RAM, NOW),
    MEMORY("main_gpu_ram", "main_gpu_memory_bytes", GPU_RAM, HELD),
    MEMORY("descendants_gpu_ram", "descendants_gpu_memory_bytes", GPU_RAM, HELD),
    MEMORY("combined_gpu_ram", "job_gpu_memory_bytes", GPU_RAM, HELD),
    MEMORY("system_gpu_ram", "host_gpu_memory_bytes", GPU_RAM, NOW),
    PERCENT("gpu", "host_gpu_utilization_gpus", NOW, 0),
    THREADS("main_n_threads", "main_threads"),
    THREADS("descendants_n_threads", "descendants_threads"),
    THREADS("combined_n_threads", "job_threads"),
    PERCENT("cpu_system", "host_cpu_seconds", RATE, 0),
    PERCENT("cpu_main", "main_cpu_seconds", RATE, TRACKING_MAIN_N_THREADS),
    PERCENT("cpu_descendants", "descendants_cpu_seconds", RATE, TRACKING_DESCENDANTS_N_THREADS),
    PERCENT("cpu_combined", "job_cpu_seconds", RATE, TRACKING_COMBINED_N_THREADS),
    { "timestamp", .type = TRACKING_REAL },
};
/* clang-format on */

/* This interface cannot express unknown values: they are 0. */
static double known(double value)
{
    return isfinite(value) ? value : 0;
}

/* ---- the file ----------------------------------------------------------- */

struct tracking_file {
    const char *path; /* borrowed; ends with .csv or .sqlite */
    bool overwrite;
    /* Replaces an old file when rows begin; fd -1: there is no old file. */
    struct replacement replacement;
    struct stat created; /* to detect later that the file was removed */
    bool exists;         /* the new file exists, perhaps next to an old one */
    bool has_begun;      /* the file may have rows */
    /* CSV: */
    int fd;              /* -1: the file accepts no rows yet */
    struct buffer lines; /* lines to write next */
    /* SQLite: */
    sqlite3 *db;          /* NULL: the file accepts no rows yet */
    sqlite3_stmt *insert; /* inserts a row */
};

/* ---- CSV ---------------------------------------------------------------- */

static struct csv_writer begin_lines(struct tracking_file *file)
{
    buffer_clear(&file->lines);
    return (struct csv_writer){ .out = &file->lines, .dialect = &csv_python };
}

static void add_number(struct csv_writer *writer, double value, enum tracking_type type)
{
    if (type == TRACKING_INTEGER)
        csv_add_i64(writer, (int64_t)value);
    else
        csv_add_number(writer, value);
}

static void add_header(struct csv_writer *writer, const struct tracking_field *fields,
                       size_t count)
{
    for (size_t i = 0; i < count; i++)
        csv_add_text(writer, fields[i].name);
    csv_end_row(writer);
}

/* Writes whole lines or nothing: an incomplete line on a full disk is removed. */
static int write_lines(const struct tracking_file *file, struct spoor_error *err)
{
    off_t end = lseek(file->fd, 0, SEEK_END);
    int r = buffer_write(&file->lines, file->fd);

    if (r < 0 && end >= 0)
        (void)!ftruncate(file->fd, end);
    return r < 0 ? error_sys(err, r, "write") : 0;
}

static int write_csv_facts(struct tracking_file *file, const struct tracking_facts *facts,
                           struct spoor_error *err)
{
    struct csv_writer writer = begin_lines(file);

    add_header(&writer, tracking_fact_fields, TRACKING_FACTS);
    for (size_t i = 0; i < TRACKING_FACTS; i++) {
        if (tracking_fact_fields[i].type == TRACKING_TEXT)
            csv_add_text(&writer, facts->texts[i]);
        else
            add_number(&writer, known(facts->numbers[i]), tracking_fact_fields[i].type);
    }
    csv_end_row(&writer);
    add_header(&writer, tracking_row_fields, TRACKING_COLUMNS);
    return write_lines(file, err);
}

static int add_csv_row(struct tracking_file *file, const double row[TRACKING_COLUMNS],
                       struct spoor_error *err)
{
    struct csv_writer writer = begin_lines(file);

    for (size_t i = 0; i < TRACKING_COLUMNS; i++) {
        const struct tracking_field *field = &tracking_row_fields[i];
        /* For a group without processes the predecessor writes the integer 0, not 0.0: the
         * sum of an empty list. */
        bool is_sum_of_nothing =
            field->threads != 0 && !(row[field->threads] > 0) && !(row[i] > 0);

        add_number(&writer, row[i], is_sum_of_nothing ? TRACKING_INTEGER : field->type);
    }
    csv_end_row(&writer);
    return write_lines(file, err);
}

/* ---- SQLite -------------------------------------------------------------
 *
 * While rows are written, the database has a write-ahead log (two more files next to it): a row
 * is one short write, readers do not block us, and written rows survive if we are killed.
 * Closing makes it one plain file again.
 */

enum { BUSY_MS = 1000 };

static const char *const type_names[] = {
    [TRACKING_TEXT] = "VARCHAR",
    [TRACKING_REAL] = "FLOAT",
    [TRACKING_INTEGER] = "INTEGER",
};

static int fail(const struct tracking_file *file, struct spoor_error *err)
{
    int code = sqlite3_extended_errcode(file->db);

    return error_set(err, code == SQLITE_FULL ? ENOSPC : EIO, "%s", sqlite3_errmsg(file->db));
}

static int run(const struct tracking_file *file, const char *sql, struct spoor_error *err)
{
    return sqlite3_exec(file->db, sql, NULL, NULL, NULL) == SQLITE_OK ? 0 : fail(file, err);
}

/* Runs "CREATE TABLE t (a FLOAT, ...)". */
static int create_table(const struct tracking_file *file, const char *table,
                        const struct tracking_field *fields, size_t count,
                        struct spoor_error *err)
{
    CLEANUP(buffer_done) struct buffer sql = { 0 };

    buffer_format(&sql, "CREATE TABLE %s", table);
    for (size_t i = 0; i < count; i++)
        buffer_format(&sql, "%s%s %s", i ? ", " : " (", fields[i].name,
                      type_names[fields[i].type]);
    buffer_add_text(&sql, ")");
    return buffer_error(&sql) < 0 ? error_set(err, ENOMEM, "out of memory")
                                  : run(file, sql.text, err);
}

/* Prepares "INSERT INTO t VALUES (?, ...)". */
static int prepare_insert(struct tracking_file *file, const char *table, size_t count,
                          struct spoor_error *err)
{
    CLEANUP(buffer_done) struct buffer sql = { 0 };

    buffer_format(&sql, "INSERT INTO %s VALUES (?", table);
    for (size_t i = 1; i < count; i++)
        buffer_add_text(&sql, ",?");
    buffer_add_text(&sql, ")");
    if (buffer_error(&sql) < 0)
        return error_set(err, ENOMEM, "out of memory");
    return sqlite3_prepare_v2(file->db, sql.text, -1, &file->insert, NULL) == SQLITE_OK
               ? 0
               : fail(file, err);
}

static int bind_number(const struct tracking_file *file, size_t i, enum tracking_type type,
                       double value)
{
    return type == TRACKING_INTEGER
               ? sqlite3_bind_int64(file->insert, (int)i + 1, (sqlite3_int64)value)
               : sqlite3_bind_double(file->insert, (int)i + 1, value);
}

/* Inserts the bound values and resets the statement. */
static int insert_row(const struct tracking_file *file, struct spoor_error *err)
{
    int r = sqlite3_step(file->insert) == SQLITE_DONE ? 0 : fail(file, err);

    (void)sqlite3_reset(file->insert); /* returns the error of the step again */
    return r;
}

static int add_database_row(struct tracking_file *file, const double row[TRACKING_COLUMNS],
                            struct spoor_error *err)
{
    for (size_t i = 0; i < TRACKING_COLUMNS; i++) {
        if (bind_number(file, i, tracking_row_fields[i].type, row[i]) != SQLITE_OK)
            return fail(file, err);
    }
    return insert_row(file, err);
}

static int insert_facts(struct tracking_file *file, const struct tracking_facts *facts,
                        struct spoor_error *err)
{
    int r = prepare_insert(file, "static_data", TRACKING_FACTS, err);

    for (size_t i = 0; i < TRACKING_FACTS && r == 0; i++) {
        enum tracking_type type = tracking_fact_fields[i].type;
        int code = type == TRACKING_TEXT ? sqlite3_bind_text(file->insert, (int)i + 1,
                                                             facts->texts[i], -1, SQLITE_STATIC)
                                         : bind_number(file, i, type, known(facts->numbers[i]));

        if (code != SQLITE_OK)
            r = fail(file, err);
    }
    return r < 0 ? r : insert_row(file, err);
}

/* Does not wait for the disk: the file is new, so a crash loses nothing of value. */
static int write_database_facts(struct tracking_file *file, const struct tracking_facts *facts,
                                struct spoor_error *err)
{
    int r = run(file, "PRAGMA journal_mode=MEMORY; PRAGMA synchronous=OFF; BEGIN", err);

    if (r == 0)
        r = create_table(file, "static_data", tracking_fact_fields, TRACKING_FACTS, err);
    if (r == 0)
        r = insert_facts(file, facts, err);
    if (r == 0)
        r = create_table(file, "data", tracking_row_fields, TRACKING_COLUMNS, err);
    return r < 0 ? r : run(file, "COMMIT", err);
}

/* If a write-ahead log is impossible (it needs shared memory), SQLite uses a rollback
 * journal, which waits for the disk at each row. */
static int prepare_rows(struct tracking_file *file, struct spoor_error *err)
{
    int r;

    (void)sqlite3_busy_timeout(file->db, BUSY_MS);
    (void)sqlite3_exec(file->db, "PRAGMA journal_mode=WAL", NULL, NULL, NULL);
    r = run(file, "PRAGMA synchronous=NORMAL", err);
    return r < 0 ? r : prepare_insert(file, "data", TRACKING_COLUMNS, err);
}

/* ---- both kinds --------------------------------------------------------- */

static int open_contents(struct tracking_file *file, const char *path, struct spoor_error *err)
{
    if (table_kind(file->path) == TABLE_SQLITE)
        return sqlite3_open_v2(path, &file->db, SQLITE_OPEN_READWRITE, NULL) == SQLITE_OK
                   ? 0
                   : fail(file, err);
    file->fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
    return file->fd < 0 ? error_sys(err, errno, "open") : 0;
}

static int close_contents(struct tracking_file *file, struct spoor_error *err)
{
    int r = 0;

    if (file->db) {
        sqlite3_finalize(take_ptr(file->insert));
        /* Merges the log into the file. If a reader keeps the file open, the log stays. */
        r = sqlite3_exec(file->db, "PRAGMA journal_mode=DELETE", NULL, NULL, NULL);
        r = r == SQLITE_OK || r == SQLITE_BUSY || r == SQLITE_LOCKED ? 0 : fail(file, err);
        sqlite3_close(take_ptr(file->db));
    }
    if (file->fd >= 0 && close(take_fd(&file->fd)) < 0)
        r = error_sys(err, errno, "close");
    return r;
}

/* Writes the facts to a new, empty file. */
static int write_facts(struct tracking_file *file, const char *path,
                       const struct tracking_facts *facts, struct spoor_error *err)
{
    int closed, r = open_contents(file, path, err);

    if (r == 0)
        r = file->db ? write_database_facts(file, facts, err)
                     : write_csv_facts(file, facts, err);
    closed = close_contents(file, r == 0 ? err : NULL);
    return r < 0 ? r : closed;
}

/* ---- writing ------------------------------------------------------------ */

/* Removes the logs of an older database: SQLite would apply them to the new one. */
static int remove_beside(const char *path, struct spoor_error *err)
{
    static const char *const suffixes[] = { "-wal", "-shm", "-journal" };

    for (size_t i = 0; i < ARRAY_SIZE(suffixes); i++) {
        AUTO_FREE char *name = NULL;

        if (asprintf(&name, "%s%s", path, suffixes[i]) < 0) {
            name = NULL;
            return error_set(err, ENOMEM, "out of memory");
        }
        if (unlink(name) < 0 && errno != ENOENT)
            return error_sys(err, errno, "cannot replace the file %s", name);
    }
    return 0;
}

/* Creates an empty file: at the path or, if there is an old file, next to it. */
static int create(struct tracking_file *file, struct spoor_error *err)
{
    const char *path = file->path;
    struct stat old;
    int fd, r;

    if (stat(path, &old) == 0 && S_ISREG(old.st_mode)) {
        if (!file->overwrite)
            return error_set(err, EEXIST,
                             "File %s already exists. Set overwrite to True to overwrite the "
                             "existing file.",
                             path);
        r = output_file_check(path, OUTPUT_REPLACE, NULL);
        if (r == 0 || r == -ELOOP) /* replace a link, not its target */
            r = replacement_open(&file->replacement, path, false);
        return r < 0 ? error_sys(err, r, "cannot replace the file %s", path) : 0;
    }
    fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0)
        return error_sys(err, errno, "cannot create the file %s", path);
    close(fd);
    return remove_beside(path, err);
}

/* Removes a new file that is not needed or cannot be used. */
static void discard(struct tracking_file *file)
{
    if (file->replacement.fd >= 0)
        replacement_cancel(&file->replacement);
    else
        (void)unlink(file->path);
}

static int open_rows(struct tracking_file *file, struct spoor_error *err)
{
    int r;

    if (stat(file->path, &file->created) < 0)
        return error_sys(err, errno, "cannot open the file %s", file->path);
    r = open_contents(file, file->path, err);
    if (r == 0 && file->db)
        r = prepare_rows(file, err);
    if (r < 0)
        (void)close_contents(file, NULL);
    return r < 0 ? error_prefix(err, r, "cannot write to the file %s", file->path) : 0;
}

static int open_file(struct tracking_file *file, const struct tracking_facts *facts,
                     struct spoor_error *err)
{
    const char *path = file->path;
    int r = create(file, err);

    if (r < 0)
        return r;
    r = write_facts(file, file->replacement.fd >= 0 ? file->replacement.temporary : path, facts,
                    err);
    if (r < 0)
        (void)error_prefix(err, r, "cannot write to the file %s", path);
    /* The job may read the file: if there is no old one, complete the new one before the job
     * starts. */
    if (r == 0 && file->replacement.fd < 0)
        r = open_rows(file, err);
    if (r < 0)
        discard(file);
    file->exists = r == 0;
    return r;
}

static int replace_old(struct tracking_file *file, struct spoor_error *err)
{
    int r = remove_beside(file->path, err);

    if (r < 0)
        return r;
    r = replacement_commit(&file->replacement, false);
    return r < 0 ? error_sys(err, r, "cannot replace the file %s", file->path)
                 : open_rows(file, err);
}

static bool is_removed(const struct tracking_file *file)
{
    struct stat now;

    return stat(file->path, &now) < 0 || now.st_ino != file->created.st_ino ||
           now.st_dev != file->created.st_dev;
}

static int add_row(struct tracking_file *file, const double row[TRACKING_COLUMNS],
                   struct spoor_error *err)
{
    double values[TRACKING_COLUMNS];
    int r;

    if (file->fd < 0 && !file->db)
        return 0;
    if (is_removed(file))
        return error_set(err, ENOENT,
                         "The file %s was removed in the middle of writing data to it.",
                         file->path);
    for (size_t i = 0; i < TRACKING_COLUMNS; i++)
        values[i] = known(row[i]);
    r = file->db ? add_database_row(file, values, err) : add_csv_row(file, values, err);
    return r < 0 ? error_prefix(err, r, "cannot write a row to the file %s", file->path) : 0;
}

/* ---- reading ------------------------------------------------------------ */

static const struct table_place facts_place = { "static_data", 0 };
static const struct table_place rows_place = { "data", 2 };

static int open_fields(const char *path, const struct table_place *place,
                       const struct tracking_field *fields, size_t count, const char **names,
                       struct table **ret, struct spoor_error *err)
{
    for (size_t i = 0; i < count; i++)
        names[i] = fields[i].name;
    return table_open(path, place, names, count, ret, err);
}

static int read_facts(const char *path, struct tracking_facts *ret, struct spoor_error *err)
{
    const char *names[TRACKING_FACTS];
    struct table *table = NULL;
    int r = open_fields(path, &facts_place, tracking_fact_fields, TRACKING_FACTS, names, &table,
                        err);

    if (r < 0)
        return r;
    r = table_next(table, err);
    if (r == 0)
        r = table_refuse(table, err, "the facts about the run are missing");
    for (size_t i = 0; i < TRACKING_FACTS && r >= 0; i++) {
        if (tracking_fact_fields[i].type == TRACKING_TEXT)
            (void)snprintf(ret->texts[i], sizeof(ret->texts[i]), "%s",
                           table_text(table, i)); /* may be truncated */
        else
            r = table_number(table, i, &ret->numbers[i], err);
    }
    table_close(table);
    return r < 0 ? r : 0;
}

static int read_row(struct table *table, tracking_row_seen *seen, void *data,
                    struct spoor_error *err)
{
    double row[TRACKING_COLUMNS];
    int r = 0;

    for (size_t i = 0; i < TRACKING_COLUMNS && r == 0; i++)
        r = table_number(table, i, &row[i], err);
    if (r < 0)
        return r;
    r = seen(row, data);
    return r < 0 ? error_sys(err, r, "rows") : 0;
}

int tracking_read(const char *path, struct tracking_facts *ret, tracking_row_seen *seen,
                  void *data, struct spoor_error *err)
{
    const char *names[TRACKING_COLUMNS];
    struct table *table = NULL;
    int r = read_facts(path, ret, err);

    if (r == 0)
        r = open_fields(path, &rows_place, tracking_row_fields, TRACKING_COLUMNS, names, &table,
                        err);
    while (r >= 0 && (r = table_next(table, err)) > 0)
        r = read_row(table, seen, data, err);
    table_close(table);
    return r;
}

/* ---- the process that writes -------------------------------------------- */

/* The longest time that the start of the job waits for the file. */
#define OPEN_MOST_NS (2 * NS_PER_SECOND)

/* The longest time to wait until rows are written. */
#define ROWS_MOST_NS (100 * NS_PER_MS)

enum { RECORD_OPEN, RECORD_BEGIN, RECORD_ROW };

/* ---- in the child ------------------------------------------------------ */

static int carry_out(void *data, unsigned kind, const void *bytes, UNUSED size_t size,
                     struct spoor_error *err)
{
    struct tracking_file *file = data;
    struct tracking_facts facts;
    double row[TRACKING_COLUMNS];

    if (kind == RECORD_OPEN) {
        memcpy(&facts, bytes, sizeof(facts));
        return open_file(file, &facts, err);
    }
    if (!file->exists)
        return -EBADF;
    if (kind == RECORD_BEGIN) {
        file->has_begun = true;
        return file->replacement.fd >= 0 ? replace_old(file, err) : 0;
    }
    memcpy(row, bytes, sizeof(row));
    return add_row(file, row, err);
}

static int end(void *data, struct spoor_error *err)
{
    struct tracking_file *file = data;
    int r = close_contents(file, err);

    if (file->exists && (!file->has_begun || file->replacement.fd >= 0))
        discard(file);
    return r < 0 ? error_prefix(err, r, "cannot write the end of the file %s", file->path) : 0;
}

/* ---- in the tracker ---------------------------------------------------- */

static int first_failure(struct tracking_writer *writer, struct spoor_error *err)
{
    int r = writer->has_failed ? 0 : writer_process_error(&writer->process, err);

    writer->has_failed |= r < 0;
    return r;
}

int tracking_writer_start(struct tracking_writer *writer, const char *path, bool overwrite,
                          struct spoor_error *err)
{
    struct tracking_file file = {
        .path = path, .overwrite = overwrite, .replacement.fd = -1, .fd = -1
    };
    int r;

    *writer = (struct tracking_writer){ .path = path };
    r = writer_process_start(
        &writer->process,
        &(struct writer_target){ .carry_out = carry_out, .end = end, .data = &file });
    return r < 0 ? error_sys(err, r, "cannot start a process to write the file %s", path) : 0;
}

int tracking_writer_open(struct tracking_writer *writer, const struct tracking_facts *facts,
                         struct spoor_error *err)
{
    int r;

    writer_process_put(&writer->process, RECORD_OPEN, 0, facts, sizeof(*facts));
    (void)writer_process_wait(&writer->process, OPEN_MOST_NS);
    r = first_failure(writer, err);
    if (r < 0)
        (void)tracking_writer_close(writer, NULL);
    return r;
}

int tracking_writer_begin(struct tracking_writer *writer, struct spoor_error *err)
{
    writer_process_put(&writer->process, RECORD_BEGIN, 0, NULL, 0);
    (void)writer_process_wait(&writer->process, OPEN_MOST_NS);
    return first_failure(writer, err);
}

int tracking_writer_add(struct tracking_writer *writer, const double row[TRACKING_COLUMNS],
                        struct spoor_error *err)
{
    writer_process_put(&writer->process, RECORD_ROW, 1, row, TRACKING_COLUMNS * sizeof(*row));
    return first_failure(writer, err);
}

void tracking_writer_wait(const struct tracking_writer *writer)
{
    (void)writer_process_wait(&writer->process, ROWS_MOST_NS);
}

int tracking_writer_close(struct tracking_writer *writer, struct spoor_error *err)
{
    struct spoor_error failure = { 0 };
    struct writer_end end = writer_process_close(&writer->process, &failure);
    struct tracking_writer closed = *writer;

    *writer = (struct tracking_writer){ 0 };
    if (end.error == 0 || closed.has_failed)
        return 0;
    if (failure.code != 0)
        return error_set(err, failure.code, "%s", failure.message);
    return error_set(err, end.error, "could not write %llu row%s to the file %s: %s",
                     (unsigned long long)end.lost_rows, end.lost_rows == 1 ? "" : "s",
                     closed.path, writer_end_reason(&end));
}
