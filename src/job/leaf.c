/* SPDX-License-Identifier: Apache-2.0 */
/* leaf.c - making and removing the job's cgroup. What it says: leaf_read.c. */
#include "job/leaf.h"

#include <errno.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/compiler.h"
#include "base/unknown.h"
#include "job/leaf_scope.h"
#include "source/cgroup/cgroup_file.h"
#include "source/cgroup/cgroup_folder.h"

static const char *const controllers[] = { "memory", "pids", "io", NULL };

struct name {
    char text[48]; /* "spoor-PID-RANDOM" */
};

static struct name make_name(pid_t tracker)
{
    struct name name;
    unsigned random = 0;

    (void)!getrandom(&random, sizeof(random), GRND_NONBLOCK); /* 0 will do as well */
    (void)snprintf(name.text, sizeof(name.text), "spoor-%d-%08x", (int)tracker, random);
    return name;
}

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
    case EINPROGRESS:
        return "systemd did not provide a cgroup in time";
    default:
        return "the kernel refused to create a cgroup";
    }
}

/* Makes a folder in one tree and moves the child into it; leaves nothing behind on failure. */
static int make_folder(struct leaf *leaf, enum leaf_tree tree, const struct cgroup *parent,
                       const struct name *name, pid_t child)
{
    struct leaf_folder folder = { .parent = *parent, .own = *parent };
    int r = cgroup_to_child(&folder.own, name->text);

    if (r == 0)
        r = cgroup_make(leaf->root, &folder.own);
    if (r < 0)
        return r;
    r = cgroup_move(leaf->root, &folder.own, child);
    if (r < 0) {
        (void)cgroup_remove(leaf->root, &folder.own); /* empty: it was made just now */
        return r;
    }
    cgroup_remove_abandoned(leaf->root, parent);
    folder.is_made = true;
    leaf->folders[tree] = folder;
    return 0;
}

/* The tree's top has no cgroup.events, and may have processes beside cgroups with
 * controllers. */
static bool is_top(const struct root *root, const struct cgroup *cgroup)
{
    return !root_exists(root, "%s/cgroup.events", cgroup->path);
}

/* A cgroup in which nobody is but us: we step aside into a folder of our own, since the kernel
 * wants no processes beside cgroups with controllers. */
static void step_aside(struct leaf *leaf, const struct cgroup *cgroup, const struct name *name,
                       pid_t tracker, pid_t child)
{
    struct cgroup aside = *cgroup;
    char text[sizeof(name->text) + 8];

    if (is_top(leaf->root, cgroup) || !cgroup_holds_only(leaf->root, cgroup, tracker, child))
        return;
    (void)snprintf(text, sizeof(text), "%s-self", name->text); /* fits: see above */
    if (cgroup_to_child(&aside, text) < 0 || cgroup_make(leaf->root, &aside) < 0)
        return;
    if (cgroup_move(leaf->root, &aside, tracker) < 0 ||
        cgroup_move(leaf->root, &aside, child) < 0) {
        (void)cgroup_move_all(leaf->root, &aside, cgroup);
        (void)cgroup_remove(leaf->root, &aside);
        return;
    }
    leaf->tracker_own = aside;
    leaf->enabled = cgroup_enable(leaf->root, cgroup, controllers);
}

/* Disables the controllers that we enabled, so that processes may be moved to the cgroup above,
 * unless another cgroup beside ours may rely on them. */
static void disable_controllers(struct leaf *leaf, const struct leaf_folder *folder)
{
    if (leaf->enabled == 0 ||
        !cgroup_is_alone(leaf->root, &folder->parent, basename(folder->own.path)))
        return;
    cgroup_disable(leaf->root, &folder->parent, controllers, leaf->enabled);
    leaf->enabled = 0;
}

static void step_back(struct leaf *leaf)
{
    const struct leaf_folder *folder = &leaf->folders[LEAF_UNIFIED];

    if (!cgroup_is_visible(&leaf->tracker_own))
        return;
    disable_controllers(leaf, folder);
    (void)cgroup_remove_tree(leaf->root, &leaf->tracker_own, &folder->parent);
    leaf->tracker_own.path[0] = '\0';
}

static int open_unified(struct leaf *leaf, const struct cgroup *cgroup, const struct name *name,
                        pid_t tracker, pid_t child)
{
    int r;

    if (!cgroup_is_visible(cgroup))
        return -ENOENT;
    step_aside(leaf, cgroup, name, tracker, child);
    r = make_folder(leaf, LEAF_UNIFIED, cgroup, name, child);
    if (r < 0) {
        leaf->folders[LEAF_UNIFIED].parent = leaf->folders[LEAF_UNIFIED].own = *cgroup;
        if (cgroup_to_child(&leaf->folders[LEAF_UNIFIED].own, name->text) == 0)
            step_back(leaf);
    }
    return r;
}

/* Version 1. Memory: only where the limits of the cgroups above count what is below. CPU time:
 * only where the tree is not also the scheduler's, since a group of its own there would change
 * how much of the CPUs the job gets. */
