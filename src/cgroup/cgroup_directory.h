/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cgroup_directory.h - an existing cgroup that a user named: of a container, a service or a batch job.
 *
 * With version 1 it is a directory of one hierarchy. The cgroups of the same path in the other
 * hierarchies are taken to be of the same processes if there are any in them.
 */
#ifndef CGROUP_CGROUP_DIRECTORY_H
#define CGROUP_CGROUP_DIRECTORY_H

#include "cgroup/cgroup.h"
#include "source/proc/children.h"
#include "spoor/spoor.h"

/* Finds it, and in *ret the cgroups that count for its processes: as in struct cgroups, a controller
 * without a version 1 hierarchy is on that of version 2. -ENOENT: no such directory; -EINVAL: it is
 * not a cgroup; -ESRCH: there is no process in it. */
int cgroup_directory_find(const struct root *root, const char *directory,
                          struct cgroup *ret_own, struct cgroups *ret, struct spoor_error *err);

/* Calls `found` for each process in it and in the cgroups below. Returns their number; -ENOENT: it
 * is gone. Those of other PID namespaces are left out. */
int cgroup_each_process(const struct root *root, const struct cgroup *cgroup,
                        struct children_buffer *buffer, child_found *found, void *data);

/* Whether a process is in it or below. False if it is gone. */
bool cgroup_is_populated(const struct root *root, const struct cgroup *cgroup);

#endif
