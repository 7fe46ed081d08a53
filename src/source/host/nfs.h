/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nfs.h - the bytes that this machine read from NFS servers and wrote to them.
 *
 * /proc/self/mountstats has the counters of each NFS mount of our mount namespace. They belong to
 * the superblock: a file system that is mounted twice, or partly, shows the same counters on each
 * mount. The file does not identify the superblock, but mountinfo does by its device number, and
 * the kernel writes both files in the same order. Identical counters would prove nothing: two new
 * mounts have the same, and one superblock may count on between the lines of two mounts.
 */
#ifndef SOURCE_HOST_NFS_H
#define SOURCE_HOST_NFS_H

#include "base/root.h"
#include "source/host/devices.h"

/* Sums up the bytes of READ and WRITE requests since the first call. A superblock that is younger
 * than `seconds` counts from its mount on. -ENOENT: no NFS is mounted; -EBADMSG: the texts are
 * damaged, or do not belong together. */
int nfs_parse(const char *mountinfo, const char *mountstats, uint64_t seconds,
              struct device_table *table, struct device_bytes *ret);

/* As nfs_parse(), for the files. It waits for no server. */
int nfs_read(const struct root *root, uint64_t seconds, struct device_table *table,
             struct device_bytes *ret);

#endif
