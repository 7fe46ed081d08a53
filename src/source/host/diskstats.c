/* SPDX-License-Identifier: Apache-2.0 */
/*
 * diskstats.c - parse /proc/diskstats.
 *
 *     254  0 vda 27143 7058 2559618 21867 2992 6418 166984 870 0 13484 22857 ...
 *
 * Major, minor and name, then reads, reads merged, sectors read, ms, writes,
 * writes merged, sectors written. A sector is 512 bytes here, whatever the disk's
 * own is.
 */
#include "source/host/diskstats.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/arithmetic.h"
#include "base/compiler.h"
#include "base/parse.h"
#include "base/unknown.h"

enum {
    COLUMN_SECTORS_READ = 2,
    COLUMN_SECTORS_WRITTEN = 6,
    COLUMN_COUNT,
    SECTOR_BYTES = 512,
};

/* Devices that are made of others, live in memory, or hold no data of the machine.
 * A digit must follow, so that a disk called "mdx" would still be one. */
static const char *const not_disks[] = {
    "loop", "ram", "zram", "dm-", "md", "sr", "fd", "bcache", "drbd", "zd",
};

/* Disks that are named by letters: any digit behind those is a partition's. */
static const char *const lettered_disks[] = { "sd", "hd", "vd", "xvd" };

static size_t trailing_digits(const char *name, size_t length)
{
    size_t count = 0;

    while (count < length && isdigit((unsigned char)name[length - 1 - count]))
        count++;
    return count;
}

static bool is_not_disk(const char *name)
{
    for (size_t i = 0; i < ARRAY_SIZE(not_disks); i++) {
        size_t length = strlen(not_disks[i]);

        if (strncmp(name, not_disks[i], length) == 0 && isdigit((unsigned char)name[length]))
            return true;
    }
    return false;
}

/* nvme0c1n1 is one path to nvme0n1, which counts the bytes of all its paths. */
static bool is_nvme_path(const char *name)
{
    const char *rest;

    if (strncmp(name, "nvme", 4) != 0)
        return false;
    rest = name + 4 + strspn(name + 4, "0123456789");
    return *rest == 'c';
}

static bool is_partition_name(const char *name)
{
    size_t length = strlen(name);
    size_t digits = trailing_digits(name, length);
    size_t stem = length - digits;

    if (digits == 0)
        return false;
    for (size_t i = 0; i < ARRAY_SIZE(lettered_disks); i++) {
        if (strncmp(name, lettered_disks[i], strlen(lettered_disks[i])) == 0)
            return true;
    }
    /* nvme0n1p2, mmcblk0p1: a 'p' between two numbers */
    return stem >= 2 && name[stem - 1] == 'p' && isdigit((unsigned char)name[stem - 2]);
}

enum device_class disk_class_by_name(const char *name)
{
    return is_not_disk(name) || is_nvme_path(name) || is_partition_name(name) ? DEVICE_IGNORED
                                                                              : DEVICE_REAL;
}

enum device_class disk_classify(const struct root *root, const char *name)
{
    char folder[DEVICE_NAME_SIZE];
    size_t length = strlen(name);

    if (is_not_disk(name) || is_nvme_path(name))
        return DEVICE_IGNORED;
    if (length >= sizeof(folder))
        return disk_class_by_name(name);
    memcpy(folder, name, length + 1);
    /* A file name cannot hold the '/' of "cciss/c0d0": sysfs writes '!'. */
    for (char *c = folder; *c; c++)
        *c = *c == '/' ? '!' : *c;
    if (!root_exists(root, "sys/class/block/%s", folder))
        return disk_class_by_name(name);
    return root_exists(root, "sys/class/block/%s/partition", folder) ? DEVICE_IGNORED
                                                                     : DEVICE_REAL;
}

/* Moves behind major, minor and name. -EBADMSG: it is no line of the table. */
static int parse_name(const char **cursor, char name[DEVICE_NAME_SIZE])
{
    uint64_t number;

    if (parse_u64(cursor, &number) < 0 || parse_u64(cursor, &number) < 0)
        return -EBADMSG;
    return parse_word(cursor, name, DEVICE_NAME_SIZE);
}

static int parse_bytes(const char *cursor, struct device_bytes *ret)
{
    uint64_t column[COLUMN_COUNT];

    for (int i = 0; i < COLUMN_COUNT; i++) {
        if (parse_u64(&cursor, &column[i]) < 0)
            return -EBADMSG;
    }
    /* At the very end of the text the last number may be half of one. */
    if (*cursor == '\0')
        return -EBADMSG;
    ret->in = product_u64(column[COLUMN_SECTORS_READ], SECTOR_BYTES);
    ret->out = product_u64(column[COLUMN_SECTORS_WRITTEN], SECTOR_BYTES);
    return 0;
}

int diskstats_parse_line(const char *line, char name[DEVICE_NAME_SIZE], struct diskstats *ret)
{
    struct device_bytes bytes;

    if (parse_name(&line, name) < 0 || parse_bytes(line, &bytes) < 0)
        return -EBADMSG;
    *ret = (struct diskstats){ bytes.in, bytes.out };
    return 0;
}

int diskstats_parse(const char *text, struct device_table *table, const struct root *root,
                    struct diskstats *ret)
{
    static const struct device_kind kind = { parse_name, parse_bytes, disk_classify };
    struct device_bytes sum;
    int r = device_table_read(table, &kind, root, text, &sum);

    if (r == 0)
        *ret = (struct diskstats){ sum.in, sum.out };
    return r;
}
