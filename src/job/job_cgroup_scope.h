/* SPDX-License-Identifier: Apache-2.0 */
/*
 * job_cgroup_scope.h - a cgroup for the job that systemd makes: where we may not make one with
 * controllers ourselves, as in a login session.
 *
 * The job leaves the cgroup of the session for one beside it. So this is done only where
 * nothing is lost by that: no limit would cease to hold, and nobody counts on finding the job
 * where it was, as a service, a container or a batch system does.
 */
#ifndef JOB_JOB_CGROUP_SCOPE_H
#define JOB_JOB_CGROUP_SCOPE_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/root.h"
#include "cgroup/cgroup.h"
#include "cgroup/systemd_scope.h"

struct job_cgroup_scope {
    struct cgroup scope; /* ours to enable controllers in; goes when all in it have ended */
    struct cgroup own;   /* below it, with the job */
    struct scope_keeper keeper; /* below it too; the caller stops it */
};

/* May a job be moved out of these cgroups into one of a manager of `uid`? */
bool job_cgroup_scope_is_fit(const struct root *root, const struct cgroups *cgroups, uid_t uid);

/* Has `child` moved, which has not started anything yet. `cgroups` are the tracker's, `name` is
 * that of the new cgroup. Takes 250 ms at most.
 *
 * -EINPROGRESS: systemd was asked, and the child has been moved or may be at any time, but
 * there is no cgroup for us to read. Other failures: the child is where it was. */
int job_cgroup_scope_open(const struct root *root, const struct cgroups *cgroups,
                          const char *name, pid_t child, struct job_cgroup_scope *ret);

#endif
