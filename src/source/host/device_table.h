/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device_table.h - what each device of a kernel table is, asked of sysfs once.
 *
 * /proc/diskstats and /proc/net/dev have a line for every device, real or made up
 * of others, and keep their order. So what a device is stands under the number of
 * its line, and is asked anew only where the name on that line is another.
 */
#ifndef SOURCE_HOST_DEVICE_TABLE_H
#define SOURCE_HOST_DEVICE_TABLE_H

#include <stddef.h>

#include "base/root.h"

enum device_class {
    DEVICE_IGNORED, /* its bytes are counted on another device, or on none */
    DEVICE_REAL,    /* hardware, as far as this machine can see */
    DEVICE_VIRTUAL, /* counts only where there is no hardware */
};

typedef enum device_class device_classify(const struct root *root, const char *name);

/* The kernel's limit is 31 characters for a disk and 15 for an interface. */
enum { DEVICE_NAME_SIZE = 40, DEVICE_TABLE_SIZE = 1024 };

/* Starts with a count of 0 and DEVICE_IGNORED, the rest untouched; needs no release. */
struct device_table {
    size_t count;              /* lines that are known */
    enum device_class counted; /* what a sum is over, decided once; DEVICE_IGNORED: not yet */
    struct device {
        char name[DEVICE_NAME_SIZE];
        enum device_class class;
    } line[DEVICE_TABLE_SIZE];
};

/* The class of the device on a line. The lines of a text are asked for in their
 * order, from 0. Devices beyond the table's size are asked anew at each call. */
enum device_class device_table_get(struct device_table *table, const struct root *root,
                                   size_t line, const char *name, device_classify *classify);

#endif
