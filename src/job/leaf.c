/* SPDX-License-Identifier: Apache-2.0 */
/* leaf.c - making and removing the job's cgroup. What it says: leaf_read.c. */
#include "job/leaf.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/unknown.h"
#include "job/leaf_scope.h"
#include "source/cgroup/cgroup_file.h"
#include "source/cgroup/cgroup_folder.h"

static const char *const controllers[] = { "memory", "pids", "io", NULL };

static const char *explain(int r)
{
    switch (-r) {
    case EACCES:
    case EPERM:
        return "the cgroup belongs to another user";
    case EROFS:
        return "cgroups are read-only here, as in most containers";
    case EBUSY:
        return "the cgroup contains other processes";
    case ENOENT:
        return "no cgroup is visible here";
    case ENOTDIR:
        return "not a cgroup directory";
    case EINPROGRESS:
        return "systemd did not provide a cgroup in time";
    default:
        return "the kernel refused to create a cgroup";
    }
}

/* Makes a folder in one tree and moves the child into it; leaves nothing behind on failure. */
static int make_folder(struct leaf *leaf, enum leaf_tree tree, const struct cgroup *parent,
                       pid_t child)
{
    struct leaf_folder folder = { .parent = *parent, .is_made = true };
    int r = cgroup_make_child(leaf->root, parent, leaf->name, child, &folder.own);

    if (r < 0)
        return r;
    cgroup_remove_abandoned(leaf->root, parent);
    leaf->folders[tree] = folder;
    return 0;
}

/* In a cgroup in which only the tracker is, it moves to a folder beside the job's: the kernel
 * allows no process beside cgroups with controllers. At the top of the tree, which has no
 * cgroup.events, it does. */
static void step_aside(struct leaf *leaf, const struct cgroup *cgroup, pid_t tracker)
{
    char name[sizeof(leaf->name) + 8];

    (void)snprintf(name, sizeof(name), "%s-self", leaf->name); /* fits: see above */
    if (root_exists(leaf->root, "%s/cgroup.events", cgroup->path) &&
        cgroup_holds_only(leaf->root, cgroup, tracker) &&
        cgroup_make_child(leaf->root, cgroup, name, tracker, &leaf->tracker_own) == 0)
        leaf->enabled = cgroup_enable(leaf->root, cgroup, controllers);
}

/* Disables the controllers that we enabled, so that processes may be moved to the cgroup above,
 * unless another cgroup beside ours may rely on them. */
static void disable_controllers(struct leaf *leaf, const struct cgroup *above)
{
    if (leaf->enabled == 0 || !cgroup_is_alone(leaf->root, above, leaf->name))
        return;
    cgroup_disable(leaf->root, above, controllers, leaf->enabled);
    leaf->enabled = 0;
}

static void step_back(struct leaf *leaf)
{
    const struct cgroup *above = &leaf->folders[LEAF_UNIFIED].parent;

    if (!cgroup_is_visible(&leaf->tracker_own))
        return;
    disable_controllers(leaf, above);
    (void)cgroup_remove_tree(leaf->root, &leaf->tracker_own, above);
    leaf->tracker_own.path[0] = '\0';
}

static int open_unified(struct leaf *leaf, const struct cgroup *cgroup, pid_t tracker,
                        pid_t child)
{
    int r =
        cgroup_is_visible(cgroup) ? make_folder(leaf, LEAF_UNIFIED, cgroup, child) : -ENOENT;

    if (r == 0)
        step_aside(leaf, cgroup, tracker);
    return r;
}

/* Version 1. Memory: only where the limits of the cgroups above count what is below. CPU time:
 * only where the tree is not also the scheduler's, since a group of its own there would change
 * how much of the CPUs the job gets. */
static int open_v1(struct leaf *leaf, const struct cgroups *cgroups, pid_t child)
{
    const struct cgroup *memory = &cgroups->of[CGROUP_MEMORY];
    const struct cgroup *pids = &cgroups->of[CGROUP_PIDS];
    const struct cgroup *cpuacct = &cgroups->of[CGROUP_CPUACCT];
    uint64_t is_hierarchical = 0;
    int r = -ENOENT;

    if (cgroup_is_visible(memory) && !memory->is_v2 &&
        cgroup_read_u64(leaf->root, memory, "memory.use_hierarchy", &is_hierarchical) == 0 &&
        is_hierarchical == 1)
        r = make_folder(leaf, LEAF_MEMORY, memory, child);
    if (cgroup_is_visible(pids) && !pids->is_v2)
        (void)make_folder(leaf, LEAF_PIDS, pids, child);
    if (!leaf_has(leaf, LEAF_UNIFIED) && cgroup_is_visible(cpuacct) && !cpuacct->is_v2 &&
        strcmp(cpuacct->path, cgroups->of[CGROUP_CPU].path) != 0)
        (void)make_folder(leaf, LEAF_CPUACCT, cpuacct, child);
    return r;
}

/* A folder that the user handed to us. It is of what version and controllers its files say. */
static int open_given(struct leaf *leaf, const char *path, pid_t child)
{
    static const struct {
        const char *file;
        enum leaf_tree tree;
    } v1[] = { { "memory.usage_in_bytes", LEAF_MEMORY },
               { "pids.current", LEAF_PIDS },
               { "cpuacct.usage", LEAF_CPUACCT } };
    struct cgroup cgroup = { 0 };
    int r = -ENOTDIR;
    int length = snprintf(cgroup.path, sizeof(cgroup.path), "%s", path + strspn(path, "/"));

    if (length <= 0 || (size_t)length >= sizeof(cgroup.path))
        return -EINVAL;
    while (cgroup.path[length - 1] == '/')
        cgroup.path[--length] = '\0';
    cgroup.is_v2 = root_exists(leaf->root, "%s/cgroup.controllers", cgroup.path);
    if (cgroup.is_v2) {
        leaf->enabled = cgroup_enable(leaf->root, &cgroup, controllers);
        return make_folder(leaf, LEAF_UNIFIED, &cgroup, child);
    }
    for (size_t i = 0; i < ARRAY_SIZE(v1); i++) {
        if (root_exists(leaf->root, "%s/%s", cgroup.path, v1[i].file))
            r = make_folder(leaf, v1[i].tree, &cgroup, child);
    }
    return r;
}

