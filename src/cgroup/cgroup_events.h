/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cgroup_events.h - what happened to a cgroup against its will: processes killed
 * for want of memory, and time it was kept from running by its CPU quota.
 *
 * Others may share the cgroup, and the counts began before the job: what is said
 * of a job is how they change while it runs, and at most that.
 */
#ifndef CGROUP_CGROUP_EVENTS_H
#define CGROUP_CGROUP_EVENTS_H

#include <stdint.h>

#include "base/root.h"
#include "cgroup/cgroup.h"

/* Totals since the cgroup was made. UNKNOWN where the kernel does not say. */
struct cgroup_events {
    uint64_t oom_kills_count;
    uint64_t throttled_ns;
};

/* The files, kept open. All of it is private. */
struct cgroup_watch {
    struct cgroup memory, cpu;
    struct cached_file memory_file, cpu_file;
};

/* Chooses the cgroups: for memory the process's own; for the quota the nearest one
 * at or above it that has a quota now, since the time is counted there. Opens
 * nothing for longer than the call. `cgroups` is copied; NULL: nothing is known. */
void cgroup_watch_init(struct cgroup_watch *watch, const struct root *root,
                       const struct cgroups *cgroups);
void cgroup_watch_done(struct cgroup_watch *watch);

/* Never fails: what cannot be read is UNKNOWN. */
void cgroup_watch_read(struct cgroup_watch *watch, const struct root *root,
                       struct cgroup_events *ret);

/* memory.events of version 2, memory.oom_control of version 1. */
int cgroup_parse_oom_kills(const char *text, uint64_t *ret_count);

/* cpu.stat of version 2 (in us) or of version 1 (in ns). */
int cgroup_parse_throttled(const char *text, uint64_t *ret_ns);

#endif
