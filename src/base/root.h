/* SPDX-License-Identifier: Apache-2.0 */
/*
 * root.h - the only door to /proc and /sys.
 *
 * Paths are relative ("proc/42/stat") to a folder that stands for "/". For the
 * live machine that folder is "/"; for a test it is a folder of fixture files,
 * which may be swapped for a later instant of the same machine.
 *
 * Files that are read at every sample are kept open (struct kept): two to four
 * times cheaper, and an open file of /proc/PID never speaks of a process that
 * reuses the pid: it fails with ESRCH instead. On a fixture a kept file is
 * opened anew at each read, since the instant may have changed.
 */
#ifndef BASE_ROOT_H
#define BASE_ROOT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/compiler.h"

struct root {
    int fd;       /* the folder; -1 when closed */
    bool is_live; /* it is "/": system calls about processes mean the same machine */
};

#define ROOT_CLOSED \
    {               \
        .fd = -1    \
    }

/* `path` NULL or "/" is the live machine. */
int root_open(const char *path, struct root *ret);
void root_close(struct root *root);

/* Another of the same folder, for who may outlive this one. */
int root_copy(const struct root *root, struct root *ret);

/* Reads a whole file and ends it with a NUL byte. Returns its length, or
 * -errno; -EFBIG when it does not fit: `size` bytes hold size - 1 of text. */
ssize_t root_read(const struct root *root, char *buf, size_t size, const char *fmt, ...)
    PRINTF_LIKE(4, 5);

/* As root_read, but a file that does not fit is cut instead of refused. */
ssize_t root_read_start(const struct root *root, char *buf, size_t size, const char *fmt, ...)
    PRINTF_LIKE(4, 5);

/* Opens a folder for fdopendir() or as the start of a path. Returns an fd or -errno. */
int root_open_dir(const struct root *root, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* Reads a symbolic link. Returns the length of the NUL-ended text, or -errno. */
ssize_t root_read_link(const struct root *root, char *buf, size_t size, const char *fmt, ...)
    PRINTF_LIKE(4, 5);

/* Is there such a file, readable or not? */
bool root_exists(const struct root *root, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* A file kept open between reads. Zeroed is not open: start from KEPT_CLOSED. */
struct kept {
    int fd;
};

#define KEPT_CLOSED \
    {               \
        .fd = -1    \
    }

/* Reads the whole file anew, as root_read does. The path is used where the file
 * is not open yet. Where descriptors run short the file is closed after the read. */
ssize_t kept_read(struct kept *kept, const struct root *root, char *buf, size_t size,
                  const char *fmt, ...) PRINTF_LIKE(5, 6);

/* As kept_read, but a file that does not fit is cut instead of refused. */
ssize_t kept_read_start(struct kept *kept, const struct root *root, char *buf, size_t size,
                        const char *fmt, ...) PRINTF_LIKE(5, 6);

/* As kept_read, for a file that the kernel writes as one record (most small ones): what one
 * system call gives is all of it, so that no second one is needed to see the end. */
ssize_t kept_read_record(struct kept *kept, const struct root *root, char *buf, size_t size,
                         const char *fmt, ...) PRINTF_LIKE(5, 6);
void kept_close(struct kept *kept);

#endif
