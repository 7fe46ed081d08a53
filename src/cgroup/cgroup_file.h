/* SPDX-License-Identifier: Apache-2.0 */
/* cgroup_file.h - the figures in the files of one cgroup. */
#ifndef CGROUP_CGROUP_FILE_H
#define CGROUP_CGROUP_FILE_H

#include <stdint.h>

#include "base/root.h"
#include "cgroup/cgroup.h"

/* One number. UNKNOWN for "no limit": "max" of version 2, "-1" and a number near
 * 2^63 of version 1. -EBADMSG: something else. */
int cgroup_parse_u64(const char *text, uint64_t *ret);

/* A quota of CPU time as a number of CPUs: "50000 100000" is 0.5; NaN for no
 * quota. The text of cpu.max of version 2. */
int cgroup_parse_quota(const char *text, double *ret_cpus);

/* The readers fail with -ENOENT where the cgroup is not visible. */
int cgroup_read_u64(const struct root *root, const struct cgroup *cgroup, const char *file,
                    uint64_t *ret);

/* cpu.max, or cpu.cfs_quota_us and cpu.cfs_period_us. */
int cgroup_read_quota(const struct root *root, const struct cgroup *cgroup, double *ret_cpus);

/* How many CPUs a list as cpuset.cpus names. */
int cgroup_read_cpu_count(const struct root *root, const struct cgroup *cgroup,
                          const char *file, unsigned *ret_count);

#endif
