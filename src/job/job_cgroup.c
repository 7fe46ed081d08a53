/* SPDX-License-Identifier: Apache-2.0 */
/* job_cgroup.c - making and removing the job's cgroup. What it says: job_cgroup_read.c. */
#include "job/job_cgroup.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/unknown.h"
#include "cgroup/cgroup.h"
#include "cgroup/cgroup_folder.h"
#include "job/job_cgroup_scope.h"

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
static int make_folder(struct job_cgroup *job_cgroup, enum cgroup_tree tree,
                       const struct cgroup *parent, pid_t child)
{
    struct job_cgroup_folder folder = { .parent = *parent, .is_made = true };
    int r = cgroup_make_child(job_cgroup->root, parent, job_cgroup->name, child, &folder.own);

    if (r < 0)
        return r;
    cgroup_remove_abandoned(job_cgroup->root, parent);
    job_cgroup->folders[tree] = folder;
    return 0;
}

/* In a cgroup in which only the tracker is, it moves to a folder beside the job's: the kernel
 * allows no process beside cgroups with controllers. At the top of the tree, which has no
 * cgroup.events, it does. */
static void step_aside(struct job_cgroup *job_cgroup, const struct cgroup *cgroup,
                       pid_t tracker)
{
    char name[sizeof(job_cgroup->name) + 8];

    (void)snprintf(name, sizeof(name), "%s-self", job_cgroup->name); /* fits: see above */
    if (root_exists(job_cgroup->root, "%s/cgroup.events", cgroup->path) &&
        cgroup_holds_only(job_cgroup->root, cgroup, tracker) &&
        cgroup_make_child(job_cgroup->root, cgroup, name, tracker, &job_cgroup->tracker_own) ==
            0)
        job_cgroup->enabled = cgroup_enable(job_cgroup->root, cgroup, controllers);
}

/* Disables the controllers that we enabled, so that processes may be moved to the cgroup above,
 * unless another cgroup beside ours may rely on them. */
static void disable_controllers(struct job_cgroup *job_cgroup, const struct cgroup *above)
{
    if (job_cgroup->enabled == 0 || !cgroup_is_alone(job_cgroup->root, above, job_cgroup->name))
        return;
    cgroup_disable(job_cgroup->root, above, controllers, job_cgroup->enabled);
    job_cgroup->enabled = 0;
}

static void step_back(struct job_cgroup *job_cgroup)
{
    const struct cgroup *above = &job_cgroup->folders[CGROUP_TREE_UNIFIED].parent;

    if (!cgroup_is_visible(&job_cgroup->tracker_own))
        return;
    disable_controllers(job_cgroup, above);
    (void)cgroup_remove_tree(job_cgroup->root, &job_cgroup->tracker_own, above);
    job_cgroup->tracker_own.path[0] = '\0';
}

static int open_unified(struct job_cgroup *job_cgroup, const struct cgroup *cgroup,
                        pid_t tracker, pid_t child)
{
    int r = cgroup_is_visible(cgroup)
                ? make_folder(job_cgroup, CGROUP_TREE_UNIFIED, cgroup, child)
                : -ENOENT;

    if (r == 0)
        step_aside(job_cgroup, cgroup, tracker);
    return r;
}

/* Version 1. Memory: only where the limits of the cgroups above count what is below. CPU time:
 * only where the tree is not also the scheduler's, since a group of its own there would change
 * how much of the CPUs the job gets. */
