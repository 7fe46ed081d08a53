/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tracking_sqlite.c - the tracking file as an SQLite database.
 *
 * While it is written it has a write-ahead log (two more files beside it): a row is one short
 * write, nobody who reads along stops us, and what was written is there if we are killed.
 * Closing makes it one plain file again.
 */
#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/compiler.h"
#include "base/error.h"
#include "compat/tracking/tracking_format.h"

enum { BUSY_MS = 1000, SQL_MAX = 4096 };

struct database {
    sqlite3 *db;
    sqlite3_stmt *insert; /* a row; NULL before the table is there */
};

static const char *const type_names[] = {
    [TRACKING_TEXT] = "VARCHAR",
    [TRACKING_REAL] = "FLOAT",
    [TRACKING_INTEGER] = "INTEGER",
};

static int fail(const struct database *database, struct spoor_error *err)
{
    int code = sqlite3_extended_errcode(database->db);

    return error_set(err, code == SQLITE_FULL ? ENOSPC : EIO, "%s",
                     sqlite3_errmsg(database->db));
}

static int run(const struct database *database, const char *sql, struct spoor_error *err)
{
    if (sqlite3_exec(database->db, sql, NULL, NULL, NULL) != SQLITE_OK)
        return fail(database, err);
    return 0;
}

/* "CREATE TABLE t (a FLOAT, ...)". */
static int create_table(const struct database *database, const char *table,
                        const struct tracking_field *fields, size_t count,
                        struct spoor_error *err)
{
    char sql[SQL_MAX];
    int used = snprintf(sql, sizeof(sql), "CREATE TABLE %s", table);

    for (size_t i = 0; i < count; i++)
        used += snprintf(sql + used, sizeof(sql) - (size_t)used, "%s%s %s", i ? ", " : " (",
                         fields[i].name, type_names[fields[i].type]); /* fits: our names */
    (void)snprintf(sql + used, sizeof(sql) - (size_t)used, ")");
    return run(database, sql, err);
}

/* "INSERT INTO t VALUES (?, ...)". */
static int prepare_insert(const struct database *database, const char *table, size_t count,
                          sqlite3_stmt **ret, struct spoor_error *err)
{
    char sql[SQL_MAX];
    int used = snprintf(sql, sizeof(sql), "INSERT INTO %s VALUES", table);

    for (size_t i = 0; i < count; i++)
        used += snprintf(sql + used, sizeof(sql) - (size_t)used, "%s?", i ? "," : " (");
    (void)snprintf(sql + used, sizeof(sql) - (size_t)used, ")");
    if (sqlite3_prepare_v2(database->db, sql, -1, ret, NULL) != SQLITE_OK)
        return fail(database, err);
    return 0;
}

static int bind_number(sqlite3_stmt *statement, size_t i, enum tracking_type type, double value)
{
    return type == TRACKING_INTEGER
               ? sqlite3_bind_int64(statement, (int)i + 1, (sqlite3_int64)value)
               : sqlite3_bind_double(statement, (int)i + 1, value);
}

/* Runs a statement whose values are bound, and makes it ready for the next. */
static int step(const struct database *database, sqlite3_stmt *statement,
                struct spoor_error *err)
{
    int r = sqlite3_step(statement) == SQLITE_DONE ? 0 : fail(database, err);

    (void)sqlite3_reset(statement); /* repeats the failure of the step */
    return r;
}

static int write_facts(const struct database *database, const struct tracking_facts *facts,
                       struct spoor_error *err)
{
    struct tracking_value values[TRACKING_FACTS];
    sqlite3_stmt *insert = NULL;
    int r = create_table(database, "static_data", tracking_fact_fields, TRACKING_FACTS, err);

    if (r == 0)
        r = prepare_insert(database, "static_data", TRACKING_FACTS, &insert, err);
    if (r < 0)
        return r;
    tracking_fact_values(facts, values);
    for (size_t i = 0; i < TRACKING_FACTS; i++) {
        int code =
            values[i].text
                ? sqlite3_bind_text(insert, (int)i + 1, values[i].text, -1, SQLITE_STATIC)
                : bind_number(insert, i, tracking_fact_fields[i].type, values[i].number);

        if (code != SQLITE_OK)
            r = fail(database, err);
    }
    if (r == 0)
        r = step(database, insert, err);
    sqlite3_finalize(insert);
    return r;
}

static void discard(struct database *database)
{
    sqlite3_finalize(database->insert);
    sqlite3_close(database->db);
    free(database);
}

static int open_database(const char *path, struct database **ret, struct spoor_error *err)
{
    struct database *database = calloc(1, sizeof(*database));
    int r;

    if (!database)
        return error_set(err, ENOMEM, "out of memory");
    if (sqlite3_open_v2(path, &database->db, SQLITE_OPEN_READWRITE, NULL) == SQLITE_OK) {
        *ret = database;
        return 0;
    }
    r = fail(database, err);
    discard(database);
    return r;
}

/* The file is new: what is in it can be written again, so that nothing waits for the disk. */
static int database_create(const char *path, const struct tracking_facts *facts,
                           struct spoor_error *err)
{
    struct database *database = NULL;
    int r = open_database(path, &database, err);

    if (!database)
        return r;
    r = run(database, "PRAGMA journal_mode=MEMORY; PRAGMA synchronous=OFF; BEGIN", err);
    if (r == 0)
        r = write_facts(database, facts, err);
    if (r == 0)
        r = create_table(database, "data", tracking_row_fields, TRACKING_COLUMNS, err);
    if (r == 0)
        r = run(database, "COMMIT", err);
    discard(database);
    return r;
}

/* If there can be no log (it needs shared memory), the old kind of journal is used: it waits for
 * the disk at each row. */
static int database_open(const char *path, void **ret, struct spoor_error *err)
{
    struct database *database = NULL;
    int r = open_database(path, &database, err);

    if (!database)
        return r;
    (void)sqlite3_busy_timeout(database->db, BUSY_MS);
    (void)sqlite3_exec(database->db, "PRAGMA journal_mode=WAL", NULL, NULL, NULL);
    r = run(database, "PRAGMA synchronous=NORMAL", err);
    if (r == 0)
        r = prepare_insert(database, "data", TRACKING_COLUMNS, &database->insert, err);
    if (r < 0) {
        discard(database);
        return r;
    }
    *ret = database;
    return 0;
}

static int database_add(void *state, const double row[TRACKING_COLUMNS],
                        struct spoor_error *err)
{
    struct database *database = state;

    for (size_t i = 0; i < TRACKING_COLUMNS; i++) {
        if (bind_number(database->insert, i, tracking_row_fields[i].type, row[i]) != SQLITE_OK)
            return fail(database, err);
    }
    return step(database, database->insert, err);
}

static int database_close(void *state, struct spoor_error *err)
{
    struct database *database = state;
    int r;

    sqlite3_finalize(database->insert);
    database->insert = NULL;
    /* Takes the log into the file. Whoever reads along keeps it open: then it stays. */
    r = sqlite3_exec(database->db, "PRAGMA journal_mode=DELETE", NULL, NULL, NULL);
    r = r == SQLITE_OK || r == SQLITE_BUSY || r == SQLITE_LOCKED ? 0 : fail(database, err);
    discard(database);
    return r;
}

const struct tracking_format tracking_sqlite = { database_create, database_open, database_add,
                                                 database_close };
