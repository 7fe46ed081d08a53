/* SPDX-License-Identifier: Apache-2.0 */
#include "history/index.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "history/store.h"
#include "output/output_file.h"
#include "record/load.h"
#include "record/row.h"
#include "text/json_member.h"
#include "text/line_reader.h"

/* Change INDEX_VERSION if the tables or their contents change. */
enum { INDEX_VERSION = 2, BUSY_MS = 10000, FOUND_MAX = 20000 };

/* The columns f0, f1, ... are figures, in the order of run_figures. */
#define FIGURE_COLUMNS "f0 REAL, f1 REAL, f2 REAL, f3 REAL, f4 REAL, f5 REAL, f6 REAL"
#define FIGURE_NAMES "f0, f1, f2, f3, f4, f5, f6"
_Static_assert(RUN_FIGURES == 7, "a column for each");

static const char schema[] =
    "CREATE TABLE file (number INTEGER PRIMARY KEY, path TEXT UNIQUE, inode INTEGER, "
    "offset INTEGER, damaged INTEGER, is_seen INTEGER);"
    "CREATE TABLE run (number INTEGER PRIMARY KEY, id TEXT UNIQUE, started REAL, name TEXT, "
    "command TEXT, host TEXT, user TEXT, job TEXT, exit INTEGER, " FIGURE_COLUMNS
    ", file INTEGER, offset INTEGER, length INTEGER);"
    "CREATE INDEX run_started ON run (started);"
    "CREATE INDEX run_name ON run (name, started);"
    "CREATE INDEX run_file ON run (file);"
    "CREATE TABLE tag (run INTEGER, key TEXT, value TEXT, PRIMARY KEY (run, key)) WITHOUT "
    "ROWID;"
    "CREATE INDEX tag_value ON tag (key, value);"
    "CREATE TRIGGER run_gone AFTER DELETE ON run BEGIN DELETE FROM tag WHERE run = old.number; "
    "END;";

/* ---- SQLite --------------------------------------------------------------- */

void history_finalize(sqlite3_stmt **statement)
{
    (void)sqlite3_finalize(*statement); /* returns the error of the last step again */
}

#define AUTO_FINALIZE CLEANUP(history_finalize)

static int execute(struct history_index *index, const char *sql)
{
    return sqlite3_exec(index->db, sql, NULL, NULL, NULL) == SQLITE_OK ? 0 : -EIO;
}

sqlite3_stmt *history_prepare(struct history_index *index, const char *sql)
{
    sqlite3_stmt *statement = NULL;

    (void)sqlite3_prepare_v2(index->db, sql, -1, &statement, NULL); /* NULL on failure */
    return statement;
}

/* Runs a statement without result rows, and resets it. */
static int run(sqlite3_stmt *statement)
{
    int code = sqlite3_step(statement);

    (void)sqlite3_reset(statement);
    return code == SQLITE_DONE || code == SQLITE_ROW ? 0 : -EIO;
}

/* The text is borrowed until the statement has run, so binding cannot fail. */
static void bind_text(sqlite3_stmt *statement, int place, const char *text)
{
    (void)sqlite3_bind_text(statement, place, text, -1, SQLITE_STATIC);
}

/* SQLite stores NaN as NULL. */
static void bind_number(sqlite3_stmt *statement, int place, double value)
{
    (void)sqlite3_bind_double(statement, place, value);
}

int history_index_fail(struct history_index *index, struct spoor_error *err)
{
    int code = index->db ? sqlite3_errcode(index->db) : SQLITE_NOMEM;

    if (code == SQLITE_NOMEM)
        return error_set(err, ENOMEM, "out of memory");
    if ((code == SQLITE_CORRUPT || code == SQLITE_NOTADB) && index->path[0]) {
        (void)unlink(index->path); /* created again next time */
        return error_set(err, EIO,
                         "the index of the history was damaged and is removed; try "
                         "again");
    }
    return error_set(err, code == SQLITE_BUSY ? EBUSY : EIO, "the index of the history: %s",
                     code == SQLITE_OK ? "out of memory" : sqlite3_errmsg(index->db));
}

