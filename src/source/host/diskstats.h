/* SPDX-License-Identifier: Apache-2.0 */
/*
 * diskstats.h - the bytes that went to and from the machine's disks, from
 * /proc/diskstats.
 *
 * Only whole disks count. A partition's bytes are those of its disk; dm, md and
 * the like pass theirs on to the disks they are made of; a loop device's end up
 * on the disk of its file; ram and zram never leave memory.
 */
#ifndef SOURCE_HOST_DISKSTATS_H
#define SOURCE_HOST_DISKSTATS_H

#include <stdint.h>

#include "source/host/device_table.h"

/* Totals since boot, summed over whole disks: see device_table.h. */
struct diskstats {
    uint64_t read_bytes;
    uint64_t written_bytes;
};

/* What a name alone tells: DEVICE_REAL or DEVICE_IGNORED. */
enum device_class disk_class_by_name(const char *name);

/* Asks sysfs whether the disk is a partition, and goes by the name where sysfs
 * does not know the disk. */
enum device_class disk_classify(const struct root *root, const char *name);

/* Parses the line of one disk or partition. -EBADMSG: it is damaged. */
int diskstats_parse_line(const char *line, char name[DEVICE_NAME_SIZE], struct diskstats *ret);

/* Parses /proc/diskstats. `table` remembers the disks. -ENOENT: no whole disk;
 * -EBADMSG: a line of a whole disk is damaged. */
int diskstats_parse(const char *text, struct device_table *table, const struct root *root,
                    struct diskstats *ret);

#endif
