/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mounts.h - the space on the machine's disks, summed over their filesystems.
 *
 * A filesystem counts where it lives on a block device and can be written: not
 * images (squashfs, a CD, a loop device), nor memory, nor the network. Mounted in
 * several places, as containers do, it counts once.
 */
#ifndef SOURCE_HOST_MOUNTS_H
#define SOURCE_HOST_MOUNTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/root.h"
#include "source/host/mountinfo.h"

struct mounts {
    uint64_t total_bytes;
    uint64_t used_bytes;
    uint64_t free_bytes; /* what an ordinary user can still fill */
};

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
 * elsewhere). -ENOENT: there is no such filesystem. */
int mounts_read(const struct root *root, const char *text, struct mounts *ret);

#endif