/* ---- reading lines -------------------------------------------------------- */

struct indexer {
    struct history_index *index;
    sqlite3_stmt *add_run, *add_tag;
    sqlite3_int64 file; /* number of the current file */
    int64_t offset;
    int64_t damaged;
};

static double date_of(const json_t *row, const char *name)
{
    const char *text = member_text(row, name);
    double seconds;

    return text && clock_parse(text, &seconds) == 0 ? seconds : (double)NAN;
}

static double figure_of(const json_t *row, const struct run_figure *figure)
{
    char name[ROW_NAME_SIZE];

    row_name(figure->path ? figure->path : "run.elapsed_seconds", name);
    return member_number(row, name);
}

static int add_tags(struct indexer *indexer, json_t *row)
{
    static const char prefix[] = "tag.";
    sqlite3_int64 number = sqlite3_last_insert_rowid(indexer->index->db);
    const char *name;
    json_t *value;
    int r = 0;

    json_object_foreach(row, name, value)
    {
        if (r < 0 || strncmp(name, prefix, strlen(prefix)) != 0 || !json_is_string(value))
            continue;
        (void)sqlite3_bind_int64(indexer->add_tag, 1, number);
        bind_text(indexer->add_tag, 2, name + strlen(prefix));
        bind_text(indexer->add_tag, 3, json_string_value(value));
        r = run(indexer->add_tag);
    }
    return r;
}

/* Adds a line to the index. Returns 1 if the run was added or its ID is already in the index, 0
 * if the line is not a run, or -errno. */
static int add_line(struct indexer *indexer, const char *text, size_t length)
{
    static const char *const texts[] = { "name", "command", "host", "user", "job" };
    json_error_t error;
    json_auto_t *row = json_loadb(text, length, 0, &error);
    const char *id = member_text(row, "id");
    sqlite3_stmt *add = indexer->add_run;
    int place = 1;

    if (!row && error.line < 0) /* no memory, not a syntax error */
        return -ENOMEM;
    if (!id)
        return 0;
    bind_text(add, place++, id);
    bind_number(add, place++, date_of(row, "started_at"));
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
        bind_text(add, place++, json_string_value(json_object_get(row, texts[i])));
    bind_number(add, place++, member_number(row, "exit_code"));
    for (size_t i = 0; i < RUN_FIGURES; i++)
        bind_number(add, place++, figure_of(row, &run_figures[i]));
    (void)sqlite3_bind_int64(add, place++, indexer->file);
    (void)sqlite3_bind_int64(add, place++, indexer->offset);
    (void)sqlite3_bind_int64(add, place, (sqlite3_int64)length);
    if (run(add) < 0)
        return -EIO;
    if (sqlite3_changes(indexer->index->db) > 0 && add_tags(indexer, row) < 0)
        return -EIO;
    return 1;
}

static int read_lines(struct indexer *indexer, int fd)
{
    CLEANUP(line_reader_done) struct line_reader reader = { .fd = fd };
    struct line line = { 0 };
    int r;

    if (lseek(fd, indexer->offset, SEEK_SET) < 0)
        return -errno;
    while ((r = line_reader_next(&reader, &line)) > 0 || r == -E2BIG) {
        if (r == -E2BIG) { /* the rest of the line is not a run either */
            indexer->offset += (int64_t)(reader.end - reader.start);
            reader.start = reader.end;
            indexer->damaged++;
            continue;
        }
        if (line.is_torn)
            break; /* still being written, or left by a writer that was killed */
        r = line.length > 0 ? add_line(indexer, line.text, line.length) : 1;
        if (r < 0)
            return r;
        indexer->damaged += r == 0;
        indexer->offset += (int64_t)line.length + 1;
    }
    return r < 0 ? r : 0;
}

