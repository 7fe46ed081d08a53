/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mounts.h - the space on the machine's disks, per file system and in total.
 *
 * A file system counts if it is on a block device and can be written: not images (squashfs, a CD,
 * a loop device), memory or the network. Mounted in several places, as containers do, it counts
 * once.
 *
 * A ZFS pool counts once, however many datasets are mounted: they share its free space, and each
 * uses some of its own. Datasets that are not mounted, and snapshots, are not seen.
 *
 * An overlay shows the space of the disk below it. It counts only if it is the root and no disk
 * is mounted, as in a container.
 */
#ifndef SOURCE_HOST_MOUNTS_H
#define SOURCE_HOST_MOUNTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/root.h"

/* The mounts a process sees, from /proc/PID/mountinfo.
 *
 * One line is one mount. Its parts are given as they stand in the text, where
 * blanks, newlines and backslashes of names are written \040, \011, \012, \134. */

/* A part of a text that someone else owns; not NUL-ended. */
struct text_part {
    const char *start;
    size_t length;
};

/* Borrows from the text it was parsed from. */
struct mountinfo {
    unsigned major, minor;   /* of the filesystem */
    struct text_part root;   /* the folder of the filesystem that is mounted: "/" */
    struct text_part point;  /* where */
    struct text_part type;   /* "ext4" */
    struct text_part source; /* "/dev/sda1", or what the filesystem likes; may be empty */
    struct text_part super_options; /* of the filesystem, not of this mount: "rw,memory" */
};

/* Parses one line. -EBADMSG: it is damaged, or does not end in a newline. */
int mountinfo_parse_line(const char *line, struct mountinfo *ret);

bool text_part_is(struct text_part part, const char *word);
bool text_part_starts(struct text_part part, const char *start);

/* Is `word` one of the options of a list that is parted by commas? */
bool text_part_has_option(struct text_part part, const char *word);

/* Writes a part with its escapes decoded, ended with NUL. Returns its length;
 * -ENAMETOOLONG: it does not fit; -EBADMSG: it would hold a NUL. */
int text_part_decode(struct text_part part, char *buf, size_t size);

struct mounts {
    uint64_t total_bytes;
    uint64_t used_bytes;
    uint64_t free_bytes; /* what an ordinary user can still fill */
};

/* A file system of a disk. The texts are owned. */
struct mount_item {
    char *point;  /* where it is mounted first; a pool, where its first dataset is */
    char *type;   /* "ext4" */
    char *source; /* "/dev/sda1", "zfs:POOL" */
    unsigned major, minor;
    struct mounts space;
};

/* Zeroed is empty. */
struct mount_list {
    struct mount_item *items;
    size_t count;
};

void mount_item_done(struct mount_item *item);
void mount_list_done(struct mount_list *list);

bool mount_is_zfs(const struct mountinfo *mount);

/* Adds the space of a dataset to that of its pool. Start with zeros. */
void mounts_add_dataset(struct mounts *pool, const struct mounts *dataset);

/* Is it a filesystem whose space is the machine's? */
bool mount_is_disk(const struct mountinfo *mount);

/* Is all that can be written here counted by the machine's disks? Not what goes over a network, to
 * a program (FUSE) or to another machine that lends a folder (9p). The lines of a mountinfo text. */
bool mounts_are_local(const char *text);

/* May a look at one of these mounts wait: for another machine, a program (FUSE), or a filesystem
 * that is not known here? The lines of a mountinfo text. */
bool mounts_may_stall(const char *text);

/* Sums over the lines of a mountinfo text, of which the last may be cut. Asks the
 * kernel about each filesystem, and so works on the live machine only (-ENOTSUP
 * elsewhere). -ENOENT: there is no such filesystem. `ret_list` gets each of them and is ended with
 * mount_list_done(); it may be NULL. */
int mounts_read(const struct root *root, const char *text, struct mounts *ret,
                struct mount_list *ret_list);

#endif
