/* SPDX-License-Identifier: Apache-2.0 */
/*
 * space.h - the space on the machine's disks (mounts.h), with a timeout for disks that do not
 * respond.
 */
#ifndef SOURCE_HOST_SPACE_H
#define SOURCE_HOST_SPACE_H

#include "base/helper.h"
#include "source/host/mounts.h"

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

#endif