static int open_v1(struct job_cgroup *job_cgroup, const struct cgroups *cgroups, pid_t child)
{
    const struct cgroup *memory = &cgroups->of[CGROUP_MEMORY];
    const struct cgroup *pids = &cgroups->of[CGROUP_PIDS];
    const struct cgroup *cpuacct = &cgroups->of[CGROUP_CPUACCT];
    uint64_t is_hierarchical = 0;
    int r = -ENOENT;

    if (cgroup_is_visible(memory) && !memory->is_v2 &&
        cgroup_read_u64(job_cgroup->root, memory, "memory.use_hierarchy", &is_hierarchical) ==
            0 &&
        is_hierarchical == 1)
        r = make_folder(job_cgroup, CGROUP_TREE_MEMORY, memory, child);
    if (cgroup_is_visible(pids) && !pids->is_v2)
        (void)make_folder(job_cgroup, CGROUP_TREE_PIDS, pids, child);
    if (!job_cgroup_has(job_cgroup, CGROUP_TREE_UNIFIED) && cgroup_is_visible(cpuacct) &&
        !cpuacct->is_v2 && strcmp(cpuacct->path, cgroups->of[CGROUP_CPU].path) != 0)
        (void)make_folder(job_cgroup, CGROUP_TREE_CPUACCT, cpuacct, child);
    return r;
}

/* A folder that the user handed to us. It is of what version and controllers its files say. */
static int open_given(struct job_cgroup *job_cgroup, const char *path, pid_t child)
{
    static const struct {
        const char *file;
        enum cgroup_tree tree;
    } v1[] = { { "memory.usage_in_bytes", CGROUP_TREE_MEMORY },
               { "pids.current", CGROUP_TREE_PIDS },
               { "cpuacct.usage", CGROUP_TREE_CPUACCT } };
    struct cgroup cgroup = { 0 };
    int r = -ENOTDIR;
    int length = snprintf(cgroup.path, sizeof(cgroup.path), "%s", path + strspn(path, "/"));

    if (length <= 0 || (size_t)length >= sizeof(cgroup.path))
        return -EINVAL;
    while (cgroup.path[length - 1] == '/')
        cgroup.path[--length] = '\0';
    cgroup.is_v2 = root_exists(job_cgroup->root, "%s/cgroup.controllers", cgroup.path);
    if (cgroup.is_v2) {
        job_cgroup->enabled = cgroup_enable(job_cgroup->root, &cgroup, controllers);
        return make_folder(job_cgroup, CGROUP_TREE_UNIFIED, &cgroup, child);
    }
    for (size_t i = 0; i < ARRAY_SIZE(v1); i++) {
        if (root_exists(job_cgroup->root, "%s/%s", cgroup.path, v1[i].file))
            r = make_folder(job_cgroup, v1[i].tree, &cgroup, child);
    }
    return r;
}

/* Returns 0, or why it stays. */
static int remove_folder(struct job_cgroup *job_cgroup, const struct job_cgroup_folder *folder)
{
    /* The memory tree's charges go up to the parent; nothing else is left of it. */
    int r = cgroup_remove_tree(job_cgroup->root, &folder->own, NULL);

    if (r != -EBUSY)
        return r;
    if (folder->own.is_v2)
        disable_controllers(job_cgroup, &folder->parent);
    return cgroup_remove_tree(job_cgroup->root, &folder->own, &folder->parent);
}

static void remove_folders(struct job_cgroup *job_cgroup)
{
    for (int i = CGROUP_TREE_TREE_COUNT - 1; i >= 0; i--) {
        struct job_cgroup_folder *folder = &job_cgroup->folders[i];
        int r = folder->is_made ? remove_folder(job_cgroup, folder) : 0;

        if (r < 0) /* a later start removes it, when it is empty */
            job_cgroup->left_behind = (struct job_cgroup_left_behind){ folder->own, r };
        folder->is_made = false;
    }
    step_back(job_cgroup);
}

void job_cgroup_remove(struct job_cgroup *job_cgroup)
{
    if (job_cgroup->root && job_cgroup->keeper.pid == 0 && !job_cgroup->is_adopted)
        remove_folders(job_cgroup);
}

/* Through systemd, in place of what we could make ourselves. `r` is how that went, and is
 * returned where systemd changes nothing. */
