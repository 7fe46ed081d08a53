/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store.h - the history of runs, as files of JSON lines (record/row.h):
 *
 *     FOLDER/runs/2026-11/HOST.jsonl
 *
 * Each machine appends only to the file with its name, so that locks need not work between
 * machines that share a file system. The index (index.h) is created from the files. Folders
 * have mode 0700, files 0600: command lines may contain secrets.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>

#include "spoor/spoor.h"
#include "text/buffer.h"

/* Selects the history of this program: a directory (it contains a slash), or any other word or NULL
 * for $SPOOR_HISTORY or the default directory. The text is borrowed. */
void history_choose(const char *value);

/* Returns whether a value is a directory (it contains a slash), not a word. */
bool history_is_folder(const char *value);

/* Returns the directory: the selected one, $SPOOR_HISTORY, $XDG_STATE_HOME/spoor or
 * ~/.local/state/spoor. -ENOENT: HOME is not set or belongs to another user. */
int history_folder(char ret[PATH_MAX], struct spoor_error *err);

/* Appends one row in one write. A failure leaves the file as it was. */
int history_append(const char *folder, double started_at, const struct buffer *row,
                   struct spoor_error *err);

/* Appends a line to any file in the same way; creates its directories. Modifies the path
 * temporarily. 0 or -errno. */
int history_append_line(char *path, const struct buffer *row);

/* Copies the host name, made safe as a file name. */
void history_name_host(char name[256]);

/* Opens a file of a history and locks it against processes that append to it or replace it.
 * Without O_CREAT in `flags`, the file must exist. Returns the descriptor or -errno.
 * *ret_is_locked is false on file systems without locks. */
int history_open_locked(const char *path, int flags, bool *ret_is_locked);

typedef int history_see_file(const char *path, void *data, struct spoor_error *err);

/* Calls each(path, data, err) for every file, sorted by month and host, until it fails. */
int history_for_each(const char *folder, history_see_file *each, void *data,
                     struct spoor_error *err);

/* Does the same for the files (*.jsonl) of one directory, sorted by name. */
int history_visit(const char *folder, history_see_file *each, void *data,
                  struct spoor_error *err);
