/* SPDX-License-Identifier: Apache-2.0 */
/* save.h - writes reports to descriptors and files; a file is complete, or unchanged. */
#ifndef OUTPUT_SAVE_H
#define OUTPUT_SAVE_H

#include "record/record.h"
#include "spoor/spoor.h"
#include "text/buffer.h"

#define SAVE_OTHER_COLUMNS                                                            \
    "has other columns than this version of spoor writes; name another file or omit " \
    "--append"

/* Checks that reports can be written to a file in the way of `how`, and that a table that is appended to
 * has our columns. Changes nothing. The message does not name the file. */
int save_check(const char *path, enum spoor_format format, enum spoor_save how,
               struct spoor_error *err);

/* Writes reports to a descriptor, in one table or one after the other. */
int save_to_descriptor(const struct record *records, size_t count, enum spoor_format format,
                       bool has_color, int fd, struct spoor_error *err);

/* Writes reports to a file in the way of `how`, or to the descriptor, device or pipe that `path` names. */
int save_to_file(const struct record *records, size_t count, enum spoor_format format,
                 const char *path, enum spoor_save how, struct spoor_error *err);

/* Writes a text to a descriptor or, if that is -1, to a file in the way of `how`. */
int save_text(const struct buffer *text, int fd, const char *path, enum spoor_save how,
              struct spoor_error *err);

/* Opens a file to append to it, and to read it if that is allowed. `flags`: O_CREAT, O_EXCL. The
 * descriptor or -errno. */
int save_open_to_append(const char *path, int flags);

/* Ends the last line of a file that is appended to, if a crash left it without its newline. */
int save_end_torn_line(int fd);

#endif
