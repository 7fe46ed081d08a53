/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store.h - the runs that were kept, as files of JSON lines (record/row.h):
 *
 *     FOLDER/runs/2026-11/HOST.jsonl
 *
 * Each file is appended to by the machine that it is named after, so that no lock has to work between the machines of a
 * shared file system. The index (index.h) is made from the files. Folders have mode 0700, files 0600:
 * command lines can hold secrets.
 */
#ifndef HISTORY_STORE_H
#define HISTORY_STORE_H

#include <limits.h>
#include <stdbool.h>

#include "spoor/spoor.h"
#include "text/buffer.h"

/* Selects the history for this program: a directory, "yes" for the default one, or "no" for
 * none; NULL: as $SPOOR_HISTORY selects. The text is borrowed. */
void history_choose(const char *value);

/* Returns whether a value is a directory, not a word. */
bool history_is_folder(const char *value);

/* Returns the directory: the chosen one, $SPOOR_HISTORY, $XDG_STATE_HOME/spoor or
 * ~/.local/state/spoor. -ENOENT: there is no home directory. */
int history_folder(char ret[PATH_MAX], struct spoor_error *err);

/* Appends one row in one write. A failure leaves the file as it was. */
int history_append(const char *folder, double started_at, const struct buffer *row,
                   struct spoor_error *err);

/* Does the same for a line of any file; creates its directories. The path is changed
 * meanwhile. 0 or -errno. */
int history_append_line(char *path, const struct buffer *row);

/* Copies the host name, made safe as a file name. */
void history_name_host(char name[256]);

/* Opens a file of a history and locks it against processes that append to it or replace it.
 * Without O_CREAT in `flags` it must exist. Returns the descriptor or -errno.
 * *ret_is_locked: false on file systems without locks. */
int history_open_locked(const char *path, int flags, bool *ret_is_locked);

/* Calls each(path, data) for every file, until it fails, in the order of months and hosts. */
int history_for_each(const char *folder,
                     int (*each)(const char *path, void *data, struct spoor_error *err),
                     void *data, struct spoor_error *err);

/* Does the same for the files (*.jsonl) of one directory. */
int history_visit(const char *folder,
                  int (*each)(const char *path, void *data, struct spoor_error *err),
                  void *data, struct spoor_error *err);

#endif
