/* SPDX-License-Identifier: Apache-2.0 */
/*
 * root.h - the only access to /proc and /sys.
 *
 * Paths ("proc/42/stat") are relative to a root folder. For the live machine that
 * is "/"; for a test it is a folder of fixture files, which may be replaced by a
 * later state of the same machine.
 *
 * In another PID namespace the same PID names another process. If /proc belongs to another
 * namespace, files of processes (proc/42/...), except proc/self, are refused with -ESRCH.
 *
 * Files that are read at every sample are kept open (struct cached_file). That is two to
 * four times cheaper, and an open file of /proc/PID never returns data of another
 * process that reuses the pid: it fails with ESRCH. In a fixture folder the file is
 * opened again for each read, since the folder may have been replaced.
 */
#pragma once

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/compiler.h"

/* ---- How many files this process may have open ----------------------------- */

/* Raises the limit to its maximum. Must not be called in a process that starts the job
 * later: the job would inherit the higher limit. */
void file_limit_raise(void);

/* Whether a file may stay open. The last descriptors below the limit are left free, so that files
 * which are opened for one read can always be read. */
bool file_limit_allows(int fd);

struct root {
    int fd;       /* the folder; -1 when closed */
    bool is_live; /* the folder is "/": system calls see the same processes */
    /* Page size of the machine; 4 KiB for fixtures. */
    size_t page_bytes;
    const char *proc_fault; /* why /proc does not show our processes; static; NULL: it does */
};

#define ROOT_CLOSED \
    {               \
        .fd = -1    \
    }

/* Opens a root; `path` NULL or "/" is the live machine. */
int root_open(const char *path, struct root *ret);
void root_close(struct root *root);

/* Duplicates a root for code that may outlive the original. */
int root_copy(const struct root *root, struct root *ret);

/* Reads a whole file and adds a NUL byte. Returns its length, or -errno. -EFBIG:
 * it does not fit into size - 1 bytes. */
ssize_t root_read(const struct root *root, char *buf, size_t size, const char *fmt, ...)
    PRINTF_LIKE(4, 5);

/* Like root_read(), but truncates a file that does not fit. */
ssize_t root_read_start(const struct root *root, char *buf, size_t size, const char *fmt, ...)
    PRINTF_LIKE(4, 5);

/* Reads a file that contains one number. UNKNOWN: the file cannot be read, or contains
 * something else. */
uint64_t root_read_number(const struct root *root, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* Like root_read_start(), but keeps at most `line_size` bytes of each line, so that one long
 * line does not displace the lines after it. A file that fits takes one read call. */
/* Enough for /proc/PID/status, except lists of groups and CPUs. */
enum { ROOT_LINE_SIZE = 512 };
ssize_t root_read_lines(const struct root *root, char *buf, size_t size, size_t line_size,
                        const char *fmt, ...) PRINTF_LIKE(5, 6);

/* Opens a folder as the start of a path. Returns an fd or -errno. */
int root_open_dir(const struct root *root, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* Like root_open_dir(), but for readdir(). NULL with errno: the folder cannot be opened. */
DIR *root_open_folder(const struct root *root, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* Reads a symbolic link. Returns the length of the NUL-terminated text, or -errno. */
ssize_t root_read_link(const struct root *root, char *buf, size_t size, const char *fmt, ...)
    PRINTF_LIKE(4, 5);

/* Whether the file exists, readable or not. */
bool root_exists(const struct root *root, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* A file kept open between reads. Initialize with CACHED_FILE_CLOSED, not with zeros. */
struct cached_file {
    int fd;
};

#define CACHED_FILE_CLOSED \
    {                      \
        .fd = -1           \
    }

enum file_read {
    READ_WHOLE,  /* like root_read() */
    READ_START,  /* like root_read_start() */
    READ_RECORD, /* like root_read(), for a file that the kernel returns in one piece (most
                  * small ones): one read call suffices, and no second call is needed to see
                  * the end */
};

/* Reads the file from its start. The path is used if the file is not open yet. If descriptors run
 * short, or without a place to keep it (NULL), the file is closed after the read. */
ssize_t cached_file_read(struct cached_file *kept, const struct root *root, enum file_read how,
                         char *buf, size_t size, const char *fmt, ...) PRINTF_LIKE(6, 7);
void cached_file_close(struct cached_file *kept);
