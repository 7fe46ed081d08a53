/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host.h - what the whole machine does, read at every sample.
 *
 * host_read() costs about 14 us: eight files that are kept open, no allocation.
 * Two figures are dear and change slowly: disk space is read every ten seconds
 * and OOM kills once a minute; in between, their last value is given.
 */
#ifndef SOURCE_HOST_HOST_H
#define SOURCE_HOST_HOST_H

#include <stdint.h>

#include "base/clock.h"
#include "base/root.h"
#include "source/host/cpu_stat.h"
#include "source/host/device_table.h"
#include "source/host/diskstats.h"
#include "source/host/meminfo.h"
#include "source/host/net_dev.h"
#include "source/host/process_count.h"
#include "source/host/space.h"

enum { PRESSURE_CPU, PRESSURE_MEMORY, PRESSURE_IO, PRESSURE_COUNT };

/* One reading. UNKNOWN, in every part of it, for what could not be read. */
struct host_reading {
    struct cpu_stat cpu;
    struct meminfo memory;
    struct diskstats disk;
    struct net_dev network;
    struct mounts space;
    uint64_t pressure_ns[PRESSURE_COUNT]; /* some process waited; since boot */
    uint64_t oom_kills_count;             /* since boot */
    uint64_t process_count;               /* that /proc shows */
};

extern const struct host_reading HOST_READING_UNKNOWN;

/* /proc/stat of a machine with 2000 CPUs fits. Of what does not fit the start is
 * used where that is enough. */
enum { HOST_TEXT_SIZE = 256 * 1024 };

/* About 800 KiB: not for the stack. All of it is private. */
struct host {
    struct clock_span cpu_span; /* when the CPU times were last read; not private */
    bool counts_processes;      /* false until set; not private */
    struct process_count process_count;
    uint64_t ticks_per_second;
    struct cached_file stat, meminfo, diskstats, net_dev, vmstat;
    struct cached_file pressure[PRESSURE_COUNT];
    struct device_table disks, interfaces;
    uint64_t space_due_ns, oom_kills_due_ns; /* when to read these anew */
    struct space space_reader;
    struct mounts space;
    uint64_t oom_kills_count;
    char text[HOST_TEXT_SIZE];
};

/* Opens nothing yet. The caller ends it with host_done, which accepts a struct
 * that host_init has been called on, once or more. */
void host_init(struct host *host);
void host_done(struct host *host);

/* Takes one reading. `now_ns` is the monotonic time. Never fails. */
void host_read(struct host *host, const struct root *root, uint64_t now_ns,
               struct host_reading *ret);

/* Do the disks count all that can be written here? See mounts_are_local(). */
bool host_storage_is_local(struct host *host, const struct root *root);

/* Makes the next host_read() read disk space and OOM kills too, however fresh
 * they are: for the last sample of a run. */
void host_expire(struct host *host);

#endif
