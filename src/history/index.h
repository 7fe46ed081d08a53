/* SPDX-License-Identifier: Apache-2.0 */
/*
 * index.h - an SQLite index of the files of a history, for filters, lists and statistics.
 *
 * The index is in the user's cache directory. If it is missing, damaged or of another version,
 * it is created again. If the directory is not writable, or is on a network file system, where
 * SQLite's locks may fail, the index is kept in memory. Only new lines are read. Lines that are
 * not runs are skipped and counted. A last line without a newline is read later, when it is
 * complete.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "record/record.h"
#include "record/run_figure.h"
#include "text/buffer.h"

/* ---- filters (filter.c) ----
 *
 * A filter selects runs of a history by conditions:
 *
 *     name=train,tag.v=1,since=30d,exit!=0,command~resnet,last=5
 *
 * All conditions must hold. The operators are = (equal), != (not equal) and ~ (contains).
 * The keys are name, command, host, user, job (of a scheduler), id (its first digits), exit,
 * tag.KEY, since and until (a time ago, or a date). "last" selects the newest of these runs,
 * "previous" the one before it, last=N the N newest. A comma after a backslash is part of a
 * value. */

enum { FILTER_VALUES_MAX = 64 };

/* A zeroed filter selects every run. */
struct history_filter {
    struct buffer where; /* conditions in SQL, with placeholders for the values */
    char *values[FILTER_VALUES_MAX];
    size_t value_count;
    size_t skip, limit; /* counted from the newest run; limit 0: no limit */
    /* Sort by name, then runs without a name by command; otherwise, sort by time only. */
    bool sorts_by_label;
};

/* Adds conditions. `now` is in seconds since 1970. -EINVAL with a message; -ENOMEM. */
int history_filter_add(struct history_filter *filter, const char *text, double now,
                       struct spoor_error *err);

/* Adds one condition, such as "name", "=", "train". */
int history_filter_add_one(struct history_filter *filter, const char *key, const char *operator,
                           const char * value, double now, struct spoor_error *err);

void history_filter_done(struct history_filter *filter);

/* ---- the index ---- */

struct sqlite3;
struct sqlite3_stmt;

/* A zeroed struct is closed. */
struct history_index {
    struct sqlite3 *db;
    char path[PATH_MAX]; /* path of the database; empty: in memory */
    uint64_t damaged;    /* number of lines that are not runs */
};

/* A run in the index. The texts are valid until the next run. */
struct history_run {
    const char *id, *name, *command, *host, *user; /* NULL: unknown */
    double started_at, exit_code;                  /* NaN: unknown */
    double figures[RUN_FIGURES];                   /* indexed as run_figures; NaN: unknown */
    const char *path;                              /* path of its file */
    int64_t offset, length;
};

/* Opens the index of a history and adds the lines that are new since it was last opened. */
int history_index_open(const char *folder, struct history_index *ret, struct spoor_error *err);
void history_index_close(struct history_index *index);

typedef int history_see_run(const struct history_run *run, void *data, struct spoor_error *err);

/* Calls each(run, data, err) for the runs that a filter selects, oldest first, until it
 * fails. */
int history_select(struct history_index *index, const struct history_filter *filter,
                   history_see_run *each, void *data, struct spoor_error *err);

/* Adds the whole row of a run to a buffer, without its newline. */
int history_read(const struct history_run *run, struct buffer *out, struct spoor_error *err);

/* Reads the whole row of a run. The caller calls record_done(). */
int history_load(const struct history_run *run, struct record *ret, struct spoor_error *err);

/* Records the ID of a run that is about to be added. Returns 1 if it is new, 0 if the
 * history already has it, or -errno. */
int history_note_id(struct history_index *index, const char *id, struct spoor_error *err);

/* A prepared statement; NULL on failure. */
struct sqlite3_stmt *history_prepare(struct history_index *index, const char *sql);
void history_finalize(struct sqlite3_stmt **statement);

/* Sets an error from the last failure of SQLite; removes the index if it is damaged. */
int history_index_fail(struct history_index *index, struct spoor_error *err);

struct records;

/* Reads the runs that a filter selects. -ENOENT: there are none. */
int history_find(const char *text, struct records *ret, struct spoor_error *err);

/* ---- removing runs (prune.c) ----
 *
 * Files are replaced or removed as a whole, so that a crash loses no other runs. */

/* A run that exceeds any of these limits is removed. A zeroed struct keeps all runs. */
struct history_limits {
    double started_after; /* seconds since 1970; 0: no limit */
    size_t runs;          /* runs per name (or per command, without a name); 0: no limit */
    double bytes;         /* size of all runs; 0: no limit */
};

struct history_removed {
    uint64_t runs, of;
};

/* Removes runs. Afterwards the index no longer matches the files. */
int history_prune(struct history_index *index, const struct history_limits *limits,
                  struct history_removed *ret, struct spoor_error *err);

/* ---- copying runs into a PostgreSQL database, where a team reads them with SQL (push.c) ----
 *
 *     spoor.runs      a row for each run: columns for common queries, and the whole line of the history as JSON
 *     spoor.peaks, spoor.requests, spoor.failures     views
 *
 * A run that is already in the database is not changed. libpq is loaded when it is first
 * needed. No message contains the URL, which may contain a password. */

struct history_pushed {
    uint64_t runs, added; /* runs read, and how many of them were new */
};

/* Returns whether this is a URL of PostgreSQL. */
bool history_is_database(const char *text);

/* Copies the runs that a filter selects, in one transaction. `creates_tables`: create
 * missing tables. */
int history_push(struct history_index *index, const struct history_filter *filter,
                 const char *url, bool creates_tables, struct history_pushed *ret,
                 struct spoor_error *err);
