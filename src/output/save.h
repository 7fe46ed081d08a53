/* SPDX-License-Identifier: Apache-2.0 */
/* save.h - writes reports to descriptors and files; after a failure a file is unchanged. */
#pragma once

#include "record/record.h"
#include "spoor/spoor.h"
#include "text/buffer.h"

#define SAVE_OTHER_COLUMNS                                                            \
    "has other columns than this version of spoor writes; name another file or omit " \
    "--append"

/* Checks that reports can be written to a file with the method `how`, and that a table that
 * is appended to has our columns. Changes nothing. The message does not contain the name of
 * the file. */
int save_check(const char *path, enum spoor_format format, enum spoor_save how,
               struct spoor_error *err);

/* Writes reports to a descriptor, in one table or one after the other. */
int save_to_descriptor(const struct record *records, size_t count, enum spoor_format format,
                       bool has_color, int fd, struct spoor_error *err);

/* Writes reports to a file with the method `how`, or to the descriptor, device or pipe that
 * `path` names. */
int save_to_file(const struct record *records, size_t count, enum spoor_format format,
                 const char *path, enum spoor_save how, struct spoor_error *err);

/* Writes a text to a descriptor or, if that is -1, to a file with the method `how`. */
int save_text(const struct buffer *text, int fd, const char *path, enum spoor_save how,
              struct spoor_error *err);

/* Opens a file to append to it, and to read it if permitted. `flags`: O_CREAT, O_EXCL.
 * Returns the descriptor or -errno. */
int save_open_to_append(const char *path, int flags);

/* Ends the last line of a file that is appended to, if a crash left it without its newline. */
int save_end_torn_line(int fd);
