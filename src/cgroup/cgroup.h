/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cgroup.h - which cgroups a process is in, and where their files are.
 *
 * With version 2 there is one tree of cgroups for all controllers. With version 1
 * each controller may have a tree of its own. Many machines have both: some
 * controllers on version 1, the rest on an otherwise empty version 2 tree. So the
 * cgroup is found for each controller apart, and says which version it is.
 *
 * In a container only a part of a tree may be visible: the path of a cgroup is
 * what remains of it below the mount, and there may be none.
 */
#ifndef CGROUP_CGROUP_H
#define CGROUP_CGROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/root.h"
#include "source/host/mountinfo.h"

enum cgroup_controller {
    CGROUP_UNIFIED, /* the tree of version 2, whatever its controllers */
    CGROUP_MEMORY,
    CGROUP_PIDS,
    CGROUP_CPUACCT,
    CGROUP_CPU,
    CGROUP_CPUSET,
    CGROUP_CONTROLLER_COUNT,
};

enum { CGROUP_PATH_SIZE = 1024 };

/* One cgroup: a folder, and the visible part of the tree it stands in. */
struct cgroup {
    char path[CGROUP_PATH_SIZE]; /* below the root: "sys/fs/cgroup/memory/a"; empty: none */
    size_t mount_length;         /* of the part of it that is the mount point */
    bool is_v2;
};

/* The cgroups of one process. A controller that is on no version 1 tree is on the
 * version 2 one, and its entry is equal to that of CGROUP_UNIFIED. */
struct cgroups {
    struct cgroup of[CGROUP_CONTROLLER_COUNT];
};

/* From the texts of /proc/PID/cgroup and of our /proc/self/mountinfo, whose last
 * lines may be cut. Cgroups that are not visible, or whose path is too long, have
 * an empty path. -ENOENT: that goes for all of them. */
int cgroups_parse(const char *cgroup_text, const char *mountinfo_text, struct cgroups *ret);

int cgroups_read(const struct root *root, pid_t pid, struct cgroups *ret);

/* The cgroup of a directory such as /sys/fs/cgroup/memory/a, and the cgroups of the same path in the
 * other hierarchies, whether they exist or not. `directory` has no symbolic link in it. -EINVAL: it
 * is not in a mounted cgroup hierarchy. */
int cgroups_parse_directory(const char *directory, const char *mountinfo_text,
                            struct cgroup *ret_own, struct cgroups *ret);

/* Where a process is in the hierarchy of a controller: a part of the text of /proc/PID/cgroup.
 * -ENOENT: there is no such version 1 hierarchy; the controller may be on version 2. */
int cgroup_find_path(const char *cgroup_text, enum cgroup_controller controller,
                     struct text_part *ret);

static inline bool cgroup_is_visible(const struct cgroup *cgroup)
{
    return cgroup->path[0] != '\0';
}

/* Goes to the parent. False, and nothing changed, where it is not visible. */
bool cgroup_to_parent(struct cgroup *cgroup);

/* Goes to a child. -ENAMETOOLONG: its path does not fit; -EINVAL: `name` is not
 * the name of a folder, or the cgroup is not visible. Nothing changed then. */
int cgroup_to_child(struct cgroup *cgroup, const char *name);

#endif
