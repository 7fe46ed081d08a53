/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device_table.h - the sum of two counters over the devices of a kernel table.
 *
 * /proc/diskstats and /proc/net/dev have a line for every device, real or made up of others, and
 * keep their order. What a device is, is asked of sysfs once.
 *
 * The sum only grows, by the growth of each device between two readings. What a device had counted
 * before it was plugged in is not traffic of this machine, and a device that is removed takes
 * nothing away from the sum.
 */
#ifndef SOURCE_HOST_DEVICE_TABLE_H
#define SOURCE_HOST_DEVICE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/root.h"

enum device_class {
    DEVICE_IGNORED, /* its bytes are counted on another device, or on none */
    DEVICE_REAL,    /* hardware, as far as this machine can see */
    DEVICE_VIRTUAL, /* counts only if there is no hardware */
    DEVICE_CLASS_COUNT
};

/* The kernel's limit is 31 characters for a disk and 15 for an interface. More lines than there is
 * room for are more than host_read() can read. */
enum { DEVICE_NAME_SIZE = 40, DEVICE_TABLE_SIZE = 4096 };

/* The bytes that came in, or were read, and those that went out, or were written. */
struct device_bytes {
    uint64_t in, out;
};

/* How a table of the kernel is read: all of these are pure but classify(). */
struct device_kind {
    /* Moves *cursor behind the name. -EBADMSG: the line is damaged. */
    int (*parse_name)(const char **cursor, char name[DEVICE_NAME_SIZE]);
    /* Of the line from there on. -EBADMSG: likewise. */
    int (*parse_bytes)(const char *cursor, struct device_bytes *ret);
    enum device_class (*classify)(const struct root *root, const char *name);
};

/* Begins with device_table_init(); needs no release. */
struct device_table {
    size_t count;              /* lines that are known */
    enum device_class counted; /* what a sum is over, decided once; DEVICE_IGNORED: not yet */
    bool is_exact; /* the sum: no device was plugged in, removed or reset since it began */
    struct device_bytes sums[DEVICE_CLASS_COUNT];
    struct device {
        char name[DEVICE_NAME_SIZE];
        enum device_class class;
        struct device_bytes bytes; /* when it was last read */
    } line[DEVICE_TABLE_SIZE];
};

void device_table_init(struct device_table *table);

/* Reads the lines of a text. The first sum is over what the devices have counted so far. It is over
 * hardware if there was any when the first devices were found, and otherwise over the rest.
 * -ENOENT: none counts; -EBADMSG: a line is damaged; -E2BIG: there are too many. */
int device_table_read(struct device_table *table, const struct device_kind *kind,
                      const struct root *root, const char *text, struct device_bytes *ret);

#endif