/* ---- files ---------------------------------------------------------------- */

/* Finds or adds a file. *ret_is_changed: the file has new lines. */
static int find_file(struct indexer *indexer, const char *path, const struct stat *status,
                     bool *ret_is_changed)
{
    AUTO_FINALIZE sqlite3_stmt *find = history_prepare(
        indexer->index,
        "INSERT INTO file (path, offset, damaged) VALUES (?1, 0, 0) ON CONFLICT DO UPDATE SET "
        "path = path RETURNING number, inode, offset, damaged");
    AUTO_FINALIZE sqlite3_stmt *forget =
        history_prepare(indexer->index, "DELETE FROM run WHERE file = ?1");
    bool is_other;

    if (!find || !forget)
        return -EIO;
    bind_text(find, 1, path);
    if (sqlite3_step(find) != SQLITE_ROW)
        return -EIO;
    indexer->file = sqlite3_column_int64(find, 0);
    is_other = sqlite3_column_int64(find, 1) != (sqlite3_int64)status->st_ino ||
               sqlite3_column_int64(find, 2) > (sqlite3_int64)status->st_size;
    indexer->offset = is_other ? 0 : sqlite3_column_int64(find, 2);
    indexer->damaged = is_other ? 0 : sqlite3_column_int64(find, 3);
    *ret_is_changed = is_other || indexer->offset < status->st_size;
    if (sqlite3_step(find) != SQLITE_DONE)
        return -EIO;
    (void)sqlite3_bind_int64(forget, 1, indexer->file);
    return is_other ? run(forget) : 0;
}

static int keep_file(struct indexer *indexer, const struct stat *status)
{
    AUTO_FINALIZE sqlite3_stmt *keep = history_prepare(
        indexer->index, "UPDATE file SET inode = ?2, offset = ?3, damaged = ?4, "
                        "is_seen = 1 WHERE number = ?1");

    if (!keep)
        return -EIO;
    (void)sqlite3_bind_int64(keep, 1, indexer->file);
    (void)sqlite3_bind_int64(keep, 2, (sqlite3_int64)status->st_ino);
    (void)sqlite3_bind_int64(keep, 3, indexer->offset);
    (void)sqlite3_bind_int64(keep, 4, indexer->damaged);
    indexer->index->damaged += (uint64_t)indexer->damaged;
    return run(keep);
}

static int index_file(const char *path, void *data, struct spoor_error *err)
{
    struct indexer *indexer = data;
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    struct stat status;
    bool is_changed = false;
    int r;

    if (fd < 0 && errno == ENOENT)
        return 0; /* the file was just removed */
    if (fd < 0 || fstat(fd, &status) < 0)
        return error_sys(err, errno, "cannot read '%s'", path);
    r = find_file(indexer, path, &status, &is_changed);
    if (r == 0 && is_changed)
        r = read_lines(indexer, fd);
    if (r == 0)
        r = keep_file(indexer, &status);
    if (r == -EIO)
        return history_index_fail(indexer->index, err);
    return r < 0 ? error_sys(err, r, "cannot read '%s'", path) : 0;
}

