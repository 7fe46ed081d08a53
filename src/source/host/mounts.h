/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mounts.h - the space on the machine's disks, per file system and in total.
 *
 * A file system counts if it is on a block device and can be written to. Images (squashfs, a
 * CD, a loop device), memory and the network do not count. A file system that is mounted in
 * several places, as in containers, counts once.
 *
 * A ZFS pool counts once, however many datasets are mounted: they share the pool's free space,
 * but each has its own used space. Unmounted datasets and snapshots are not included.
 *
 * An overlay shows the space of the disk below it. An overlay counts only if it is the root and
 * no disk is mounted, as in a container.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/helper.h"
#include "base/root.h"

/* The mounts visible to a process, from /proc/PID/mountinfo.
 *
 * One line is one mount. Its parts are returned as in the text, in which blanks, tabs,
 * newlines and backslashes in names are escaped as \040, \011, \012, \134. */

/* A part of a borrowed text; not NUL-terminated. */
struct text_part {
    const char *start;
    size_t length;
};

/* The parts of a line; they point into the parsed text. */
struct mountinfo {
    unsigned major, minor;   /* device number of the filesystem */
    struct text_part root;   /* the folder of the filesystem that is mounted: "/" */
    struct text_part point;  /* the mount point */
    struct text_part type;   /* "ext4" */
    struct text_part source; /* "/dev/sda1", or any text of the filesystem; may be empty */
    /* Options of the filesystem, not of this mount: "rw,memory". */
    struct text_part super_options;
};

/* Reads our own /proc/self/mountinfo, or its first MiB: the mounts of containers may have lines of
 * 4 KiB. The caller frees the text. */
int mountinfo_read(const struct root *root, char **ret);

/* Parses one line. -EBADMSG: the line is damaged, or does not end in a newline. */
int mountinfo_parse_line(const char *line, struct mountinfo *ret);

bool text_part_is(struct text_part part, const char *word);
bool text_part_starts(struct text_part part, const char *start);

/* Whether `word` is one of the comma-separated options. */
bool text_part_has_option(struct text_part part, const char *word);

/* Writes a part with its escapes decoded, NUL-terminated. Returns the length of the text;
 * -ENAMETOOLONG: it does not fit; -EBADMSG: it would contain a NUL. */
int text_part_decode(struct text_part part, char *buf, size_t size);

/* The kernel's limit is 31 characters for a disk and 15 for an interface. */
enum { DEVICE_NAME_SIZE = 40 };

struct mounts {
    uint64_t total_bytes;
    uint64_t used_bytes;
    uint64_t free_bytes; /* available to ordinary users */
};

/* A file system of a disk. The texts are owned. */
struct mount_item {
    char *point;  /* the first mount point; for a pool, the mount point of its first dataset */
    char *type;   /* "ext4" */
    char *source; /* "/dev/sda1", "zfs:POOL" */
    unsigned major, minor;
    struct mounts space;
    /* The whole disk of the file system, or the first of several disks; "zfs:POOL" for a pool;
     * empty: unknown. Set by devices_read(). */
    char disk[DEVICE_NAME_SIZE];
};

/* A zeroed struct is empty. */
struct mount_list {
    struct mount_item *items;
    size_t count;
};

void mount_list_done(struct mount_list *list);

bool mount_is_zfs(const struct mountinfo *mount);

/* Adds the space of a dataset to its pool. Start from zeros. */
void mounts_add_dataset(struct mounts *pool, const struct mounts *dataset);

/* Whether the mount is a filesystem on a disk of the machine. */
bool mount_is_disk(const struct mountinfo *mount);

/* Whether the machine's disks count all bytes that can be written here. The disks do not count
 * data that goes over a network, to a program (FUSE) or to another machine (9p). `text`:
 * mountinfo. */
bool mounts_are_local(const char *text);

/* Whether reading one of these mounts may block, because it waits for another machine or a
 * program (FUSE), or because the type of the filesystem is unknown. `text`: mountinfo. */
bool mounts_may_stall(const char *text);

/* Sums up the mounts of a mountinfo text, whose last line may be truncated. Calls statvfs for
 * each filesystem, and so works on the live machine only (else -ENOTSUP). -ENOENT: no
 * filesystem counts. `ret_list` may be NULL; it lists each filesystem, and the caller must call
 * mount_list_done(). */
int mounts_read(const struct root *root, const char *text, struct mounts *ret,
                struct mount_list *ret_list);

/* ---- space.c: the same with a timeout, for disks that do not respond ---------- */

/* A zeroed struct is closed. */
struct space {
    struct helper *helper;
    struct space_inquiry *inquiry; /* owned by the helper */
    bool has_nfs;                  /* NFS was mounted at the last reading */
};

void space_done(struct space *space);

/* Reads the mounts. -ENOTSUP: not the live machine; -ETIMEDOUT: a disk does not respond; other
 * errors, and `ret_list`: see mounts_read(). */
int space_read(struct space *space, const struct root *root, struct mounts *ret,
               struct mount_list *ret_list);
