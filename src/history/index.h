/* SPDX-License-Identifier: Apache-2.0 */
/*
 * index.h - an index of the files of a history, in SQLite, for filters, lists and statistics.
 *
 * The index is in the cache directory of the user. It is created again if it is missing, damaged
 * or of another version. If that directory cannot be written or is on a network file system,
 * where SQLite's locks fail, the index is kept in memory. Only new lines are read. Lines that are
 * not runs are skipped and counted; a last line without a newline is read once it has one.
 */
#ifndef HISTORY_INDEX_H
#define HISTORY_INDEX_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "record/record.h"
#include "record/run_figure.h"
#include "text/buffer.h"

/* ---- filters (filter.c) ----
 *
 * Select runs of a history by conditions, as people write them:
 *
 *     name=train,tag.v=1,since=30d,exit!=0,command~resnet,last=5
 *
 * All conditions must hold. = is equal, != is not, ~ contains. The keys are name, command, host, user, job (of a scheduler),
 * id (its first digits), exit, tag.KEY, since and until (a time ago, or a date). "last" is the newest of these runs, "previous" the one before it,
 * last=N the N newest. A backslash before a comma makes it a part of a value. */

enum { FILTER_VALUES_MAX = 64 };

/* A zeroed filter selects every run. */
struct history_filter {
    struct buffer where; /* conditions in SQL, with placeholders for the values */
    char *values[FILTER_VALUES_MAX];
    size_t value_count;
    size_t skip, limit; /* counted from the newest run; limit 0: all */
    /* The runs of a name together, or else of a command, and these sorted; otherwise only by time. */
    bool sorts_by_label;
};

/* Adds conditions. `now`: seconds since 1970. -EINVAL with a message; -ENOMEM. */
int history_filter_add(struct history_filter *filter, const char *text, double now,
                       struct spoor_error *err);

/* Adds one condition: name, =, train. */
int history_filter_add_one(struct history_filter *filter, const char *key, const char *operator,
                           const char * value, double now, struct spoor_error *err);

void history_filter_done(struct history_filter *filter);

/* ---- the index ---- */

struct sqlite3;

/* A zeroed struct is closed. */
struct history_index {
    struct sqlite3 *db;
    char path[PATH_MAX]; /* path of the database; empty: in memory */
    uint64_t damaged;    /* lines that are not runs */
};

/* The data of a run in the index; the texts are valid until the next run. */
struct history_run {
    const char *id, *name, *command, *host, *user; /* NULL: unknown */
    double started_at, exit_code;                  /* NaN: unknown */
    double figures[RUN_FIGURES];                   /* indexed as run_figures; NaN: unknown */
    const char *path;                              /* of its file */
    int64_t offset, length;
};

/* Opens the index of a history and reads the lines that were appended since. */
int history_index_open(const char *folder, struct history_index *ret, struct spoor_error *err);
void history_index_close(struct history_index *index);

/* Calls each(run, data, err) for the runs of a filter, the oldest first, until it fails. */
int history_select(struct history_index *index, const struct history_filter *filter,
                   int (*each)(const struct history_run *run, void *data,
                               struct spoor_error *err),
                   void *data, struct spoor_error *err);

/* Adds the whole row of a run to a buffer, without its newline. */
int history_read(const struct history_run *run, struct buffer *out, struct spoor_error *err);

/* Reads the whole row of a run. The caller calls record_done(). */
int history_load(const struct history_run *run, struct record *ret, struct spoor_error *err);

/* Records an ID that is being added. Returns 1 if it is new, 0 if the history has it, or
 * -errno. */
int history_note_id(struct history_index *index, const char *id, struct spoor_error *err);

/* Reports a failure of SQLite; removes the index if it is damaged. */
int history_index_fail(struct history_index *index, struct spoor_error *err);

struct records;

/* Reads the runs of a filter (above). -ENOENT: there is none. */
int history_find(const char *text, struct records *ret, struct spoor_error *err);

/* ---- removing runs (prune.c) ----
 *
 * Files are replaced or removed as a whole, so that a crash loses none. */

/* A run that exceeds any of these limits is removed. A zeroed struct keeps all runs. */
struct history_limits {
    double started_after; /* seconds since 1970; 0: no limit */
    size_t runs;  /* runs of each name, or of each command without a name; 0: no limit */
    double bytes; /* size of all runs; 0: no limit */
};

struct history_removed {
    uint64_t runs, of;
};

/* Afterwards the index no longer matches the files. */
int history_prune(struct history_index *index, const struct history_limits *limits,
                  struct history_removed *ret, struct spoor_error *err);

/* ---- copying runs into a PostgreSQL database, where a team reads them with SQL (push.c) ----
 *
 *     spoor.runs      a row for each run: columns for common queries, and the whole line of the history as JSON
 *     spoor.peaks, spoor.requests, spoor.failures     views
 *
 * A run that is already in the database is not changed. libpq is loaded when it is used. No
 * message contains the URL: it may hold a password. */

struct history_pushed {
    uint64_t runs, added; /* runs that were read, and those that were new */
};

/* Returns whether this is a URL of PostgreSQL. */
bool history_is_database(const char *text);

/* Copies the runs of a filter in one transaction. `creates_tables`: if the database has none. */
int history_push(struct history_index *index, const struct history_filter *filter,
                 const char *url, bool creates_tables, struct history_pushed *ret,
                 struct spoor_error *err);

#endif