static int open_v1(struct leaf *leaf, const struct cgroups *cgroups, const struct name *name,
                   pid_t child)
{
    const struct cgroup *memory = &cgroups->of[CGROUP_MEMORY];
    const struct cgroup *pids = &cgroups->of[CGROUP_PIDS];
    const struct cgroup *cpuacct = &cgroups->of[CGROUP_CPUACCT];
    uint64_t is_hierarchical = 0;
    int r = -ENOENT;

    if (cgroup_is_visible(memory) && !memory->is_v2 &&
        cgroup_read_u64(leaf->root, memory, "memory.use_hierarchy", &is_hierarchical) == 0 &&
        is_hierarchical == 1)
        r = make_folder(leaf, LEAF_MEMORY, memory, name, child);
    if (cgroup_is_visible(pids) && !pids->is_v2)
        (void)make_folder(leaf, LEAF_PIDS, pids, name, child);
    if (!leaf_has(leaf, LEAF_UNIFIED) && cgroup_is_visible(cpuacct) && !cpuacct->is_v2 &&
        strcmp(cpuacct->path, cgroups->of[CGROUP_CPU].path) != 0)
        (void)make_folder(leaf, LEAF_CPUACCT, cpuacct, name, child);
    return r;
}

static int find_given(const struct root *root, const char *path, struct cgroup *ret)
{
    AUTO_CLOSE int fd = -1;
    struct cgroup cgroup = { 0 };
    struct statfs filesystem;
    int length;

    while (*path == '/')
        path++;
    length = snprintf(cgroup.path, sizeof(cgroup.path), "%s", path);
    if (length <= 0 || (size_t)length >= sizeof(cgroup.path))
        return -EINVAL;
    while (length > 1 && cgroup.path[length - 1] == '/')
        cgroup.path[--length] = '\0';
    fd = root_open_dir(root, "%s", cgroup.path);
    if (fd < 0)
        return fd;
    if (fstatfs(fd, &filesystem) < 0)
        return -errno;
    cgroup.is_v2 = filesystem.f_type == CGROUP2_SUPER_MAGIC;
    *ret = cgroup;
    return 0;
}

/* A folder that the user handed to us. Of version 1 it is taken for what its files say. */
static int open_given(struct leaf *leaf, const char *path, const struct name *name, pid_t child)
{
    static const struct {
        const char *file;
        enum leaf_tree tree;
    } v1[] = { { "memory.usage_in_bytes", LEAF_MEMORY },
               { "pids.current", LEAF_PIDS },
               { "cpuacct.usage", LEAF_CPUACCT } };
    struct cgroup cgroup;
    int r = find_given(leaf->root, path, &cgroup);

    if (r < 0)
        return r;
    if (cgroup.is_v2) {
        leaf->enabled = cgroup_enable(leaf->root, &cgroup, controllers);
        return make_folder(leaf, LEAF_UNIFIED, &cgroup, name, child);
    }
    r = -EINVAL;
    for (size_t i = 0; i < ARRAY_SIZE(v1); i++) {
        if (root_exists(leaf->root, "%s/%s", cgroup.path, v1[i].file))
            r = make_folder(leaf, v1[i].tree, &cgroup, name, child);
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
        disable_controllers(leaf, folder);
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
static int open_scope(struct leaf *leaf, const struct cgroups *cgroups, const struct name *name,
                      pid_t child, environment_get *environment, int r)
{
    struct leaf_scope scope;
    int asked = leaf_scope_open(leaf->root, cgroups, name->text, child, environment, &scope);

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

static int open_own(struct leaf *leaf, const struct name *name, pid_t tracker, pid_t child,
                    const struct cgroups *cgroups, environment_get *environment)
{
    int unified, r;

    if (!cgroups)
        return -ENOENT;
    unified = open_unified(leaf, &cgroups->of[CGROUP_UNIFIED], name, tracker, child);
    r = open_v1(leaf, cgroups, name, child);
    if (r == -ENOENT)
        r = unified;
    return leaf_has_memory(leaf) ? r : open_scope(leaf, cgroups, name, child, environment, r);
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
    static const enum cgroup_controller controller_of[LEAF_TREE_COUNT] = {
        [LEAF_UNIFIED] = CGROUP_UNIFIED,
        [LEAF_MEMORY] = CGROUP_MEMORY,
        [LEAF_PIDS] = CGROUP_PIDS,
        [LEAF_CPUACCT] = CGROUP_CPUACCT,
    };
    struct leaf_reading first;

    init(leaf, root);
    leaf->is_adopted = true;
    leaf->adopted = *own;
    for (int i = 0; i < LEAF_TREE_COUNT; i++) {
        const struct cgroup *cgroup = &cgroups->of[controller_of[i]];

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
    struct name name = make_name(tracker);
    int r;

    init(leaf, root);
    if (!folder && environment("SLURM_JOB_ID")) {
        leaf->reason = "the cgroups of a Slurm step are managed by Slurm";
    } else {
        r = folder ? open_given(leaf, folder, &name, child)
                   : open_own(leaf, &name, tracker, child, cgroups, environment);
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
