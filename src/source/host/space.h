/* SPDX-License-Identifier: Apache-2.0 */
/*
 * space.h - the space on the machine's disks (mounts.h), without waiting for one that does not
 * respond.
 */
#ifndef SOURCE_HOST_SPACE_H
#define SOURCE_HOST_SPACE_H

#include "base/helper.h"
#include "source/host/mounts.h"

/* Zeroed is closed. */
struct space {
    struct helper *helper;
    struct space_inquiry *inquiry; /* the helper's */
};

void space_done(struct space *space);

/* -ENOTSUP: not the live machine; -ETIMEDOUT: a disk does not respond; others: see
 * mounts_read(), as for `ret_list`. */
int space_read(struct space *space, const struct root *root, struct mounts *ret,
               struct mount_list *ret_list);

#endif
