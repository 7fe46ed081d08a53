/* SPDX-License-Identifier: Apache-2.0 */
/*
 * output_file.h - files that a user named for output.
 *
 * They are checked before a job starts, without being touched, and written when there is
 * something to write. A whole file is written under a temporary name in the same directory and
 * then renamed, so that a reader finds either the old or the new content, and a failure leaves
 * the old content. A process that is killed meanwhile leaves its temporary file behind. A later
 * process that writes to the directory removes that file, once it is an hour old.
 *
 * Messages do not name the file: the caller prefixes them.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "spoor/spoor.h"
#include "text/buffer.h"

/* How a file will be written. */
enum output_mode {
    OUTPUT_REPLACE,    /* rename another file over it */
    OUTPUT_TRUNCATE,   /* in place */
    OUTPUT_APPEND,     /* in place */
    OUTPUT_NO_CLOBBER, /* the file must not exist */
};

/* Checks that a regular file can be written or created. 0 or -errno with a message. Rejects
 * symbolic links (-ELOOP), files that are not regular and, if written in place, files that are
 * not trusted (below). */
int output_file_check(const char *path, enum output_mode mode, struct spoor_error *err);

/* Checks that a file that does not exist can be created in its directory. */
int output_file_check_directory(const char *path, struct spoor_error *err);

/* Creates a directory, mode 0700, and its parents; restores `path`. 0 or -errno. */
int output_make_directories(char *path);

/* Returns the descriptor of this process that a path names (/dev/stdout, /dev/stderr,
 * /dev/fd/N or /proc/self/fd/N), or -1. */
int output_file_descriptor(const char *path);

/* Whether two names lead to one file, or would if it existed: two spellings of a name, hard or
 * symbolic links, or a descriptor that leads to a regular file. */
bool output_file_is_same(const char *a, const char *b);

/* Checks that a descriptor was passed to this program and can be written to. Descriptors
 * that we opened, such as the stand-in for a closed stderr, are close-on-exec; inherited
 * descriptors are not. */
int output_file_check_descriptor(int fd, struct spoor_error *err);

/* Returns false if a link or file may have been planted by another user: in a directory
 * where everyone may create files, every file that belongs neither to us nor to the
 * directory's owner. */
bool output_file_is_trusted(const char *path);

/* Whether a path leads to a device or a named pipe. */
bool output_file_is_special(const char *path);

/* Checks that a device or pipe may be written to. A symbolic link is followed, but in a
 * directory where everyone may create files, a link or a pipe of another user is rejected. 0
 * or -errno with a message. */
int output_file_check_special(const char *path, struct spoor_error *err);

/* Checks and opens a device or pipe; for a pipe it waits for a reader, as a shell does.
 * Returns the descriptor, or -errno with a message. */
int output_file_open_special(const char *path, struct spoor_error *err);

/* Locks a file against other writers that call this function, until it is closed or
 * unlocked. Gives up after some seconds, so as not to delay a result. Independent of
 * flock(2), which the user may use on the same file. Returns whether the file is locked. */
bool output_file_lock(int fd);
void output_file_unlock(int fd);

/* Claims a file as long as it is open, exclusively (`is_alone`) or shared with other processes.
 * -EBUSY: another process has a conflicting claim. A later call changes the claim. */
int output_file_claim(int fd, bool is_alone);

/* New contents of a file. */
struct replacement {
    int fd; /* descriptor to write the contents to */
    const char *path;
    char temporary[PATH_MAX];
};

/* Creates an empty file beside `path`, which must outlive it. It gets the owner and the mode
 * of an existing file, if that is trusted; `is_private`: mode 0600. Its permissions never
 * exceed the final ones. 0 or -errno. */
int replacement_open(struct replacement *replacement, const char *path, bool is_private);

/* Waits until the content is on disk, so that a crash of the machine cannot leave the new name
 * with partial content. 0 or -errno. */
int replacement_sync(const struct replacement *replacement);

/* Closes the file and renames it to `path`. `is_no_clobber`: -EEXIST if there is a file. On
 * failure the temporary file is removed. 0 or -errno. */
int replacement_commit(struct replacement *replacement, bool is_no_clobber);
void replacement_cancel(struct replacement *replacement);

/* Replaces a file by a text, with these steps. `is_private` and `is_no_clobber` as above. 0 or
 * -errno. */
struct replacement_style {
    bool is_private, is_synced, is_no_clobber;
};
int replacement_write(const char *path, const struct buffer *text,
                      struct replacement_style style);
