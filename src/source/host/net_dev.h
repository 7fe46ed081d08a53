/* SPDX-License-Identifier: Apache-2.0 */
/*
 * net_dev.h - the bytes that went through the machine's network interfaces, from
 * /proc/net/dev.
 *
 * A byte that a container sends passes its veth, a bridge and at last the card:
 * summed over all interfaces it would count three times. So where at least one
 * interface is hardware only hardware counts. Inside a container no interface is,
 * and then all but the loopback one count. Which it is, is decided when the table is first read.
 */
#ifndef SOURCE_HOST_NET_DEV_H
#define SOURCE_HOST_NET_DEV_H

#include <stdint.h>

#include "source/host/device_table.h"

/* Totals since the interfaces came up: see device_table.h. */
struct net_dev {
    uint64_t received_bytes;
    uint64_t sent_bytes;
};

/* Asks sysfs whether the interface is hardware. */
enum device_class interface_classify(const struct root *root, const char *name);

/* Parses the line of one interface. -EBADMSG: it is damaged. */
int net_dev_parse_line(const char *line, char name[DEVICE_NAME_SIZE], struct net_dev *ret);

/* Parses /proc/net/dev. `table` remembers the interfaces. -ENOENT: none but the
 * loopback one; -EBADMSG: a line is damaged. */
int net_dev_parse(const char *text, struct device_table *table, const struct root *root,
                  struct net_dev *ret);

#endif
