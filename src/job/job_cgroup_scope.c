/* SPDX-License-Identifier: Apache-2.0 */
#include "job/job_cgroup_scope.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/compiler.h"
#include "base/parse.h"
#include "cgroup/cgroup_folder.h"
#include "cgroup/systemd_scope.h"

#define TIME_NS (250 * NS_PER_MS)

enum { UNIT_SIZE = 64 };

/* The processes of a service are found by its cgroup when it is stopped. Those of a scope were
 * put there from outside, as a login session's; but folders below one are somebody's. */
static bool is_in_scope(const struct cgroup *cgroup)
{
    const char *part = basename(cgroup->path);
    const char *dot = strrchr(part, '.');

    return dot && dot != part && strcmp(dot, ".scope") == 0;
}

/* Has it no limit of its own? Limits on the number of processes are not asked about: systemd
 * sets the same one on every scope. */
static bool is_unlimited(const struct root *root, const struct cgroup *cgroup)
{
    static const struct {
        const char *file;
        const char *unlimited; /* how its text begins then; "": it is empty */
    } files[] = {
        { "memory.max", "max" }, { "memory.high", "max" }, { "memory.swap.max", "max" },
        { "cpu.max", "max" },    { "cpuset.cpus", "" },    { "cpuset.mems", "" },
        { "io.max", "" },
    };
    char text[256];

    for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
        const char *unlimited = files[i].unlimited;
        ssize_t n =
            root_read_start(root, text, sizeof(text), "%s/%s", cgroup->path, files[i].file);

        if (n < 0) /* without its controller there is no limit */
            continue;
        if (*unlimited ? strncmp(text, unlimited, strlen(unlimited)) != 0
                       : text[strspn(text, "\n")] != '\0')
            return false;
    }
    return true;
}

/* All cgroups that the job would leave. The manager of a user is in the user's slice, that of
 * the machine may be anywhere. */
static bool leaves_no_limit(const struct root *root, struct cgroup cgroup, uid_t uid)
{
    char slice[32];

    (void)snprintf(slice, sizeof(slice), "user-%u.slice", (unsigned)uid); /* fits */
    do {
        if (uid != 0 && strcmp(basename(cgroup.path), slice) == 0)
            return true;
        if (!is_unlimited(root, &cgroup))
            return false;
    } while (cgroup_to_parent(&cgroup));
    return uid == 0;
}

static bool machine_counts_memory(const struct root *root, struct cgroup cgroup)
{
    char text[256];

    while (cgroup_to_parent(&cgroup))
        continue;
    return root_read(root, text, sizeof(text), "%s/cgroup.controllers", cgroup.path) >= 0 &&
           parse_has_word(text, "memory");
}

bool job_cgroup_scope_is_fit(const struct root *root, const struct cgroups *cgroups, uid_t uid)
{
    const struct cgroup *cgroup = &cgroups->of[CGROUP_UNIFIED];

    return cgroup_is_visible(cgroup) && cgroups->of[CGROUP_MEMORY].is_v2 &&
           is_in_scope(cgroup) && !root_exists(root, ".dockerenv") &&
           !root_exists(root, "run/.containerenv") && machine_counts_memory(root, *cgroup) &&
           leaves_no_limit(root, *cgroup, uid);
}

/* The kernel wants no process beside cgroups with controllers: so both that are in the scope
 * get a folder in it. What systemd said is not believed: the kernel is asked where they are. */
static int populate_scope(const struct root *root, const char *unit, const char *name,
                          pid_t child, struct job_cgroup_scope *scope)
{
    struct cgroup aside;
    struct cgroups cgroups;
    char text[UNIT_SIZE];
    int r = cgroups_read(root, child, &cgroups);

    if (r < 0)
        return r;
    scope->scope = cgroups.of[CGROUP_UNIFIED];
    if (strcmp(basename(scope->scope.path), unit) != 0)
        return -ENOENT;
    if ((size_t)snprintf(text, sizeof(text), "%s-self", name) >= sizeof(text))
        return -ENAMETOOLONG;
    r = cgroup_make_child(root, &scope->scope, text, scope->keeper.pid, &aside);
    return r < 0 ? r : cgroup_make_child(root, &scope->scope, name, child, &scope->own);
}

static int ask(const struct root *root, int fd, uint64_t deadline_ns, const char *name,
               pid_t child, struct job_cgroup_scope *scope)
{
    char unit[UNIT_SIZE], before[4096], now[4096];
    int r = (int)root_read(root, before, sizeof(before), "proc/%d/cgroup", (int)child);

    if (r < 0)
        return r;
    if ((size_t)snprintf(unit, sizeof(unit), "%s.scope", name) >= sizeof(unit))
        return -ENAMETOOLONG;
    r = systemd_start_scope(fd, deadline_ns, unit, child, scope->keeper.pid);
    if (r == 0)
        return populate_scope(root, unit, name, child, scope) < 0 ? -EINPROGRESS : 0;
    /* A manager that fails may have moved it all the same. */
    if (root_read(root, now, sizeof(now), "proc/%d/cgroup", (int)child) < 0 ||
        strcmp(now, before) != 0)
        return -EINPROGRESS;
    return r;
}

int job_cgroup_scope_open(const struct root *root, const struct cgroups *cgroups,
                          const char *name, pid_t child, struct job_cgroup_scope *ret)
{
    uint64_t deadline_ns = clock_now().monotonic_ns + TIME_NS;
    struct job_cgroup_scope scope = { 0 };
    AUTO_CLOSE int fd = -1;
    char path[64] = "/run/systemd/private";
    uid_t uid = geteuid();
    int r;

    if (!root->is_live || !job_cgroup_scope_is_fit(root, cgroups, uid))
        return -ENOTSUP;
    if (uid != 0) /* fits: a uid has ten digits at most */
        (void)snprintf(path, sizeof(path), "/run/user/%u/systemd/private", (unsigned)uid);
    fd = systemd_connect(path, deadline_ns);
    if (fd < 0)
        return fd;
    r = scope_keeper_start(&scope.keeper);
    if (r == 0)
        r = ask(root, fd, deadline_ns, name, child, &scope);
    if (r < 0)
        scope_keeper_stop(&scope.keeper);
    else
        *ret = scope;
    return r;
}
