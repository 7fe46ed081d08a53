/* SPDX-License-Identifier: Apache-2.0 */
/*
 * net_dev.c - parse /proc/net/dev.
 *
 * Two lines of heading, then one for each interface:
 *
 *     eth0: 9978350 486 0 0 0 0 0 0 34045 437 0 0 0 0 0 0
 *
 * The first number is the bytes received, the ninth the bytes sent. There may be
 * no blank behind the colon. A name may hold colons itself, a number never does.
 */
#include "source/host/net_dev.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/arithmetic.h"
#include "base/parse.h"
#include "base/unknown.h"

enum {
    COLUMN_RECEIVED = 0,
    COLUMN_SENT = 8,
    COLUMN_COUNT,
};

enum device_class interface_classify(const struct root *root, const char *name)
{
    if (strcmp(name, "lo") == 0)
        return DEVICE_IGNORED;
    if (!root_exists(root, "sys/class/net/%s/device", name))
        return DEVICE_VIRTUAL;
    /* A card that works for another card, as on Azure, is counted there too. */
    return root_exists(root, "sys/class/net/%s/master/device", name) ? DEVICE_IGNORED
                                                                     : DEVICE_REAL;
}

/* Copies the name of an interface line and moves *cursor behind its colon. */
static int parse_name(const char **cursor, char name[DEVICE_NAME_SIZE])
{
    const char *start = *cursor + strspn(*cursor, " \t");
    const char *end = strchr(start, '\n');
    const char *colon = end ? memrchr(start, ':', (size_t)(end - start)) : NULL;
    size_t length = colon ? (size_t)(colon - start) : 0;

    if (length == 0 || length >= DEVICE_NAME_SIZE)
        return -EBADMSG;
    memcpy(name, start, length);
    name[length] = '\0';
    *cursor = colon + 1;
    return 0;
}

static int parse_bytes(const char *cursor, struct device_bytes *ret)
{
    uint64_t column[COLUMN_COUNT];

    for (int i = 0; i < COLUMN_COUNT; i++) {
        if (parse_u64(&cursor, &column[i]) < 0)
            return -EBADMSG;
    }
    *ret = (struct device_bytes){ column[COLUMN_RECEIVED], column[COLUMN_SENT] };
    return 0;
}

int net_dev_parse_line(const char *line, char name[DEVICE_NAME_SIZE], struct net_dev *ret)
{
    struct device_bytes bytes;

    if (parse_name(&line, name) < 0 || parse_bytes(line, &bytes) < 0)
        return -EBADMSG;
    *ret = (struct net_dev){ bytes.in, bytes.out };
    return 0;
}

int net_dev_parse(const char *text, struct device_table *table, const struct root *root,
                  struct net_dev *ret)
{
    static const struct device_kind kind = { parse_name, parse_bytes, interface_classify };
    struct device_bytes sum;
    int r = device_table_read(table, &kind, root, parse_next_line(parse_next_line(text)), &sum);

    if (r == 0)
        *ret = (struct net_dev){ sum.in, sum.out };
    return r;
}