/* Returns 0, or why it stays. */
static int remove_folder(struct leaf *leaf, const struct leaf_folder *folder)
{
    /* The memory tree's charges go up to the parent; nothing else is left of it. */
    int r = cgroup_remove_tree(leaf->root, &folder->own, NULL);

    if (r != -EBUSY)
        return r;
    if (folder->own.is_v2)
        disable_controllers(leaf, &folder->parent);
    return cgroup_remove_tree(leaf->root, &folder->own, &folder->parent);
}

static void remove_folders(struct leaf *leaf)
{
    for (int i = LEAF_TREE_COUNT - 1; i >= 0; i--) {
        struct leaf_folder *folder = &leaf->folders[i];
        int r = folder->is_made ? remove_folder(leaf, folder) : 0;

        if (r < 0) /* a later start removes it, when it is empty */
            leaf->left_behind = (struct leaf_left_behind){ folder->own, r };
        folder->is_made = false;
    }
    step_back(leaf);
}

void leaf_remove(struct leaf *leaf)
{
    if (leaf->root && leaf->keeper.pid == 0 && !leaf->is_adopted)
        remove_folders(leaf);
}

/* Through systemd, in place of what we could make ourselves. `r` is how that went, and is
 * returned where systemd changes nothing. */
static int open_scope(struct leaf *leaf, const struct cgroups *cgroups, pid_t child, int r)
{
    struct leaf_scope scope;
    int asked = leaf_scope_open(leaf->root, cgroups, leaf->name, child, &scope);

    if (asked < 0 && asked != -EINPROGRESS)
        return r;
    remove_folders(leaf); /* the job is not in them any more, or soon will not be */
    if (asked < 0)
        return asked;
    (void)cgroup_enable(leaf->root, &scope.scope, controllers); /* systemd removes it */
    leaf->folders[LEAF_UNIFIED] = (struct leaf_folder){ scope.scope, scope.own, true };
    leaf->keeper = scope.keeper;
    return 0;
}

static int open_own(struct leaf *leaf, pid_t tracker, pid_t child,
                    const struct cgroups *cgroups)
{
    int unified, r;

    if (!cgroups)
        return -ENOENT;
    unified = open_unified(leaf, &cgroups->of[CGROUP_UNIFIED], tracker, child);
    r = open_v1(leaf, cgroups, child);
    if (r == -ENOENT)
        r = unified;
    return leaf_has_memory(leaf) ? r : open_scope(leaf, cgroups, child, r);
}

static void init(struct leaf *leaf, const struct root *root)
{
    *leaf = (struct leaf){ .root = root, .last = LEAF_READING_UNKNOWN };
    for (int i = 0; i < LEAF_FILE_COUNT; i++)
        leaf->files[i] = (struct kept)KEPT_CLOSED;
}

void leaf_adopt(struct leaf *leaf, const struct root *root, const struct cgroup *own,
                const struct cgroups *cgroups)
{
    struct leaf_reading first;

    init(leaf, root);
    leaf->is_adopted = true;
    leaf->adopted = *own;
    for (int i = 0; i < LEAF_TREE_COUNT; i++) {
        const struct cgroup *cgroup = &cgroups->of[i];

        if (cgroup_is_visible(cgroup) && cgroup->is_v2 == (i == LEAF_UNIFIED))
            leaf->folders[i] = (struct leaf_folder){ .own = *cgroup, .is_made = true };
    }
    if (!leaf_has_memory(leaf))
        leaf->reason = "the cgroup has no memory controller";
    leaf_read(leaf, &first);
    leaf->peaks.memory_before_bytes = first.memory_peak_bytes;
    leaf->peaks.threads_before = first.threads_peak;
}

void leaf_open(struct leaf *leaf, const struct root *root, pid_t tracker, pid_t child,
               const struct cgroups *cgroups, const char *folder, environment_get *environment)
{
    unsigned random = 0;
    int r;

    init(leaf, root);
    (void)!getrandom(&random, sizeof(random), GRND_NONBLOCK); /* 0 will do as well */
    (void)snprintf(leaf->name, sizeof(leaf->name), "spoor-%d-%08x", (int)tracker, random);
    if (!folder && environment("SLURM_JOB_ID")) {
        leaf->reason = "the cgroups of a Slurm step are managed by Slurm";
    } else {
        r = folder ? open_given(leaf, folder, child) : open_own(leaf, tracker, child, cgroups);
        if (r < 0)
            leaf->reason = explain(r);
        else if (!leaf_has_memory(leaf))
            leaf->reason = "no cgroup controllers are delegated to us";
    }
}

void leaf_close(struct leaf *leaf)
{
    if (!leaf->root)
        return;
    for (int i = 0; i < LEAF_FILE_COUNT; i++)
        kept_close(&leaf->files[i]);
    if (leaf->keeper.pid != 0)
        scope_keeper_stop(&leaf->keeper); /* and systemd removes the rest */
    else
        leaf_remove(leaf);
    leaf->root = NULL;
}
