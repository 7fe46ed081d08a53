/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cgroup_escape.h - detects processes that have left the job cgroup.
 *
 * The totals of a cgroup are the totals of the job only while all processes of the job are in
 * that cgroup or below it. Container runtimes move their processes away, and on version 1 a
 * process may leave the cgroup in the hierarchy of a single controller.
 */
#ifndef JOB_CGROUP_ESCAPE_H
#define JOB_CGROUP_ESCAPE_H

#include <stdbool.h>

#include "base/root.h"
#include "job/job_cgroup.h"
#include "job/member.h"

/* Zeroed: there is no job cgroup to leave. */
struct cgroup_escape {
    /* Paths as in /proc/PID/cgroup; empty: none. */
    char home[CGROUP_TREE_COUNT][CGROUP_PATH_SIZE];
    bool has_left[CGROUP_TREE_COUNT]; /* a process was seen elsewhere */
};

/* Records the cgroups of the main process; call this as soon as that process is in the job
 * cgroup. */
void cgroup_escape_init(struct cgroup_escape *escape, const struct job_cgroup *job_cgroup,
                        pid_t main_pid);

/* Reads the cgroups of a process. */
void cgroup_escape_check(struct cgroup_escape *escape, const struct root *root,
                         struct member *member);

/* Whether a process should be checked because it has grown a lot since the last check. */
bool cgroup_escape_is_due(const struct cgroup_escape *escape, const struct member *member);

#endif
