/* SPDX-License-Identifier: Apache-2.0 */
/*
 * limits.h - the limits of the job: the smallest of the limits set by cgroups, CPU affinity and
 * the batch system. Read once at the start of a run.
 */
#ifndef RECORD_LIMITS_H
#define RECORD_LIMITS_H

#include <stdint.h>
#include <sys/types.h>

#include "base/environment.h"
#include "base/root.h"
#include "cgroup/cgroup.h"

struct limits {
    double cpus;             /* may be a fraction (a quota); NaN: unknown */
    const char *cpus_source; /* static: "affinity", "cgroup.cpu.max", "slurm", ... or NULL */
    uint64_t memory_bytes;   /* UNKNOWN: no limit, or it cannot be read */
    const char *memory_source;
};

/* `cgroups` are the cgroups of the process; NULL: they are not visible. */
void limits_read(const struct root *root, pid_t pid, const struct cgroups *cgroups,
                 environment_get *get, struct limits *ret);

#endif
