/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cgroup_folder.h - make a cgroup, put processes into it, remove it.
 *
 * The only part of spoor that changes anything on the machine. All works on the live
 * machine alone: a fixture gives -ENOTSUP.
 */
#ifndef SOURCE_CGROUP_CGROUP_FOLDER_H
#define SOURCE_CGROUP_CGROUP_FOLDER_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/root.h"
#include "source/cgroup/cgroup.h"

/* -EROFS, -EACCES: not ours to change, as in most containers. */
int cgroup_make(const struct root *root, const struct cgroup *cgroup);

/* -EBUSY: processes are in it. */
int cgroup_remove(const struct root *root, const struct cgroup *cgroup);

/* Moves a process with all its threads. */
int cgroup_move(const struct root *root, const struct cgroup *cgroup, pid_t pid);

/* Moves all that is in `from` to `to`, those that are born meanwhile too. */
int cgroup_move_all(const struct root *root, const struct cgroup *from,
                    const struct cgroup *to);

/* Lets the children of a cgroup of version 2 have a controller ("memory"). -EBUSY: the
 * cgroup has processes of its own, which the kernel does not allow beside that. */
int cgroup_enable(const struct root *root, const struct cgroup *cgroup, const char *controller);
int cgroup_disable(const struct root *root, const struct cgroup *cgroup,
                   const char *controller);

/* Has the cgroup no process but these two? */
bool cgroup_holds_only(const struct root *root, const struct cgroup *cgroup, pid_t a, pid_t b);

/* Removes empty cgroups below `parent` whose tracker, named in the folder's name as
 * "spoor-PID-...", is gone: what a tracker that was killed left behind. */
void cgroup_remove_abandoned(const struct root *root, const struct cgroup *parent);

#endif