static int refresh(struct history_index *index, const char *folder, struct spoor_error *err)
{
    AUTO_FINALIZE sqlite3_stmt *add_run = history_prepare(
        index, "INSERT OR IGNORE INTO run (id, started, name, command, host, user, "
               "job, exit, " FIGURE_NAMES ", file, offset, length) VALUES "
               "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
    AUTO_FINALIZE sqlite3_stmt *add_tag =
        history_prepare(index, "INSERT OR REPLACE INTO tag (run, key, value) VALUES (?, ?, ?)");
    struct indexer indexer = { .index = index, .add_run = add_run, .add_tag = add_tag };
    int r;

    if (!add_run || !add_tag ||
        execute(index, "BEGIN IMMEDIATE; UPDATE file SET is_seen = 0") < 0)
        return history_index_fail(index, err);
    r = history_for_each(folder, index_file, &indexer, err);
    if (r < 0)
        return r; /* closing the database rolls back */
    if (execute(index,
                "DELETE FROM run WHERE file IN (SELECT number FROM file WHERE NOT is_seen);"
                "DELETE FROM file WHERE NOT is_seen; COMMIT") < 0)
        return history_index_fail(index, err);
    return 0;
}

/* ---- opening -------------------------------------------------------------- */

/* Returns whether the file system is one on which SQLite's locks are slow or do not work. */
static bool is_network(const char *path)
{
    static const unsigned types[] = {
        0x6969 /* NFS */,        0x517B /* SMB */,        0xFF534D42 /* CIFS */,
        0xFE534D42 /* SMB2 */,   0x0BD00BD0 /* Lustre */, 0x47504653 /* GPFS */,
        0x65735546 /* FUSE */,   0x00C36400 /* Ceph */,   0x5346414F /* AFS */,
        0x19830326 /* BeeGFS */, 0x01021997 /* 9P */,     0x73757245 /* Coda */,
        0xAAD7AAEA /* PanFS */,  0x7461636F /* OCFS2 */,  0x01161970 /* GFS2 */,
    };
    struct statfs status;

    if (statfs(path, &status) < 0)
        return true;
    for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
        if ((unsigned)status.f_type == types[i])
            return true;
    }
    return false;
}

/* Sets the path of the database, which contains a hash of the folder's path. Empty: use a
 * database in memory. */
static void name_database(const char *folder, char ret[PATH_MAX])
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    bool has_cache = cache && *cache == '/';
    AUTO_FREE char *real = realpath(folder, NULL);
    uint64_t hash = 0xcbf29ce484222325u; /* FNV-1a */
    struct stat status;
    size_t length;

    for (const char *c = real ? real : folder; *c; c++)
        hash = (hash ^ (unsigned char)*c) * 0x100000001b3u;
    ret[0] = '\0';
    if (!has_cache && (!home || *home != '/'))
        return;
    if (snprintf(ret, PATH_MAX - 64, "%s%s/spoor", has_cache ? cache : home,
                 has_cache ? "" : "/.cache") >= PATH_MAX - 64 ||
        output_make_directories(ret) < 0 || stat(ret, &status) < 0 ||
        status.st_uid != geteuid() || access(ret, W_OK | X_OK) < 0 || is_network(ret)) {
        ret[0] = '\0';
        return;
    }
    length = strlen(ret);
    (void)snprintf(ret + length, PATH_MAX - length, "/history-%016" PRIx64 ".sqlite", hash);
}

static int version_of(struct history_index *index)
{
    AUTO_FINALIZE sqlite3_stmt *get = history_prepare(index, "PRAGMA user_version");

    return get && sqlite3_step(get) == SQLITE_ROW ? sqlite3_column_int(get, 0) : -EIO;
}

static int make_tables(struct history_index *index)
{
    char version[64];
    int r = version_of(index);

    if (r < 0 || r == INDEX_VERSION)
        return r < 0 ? r : 0;
    if (r != 0)
        return -ESTALE;
    (void)snprintf(version, sizeof(version), "PRAGMA user_version = %d; COMMIT", INDEX_VERSION);
    if (execute(index, "BEGIN IMMEDIATE") < 0)
        return -EIO;
    if (version_of(index) == INDEX_VERSION) /* another process has created it meanwhile */
        return execute(index, "COMMIT");
    r = execute(index, schema);
    return r < 0 ? r : execute(index, version);
}

/* Creates the file with mode 0600; SQLite would use the umask. Closes it before SQLite opens
 * it, because closing any descriptor drops the locks of the process. */
static void make_private(const char *path)
{
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

    if (fd >= 0)
        close(fd);
}

