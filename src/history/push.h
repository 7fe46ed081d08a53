/* SPDX-License-Identifier: Apache-2.0 */
/*
 * push.h - copies runs of a history into a PostgreSQL database, where a team reads them with SQL:
 *
 *     spoor.runs      a row for each run: columns for common queries, and the whole line of the history as JSON
 *     spoor.peaks, spoor.requests, spoor.failures     views
 *
 * A run that is already in the database is not changed. libpq is loaded when it is used. No
 * message contains the URL: it may hold a password.
 */
#ifndef HISTORY_PUSH_H
#define HISTORY_PUSH_H

#include "history/index.h"

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
