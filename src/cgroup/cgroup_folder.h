/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cgroup_folder.h - creates a cgroup, moves processes into it, removes it.
 *
 * This is the only part of spoor that changes anything on the machine. It works on the live
 * machine only: on a fixture, it returns -ENOTSUP.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/root.h"
#include "cgroup/cgroup.h"

/* Creates a cgroup. -EROFS, -EACCES: no permission, as in most containers. */
int cgroup_make(const struct root *root, const struct cgroup *cgroup);

/* Removes a cgroup. -EBUSY: it contains processes. */
int cgroup_remove(const struct root *root, const struct cgroup *cgroup);

/* Moves a process with all its threads. */
int cgroup_move(const struct root *root, const struct cgroup *cgroup, pid_t pid);

/* Creates a cgroup below `parent` and moves a process into it. Leaves nothing behind on failure. */
int cgroup_make_child(const struct root *root, const struct cgroup *parent, const char *name,
                      pid_t pid, struct cgroup *ret);

/* Moves all processes in `from` to `to`, including those started during the call. Gives up when
 * none can be moved. -EBUSY: the kernel allows no process in `to`, because controllers are
 * enabled for the cgroups below it (version 2). */
int cgroup_move_all(const struct root *root, const struct cgroup *from,
                    const struct cgroup *to);

/* Enables controllers ("memory", ...; a list that ends with NULL) for the cgroups below
 * `cgroup`, which is of version 2, if permitted. Returns a bit for each controller that it
 * enabled. */
unsigned cgroup_enable(const struct root *root, const struct cgroup *cgroup,
                       const char *const *controllers);

/* Disables the controllers whose bit is set. */
void cgroup_disable(const struct root *root, const struct cgroup *cgroup,
                    const char *const *controllers, unsigned enabled);

/* Whether all cgroups below `parent` have names that begin with `name`. */
bool cgroup_is_alone(const struct root *root, const struct cgroup *parent, const char *name);

/* Removes a cgroup with all cgroups below it. Processes in the cgroup, and in the cgroups of a
 * nested tracker that was killed, are moved to `to`; NULL: none are moved. If another cgroup
 * below contains processes, neither cgroup is removed: -EBUSY. */
int cgroup_remove_tree(const struct root *root, const struct cgroup *cgroup,
                       const struct cgroup *to);

/* Whether a process is the only one in a cgroup. */
bool cgroup_holds_only(const struct root *root, const struct cgroup *cgroup, pid_t pid);

/* Removes empty cgroups below `parent` that killed trackers left behind: the folder's name
 * contains the tracker's PID, "spoor-PID-...", and that process has exited. */
void cgroup_remove_abandoned(const struct root *root, const struct cgroup *parent);