static int open_database(struct history_index *index, const char *folder,
                         struct spoor_error *err)
{
    int code;

    if (index->path[0])
        make_private(index->path);
    code = sqlite3_open_v2(index->path[0] ? index->path : ":memory:", &index->db,
                           SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL);
    if (code != SQLITE_OK)
        return history_index_fail(index, err);
    (void)sqlite3_busy_timeout(index->db, BUSY_MS);
    /* If the machine crashes, the index may be damaged; it is then created again. */
    if (execute(index, "PRAGMA synchronous = OFF; PRAGMA cache_size = -65536") < 0 ||
        make_tables(index) < 0)
        return history_index_fail(index, err);
    return refresh(index, folder, err);
}

void history_index_close(struct history_index *index)
{
    (void)sqlite3_close(index->db); /* all statements are finalized */
    *index = (struct history_index){ 0 };
}

/* Opens the index; if that fails, creates it again; if that fails too, creates it in memory.
 * If another process holds the lock for too long, creates it in memory at once. */
int history_index_open(const char *folder, struct history_index *ret, struct spoor_error *err)
{
    enum { AS_IT_IS, ANEW, IN_MEMORY, WAYS };
    int r = -EIO;

    for (int way = AS_IT_IS; (r == -EIO || r == -EBUSY) && way < WAYS; way++) {
        if (r == -EBUSY)
            way = IN_MEMORY;
        history_index_close(ret);
        name_database(folder, ret->path);
        if (way == IN_MEMORY)
            ret->path[0] = '\0';
        else if (way == ANEW && ret->path[0])
            (void)unlink(ret->path);
        r = open_database(ret, folder, err);
    }
    if (r < 0)
        history_index_close(ret);
    return r;
}

/* ---- queries -------------------------------------------------------------- */

static sqlite3_stmt *prepare_select(struct history_index *index,
                                    const struct history_filter *filter)
{
    CLEANUP(buffer_done) struct buffer sql = { 0 };
    const char *where = filter->where.length > 0 ? filter->where.text : "";
    long long limit = filter->limit > 0 ? (long long)filter->limit : -1;
    size_t skip = filter->skip;
    sqlite3_stmt *select;

    buffer_format(
        &sql,
        "SELECT * FROM (SELECT id, name, command, host, user, started, exit, " FIGURE_NAMES
        ", path, run.offset AS place, length, run.number AS number FROM run JOIN file ON "
        "file.number = run.file WHERE 1%s ORDER BY started DESC, run.number DESC LIMIT "
        "%lld OFFSET %zu) ORDER BY %sstarted, number",
        where, limit, skip,
        filter->sorts_by_label ? "name IS NULL, coalesce(name, command, ''), " : "");
    if (buffer_error(&sql) < 0)
        return NULL;
    select = history_prepare(index, sql.text);
    for (size_t i = 0; select && i < filter->value_count; i++)
        bind_text(select, (int)i + 1, filter->values[i]);
    return select;
}

static const char *text_at(sqlite3_stmt *select, int column)
{
    return (const char *)sqlite3_column_text(select, column);
}

static double number_at(sqlite3_stmt *select, int column)
{
    return sqlite3_column_type(select, column) == SQLITE_NULL
               ? (double)NAN
               : sqlite3_column_double(select, column);
}

static struct history_run run_at(sqlite3_stmt *select)
{
    enum { STARTED = 5, EXIT, FIGURES, PATH = FIGURES + RUN_FIGURES, OFFSET, LENGTH };
    struct history_run found = {
        .id = text_at(select, 0),
        .name = text_at(select, 1),
        .command = text_at(select, 2),
        .host = text_at(select, 3),
        .user = text_at(select, 4),
        .started_at = number_at(select, STARTED),
        .exit_code = number_at(select, EXIT),
        .path = text_at(select, PATH),
        .offset = sqlite3_column_int64(select, OFFSET),
        .length = sqlite3_column_int64(select, LENGTH),
    };

