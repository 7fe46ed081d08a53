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

#include "history/filter.h"
#include "record/record.h"
#include "record/run_figure.h"

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

/* Reads the runs of a filter (filter.h). -ENOENT: there is none. */
int history_find(const char *text, struct records *ret, struct spoor_error *err);

#endif
