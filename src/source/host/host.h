/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host.h - the activity of the whole machine, read at every sample.
 *
 * host_read() costs about 14 us: eight files that are kept open, no allocation. Two figures are
 * expensive and change slowly: disk space is read every ten seconds and OOM kills once a
 * minute; in between, their last value is returned. RDMA ports and NFS are read just often
 * enough to take a thousandth of the time. The search for RDMA ports starts a tenth of a second
 * after the first reading, so that a short command does not pay for it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/root.h"
#include "source/host/devices.h"
#include "source/host/meminfo.h"

/* The CPU time of the whole machine, from /proc/stat.
 *
 * The kernel's user time includes the time of guests, which is not added again. */

/* Totals over all CPUs since boot. UNKNOWN if not reported, or more than 584 years. */
struct cpu_stat {
    uint64_t user_ns;   /* programs, niced ones included */
    uint64_t system_ns; /* the kernel, interrupts included */
    uint64_t iowait_ns;
    uint64_t steal_ns;
    uint64_t interrupt_ns; /* a part of system_ns */
    uint64_t cpus;         /* number of online CPUs */
};

/* Parses /proc/stat, or the start of it: values after the end are UNKNOWN.
 * `ticks_per_second` is sysconf(_SC_CLK_TCK). -EBADMSG: no whole "cpu" line. */
int cpu_stat_parse(const char *text, uint64_t ticks_per_second, struct cpu_stat *ret);

/* Time since boot in which a CPU was not idle: in programs, the kernel and the hypervisor. */
struct cpu_busy {
    uint64_t number; /* 0 for cpu0 */
    uint64_t busy_ns;
};

/* Lists the online CPUs in the order of the text. Returns the number of entries stored. */
size_t cpu_stat_parse_each(const char *text, uint64_t ticks_per_second, struct cpu_busy *list,
                           size_t capacity);

/* Returns the number of processes in /proc; UNKNOWN: /proc cannot be read. Costs 0.3 us per
 * process. */
uint64_t process_count_read(const struct root *root);

/* How long processes were stalled, from /proc/pressure/cpu, memory and io, or from the files
 * of a cgroup in the same format. */

/* Returns the time since boot in which some process was stalled. -EBADMSG: no such line. */
int pressure_parse(const char *text, uint64_t *ret_some_ns);

/* ---- Counters of /proc/vmstat ------------------------------------------------ */

/* Returns the number of processes of the whole machine that the kernel has killed since boot
 * because memory ran out. -ENOENT: the kernel (before 4.13) does not count them. */
int vmstat_parse_oom_kills(const char *text, uint64_t *ret_count);

enum { PRESSURE_CPU, PRESSURE_MEMORY, PRESSURE_IO, PRESSURE_COUNT };

/* One reading. Values that could not be read are UNKNOWN. */
struct host_reading {
    struct cpu_stat cpu;
    struct meminfo memory;
    struct device_bytes disk, network;
    struct device_bytes rdma, nfs; /* since the first reading */
    struct mounts space;
    /* Time since boot in which some process was stalled. */
    uint64_t pressure_ns[PRESSURE_COUNT];
    uint64_t oom_kills_count; /* since boot */
    uint64_t process_count;   /* visible in /proc */
};

/* Makes all values UNKNOWN. */
void host_reading_clear(struct host_reading *reading);

/* Enough for /proc/stat of 2000 CPUs. Longer texts are truncated if their start is
 * sufficient. */
enum { HOST_TEXT_SIZE = 256 * 1024 };

/* A table that takes long to read, and its last sum. */
struct slow_table {
    struct device_table table;
    struct device_bytes bytes;
    uint64_t due_ns; /* when to read it again */
};

/* About 1.3 MiB: not for the stack. Members are private except the first two. */
struct host {
    struct clock_span cpu_span; /* when the CPU times were last read */
    bool counts_processes;      /* set by the caller: whether to count processes */
    uint64_t ticks_per_second;
    struct cached_file stat, meminfo, diskstats, net_dev, vmstat;
    struct cached_file pressure[PRESSURE_COUNT];
    struct device_table disks, interfaces;
    struct slow_table rdma, nfs;
    uint64_t first_ns;                       /* time of the first reading; 0: none */
    uint64_t space_due_ns, oom_kills_due_ns; /* when to read them again */
    struct space space_reader;
    struct mounts space;
    uint64_t oom_kills_count;
    char text[HOST_TEXT_SIZE];
};

/* Opens nothing yet. The caller must call host_done(), which accepts a struct after one or
 * more calls of host_init(). */
void host_init(struct host *host);
void host_done(struct host *host);

/* Takes one reading. `now_ns` is the monotonic time. Never fails. */
void host_read(struct host *host, const struct root *root, uint64_t now_ns,
               struct host_reading *ret);

/* Makes the next host_read() read everything, even recent values: for the last sample of a
 * run. */
void host_expire(struct host *host);