    for (int i = 0; i < RUN_FIGURES; i++)
        found.figures[i] = number_at(select, FIGURES + i);
    return found;
}

int history_select(struct history_index *index, const struct history_filter *filter,
                   history_see_run *each, void *data, struct spoor_error *err)
{
    AUTO_FINALIZE sqlite3_stmt *select = prepare_select(index, filter);
    int code, r = 0;

    if (!select)
        return history_index_fail(index, err);
    while (r == 0 && (code = sqlite3_step(select)) != SQLITE_DONE) {
        struct history_run found;

        if (code != SQLITE_ROW)
            return history_index_fail(index, err);
        found = run_at(select);
        r = each(&found, data, err);
    }
    return r;
}

int history_read(const struct history_run *run, struct buffer *out, struct spoor_error *err)
{
    AUTO_CLOSE int fd = open(run->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    AUTO_FREE char *text = malloc((size_t)run->length + 1);

    if (fd < 0)
        return error_sys(err, errno, "cannot read '%s'", run->path);
    if (!text)
        return error_set(err, ENOMEM, "out of memory");
    if (pread(fd, text, (size_t)run->length, run->offset) != (ssize_t)run->length)
        return error_set(err, EIO, "'%s' was changed meanwhile; try again", run->path);
    buffer_add(out, text, (size_t)run->length);
    return buffer_error(out) < 0 ? error_set(err, ENOMEM, "out of memory") : 0;
}

int history_load(const struct history_run *run, struct record *ret, struct spoor_error *err)
{
    CLEANUP(buffer_done) struct buffer text = { 0 };
    int r = history_read(run, &text, err);

    if (r < 0)
        return r;
    r = row_parse(text.text, text.length, ret, err);
    return r < 0 ? error_prefix(err, r, "'%s'", run->path) : 0;
}

int history_note_id(struct history_index *index, const char *id, struct spoor_error *err)
{
    AUTO_FINALIZE sqlite3_stmt *note = NULL;

    if (execute(index, "CREATE TEMP TABLE IF NOT EXISTS noted (id TEXT PRIMARY KEY)") < 0)
        return history_index_fail(index, err);
    note = history_prepare(
        index, "INSERT OR IGNORE INTO noted SELECT ?1 WHERE NOT EXISTS (SELECT 1 FROM "
               "run WHERE id = ?1)");
    if (!note)
        return history_index_fail(index, err);
    bind_text(note, 1, id);
    if (run(note) < 0)
        return history_index_fail(index, err);
    return sqlite3_changes(index->db) > 0;
}

/* ---- runs for other commands ----------------------------------------------- */

static int add_record(const struct history_run *run, void *data, struct spoor_error *err)
{
    struct records *records = data;
    struct record *next;
    int r;

    if (records->count == FOUND_MAX)
        return error_set(err, EFBIG,
                         "more than %d runs of the history match; add last=N or since=TIME",
                         FOUND_MAX);
    next = records_next(records, err);
    r = next ? history_load(run, next, err) : -ENOMEM;
    records->count += r == 0;
    return r;
}

int history_find(const char *text, struct records *ret, struct spoor_error *err)
{
    CLEANUP(history_index_close) struct history_index index = { 0 };
    CLEANUP(history_filter_done) struct history_filter filter = { 0 };
    CLEANUP(records_done) struct records records = { 0 };
    char folder[PATH_MAX];
    int r = history_folder(folder, err);

    if (r == 0)
        r = history_filter_add(&filter, text, (double)time(NULL), err);
    if (r == 0)
        r = history_index_open(folder, &index, err);
    if (r == 0)
        r = history_select(&index, &filter, add_record, &records, err);
    if (r < 0)
        return r;
    if (records.count == 0)
        return error_set(err, ENOENT, "no run of the history matches; the history is in '%s'",
                         folder);
    *ret = records;
    records = (struct records){ 0 };
    return 0;
}