static int open_scope(struct job_cgroup *job_cgroup, const struct cgroups *cgroups, pid_t child,
                      int r)
{
    struct job_cgroup_scope scope;
    int asked =
        job_cgroup_scope_open(job_cgroup->root, cgroups, job_cgroup->name, child, &scope);

    if (asked < 0 && asked != -EINPROGRESS)
        return r;
    remove_folders(job_cgroup); /* the job is not in them any more, or soon will not be */
    if (asked < 0)
        return asked;
    (void)cgroup_enable(job_cgroup->root, &scope.scope, controllers); /* systemd removes it */
    job_cgroup->folders[CGROUP_TREE_UNIFIED] =
        (struct job_cgroup_folder){ scope.scope, scope.own, true };
    job_cgroup->keeper = scope.keeper;
    return 0;
}

static int open_own(struct job_cgroup *job_cgroup, pid_t tracker, pid_t child,
                    const struct cgroups *cgroups)
{
    int unified, r;

    if (!cgroups)
        return -ENOENT;
    unified = open_unified(job_cgroup, &cgroups->of[CGROUP_UNIFIED], tracker, child);
    r = open_v1(job_cgroup, cgroups, child);
    if (r == -ENOENT)
        r = unified;
    return job_cgroup_has_memory(job_cgroup) ? r : open_scope(job_cgroup, cgroups, child, r);
}

static void init(struct job_cgroup *job_cgroup, const struct root *root)
{
    *job_cgroup = (struct job_cgroup){ .root = root, .last = JOB_CGROUP_READING_UNKNOWN };
    for (int i = 0; i < CGROUP_TREE_FILE_COUNT; i++)
        job_cgroup->files[i] = (struct cached_file)CACHED_FILE_CLOSED;
}

void job_cgroup_adopt(struct job_cgroup *job_cgroup, const struct root *root,
                      const struct cgroup *own, const struct cgroups *cgroups)
{
    struct job_cgroup_reading first;

    init(job_cgroup, root);
    job_cgroup->is_adopted = true;
    job_cgroup->adopted = *own;
    for (int i = 0; i < CGROUP_TREE_TREE_COUNT; i++) {
        const struct cgroup *cgroup = &cgroups->of[i];

        if (cgroup_is_visible(cgroup) && cgroup->is_v2 == (i == CGROUP_TREE_UNIFIED))
            job_cgroup->folders[i] =
                (struct job_cgroup_folder){ .own = *cgroup, .is_made = true };
    }
    if (!job_cgroup_has_memory(job_cgroup))
        job_cgroup->reason = "the cgroup has no memory controller";
    job_cgroup_read(job_cgroup, &first);
    job_cgroup->peaks.memory_before_bytes = first.memory_peak_bytes;
    job_cgroup->peaks.threads_before = first.threads_peak;
}

void job_cgroup_open(struct job_cgroup *job_cgroup, const struct root *root, pid_t tracker,
                     pid_t child, const struct cgroups *cgroups, const char *folder,
                     environment_get *environment)
{
    unsigned random = 0;
    int r;

    init(job_cgroup, root);
    (void)!getrandom(&random, sizeof(random), GRND_NONBLOCK); /* 0 will do as well */
    (void)snprintf(job_cgroup->name, sizeof(job_cgroup->name), "spoor-%d-%08x", (int)tracker,
                   random);
    if (!folder && environment("SLURM_JOB_ID")) {
        job_cgroup->reason = "the cgroups of a Slurm step are managed by Slurm";
    } else {
        r = folder ? open_given(job_cgroup, folder, child)
                   : open_own(job_cgroup, tracker, child, cgroups);
        if (r < 0)
            job_cgroup->reason = explain(r);
        else if (!job_cgroup_has_memory(job_cgroup))
            job_cgroup->reason = "no cgroup controllers are delegated to us";
    }
}

void job_cgroup_close(struct job_cgroup *job_cgroup)
{
    if (!job_cgroup->root)
        return;
    for (int i = 0; i < CGROUP_TREE_FILE_COUNT; i++)
        cached_file_close(&job_cgroup->files[i]);
    children_buffer_done(&job_cgroup->io_text);
    if (job_cgroup->keeper.pid != 0)
        scope_keeper_stop(&job_cgroup->keeper); /* and systemd removes the rest */
    else
        job_cgroup_remove(job_cgroup);
    job_cgroup->root = NULL;
}
