/* SPDX-License-Identifier: Apache-2.0 */
/*
 * topology.h - how the CPUs that are online are built: sockets, cores, caches, NUMA nodes.
 *
 * From /sys/devices/system. Takes some 20 us per CPU: for `spoor info`, not for runs.
 */
#ifndef SOURCE_HOST_TOPOLOGY_H
#define SOURCE_HOST_TOPOLOGY_H

#include <stddef.h>
#include <stdint.h>

#include "base/root.h"

enum { TOPOLOGY_CACHES_MAX = 8 };

/* All caches of one kind. Hybrid CPUs have some kinds in several sizes. */
struct topology_cache {
    uint64_t level; /* 1, 2, ... */
    char type;      /* 'd' data, 'i' instructions, 'u' both */
    uint64_t count; /* how many there are */
    uint64_t bytes; /* of all of them together */
};

/* UNKNOWN: the kernel does not say. */
struct topology {
    uint64_t sockets, cores, threads;
    uint64_t numa_nodes;
    struct topology_cache caches[TOPOLOGY_CACHES_MAX]; /* the smallest level first */
    size_t cache_count;
};

void topology_read(const struct root *root, struct topology *ret);

/* "32K" or "8M", as sysfs has it, in bytes. -EBADMSG: not a size. */
int cache_size_parse(const char *text, uint64_t *ret);

#endif
