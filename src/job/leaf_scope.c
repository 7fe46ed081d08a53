/* SPDX-License-Identifier: Apache-2.0 */
#include "job/leaf_scope.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "source/cgroup/cgroup_folder.h"
#include "source/cgroup/systemd_address.h"
#include "source/cgroup/systemd_scope.h"

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
    char *saved = text;
    const char *word;

    while (cgroup_to_parent(&cgroup))
        continue;
    if (root_read(root, text, sizeof(text), "%s/cgroup.controllers", cgroup.path) < 0)
        return false;
    while ((word = strsep(&saved, " \n"))) {
        if (strcmp(word, "memory") == 0)
            return true;
    }
    return false;
}

bool leaf_scope_is_fit(const struct root *root, const struct cgroups *cgroups, uid_t uid)
{
    const struct cgroup *cgroup = &cgroups->of[CGROUP_UNIFIED];

    return cgroup_is_visible(cgroup) && cgroups->of[CGROUP_MEMORY].is_v2 &&
           is_in_scope(cgroup) && !root_exists(root, ".dockerenv") &&
           !root_exists(root, "run/.containerenv") && machine_counts_memory(root, *cgroup) &&
           leaves_no_limit(root, *cgroup, uid);
}

static int make_and_move(const struct root *root, const struct cgroup *scope, const char *name,
                         pid_t pid, struct cgroup *ret)
{
    struct cgroup cgroup = *scope;
    int r = cgroup_to_child(&cgroup, name);

    if (r == 0)
        r = cgroup_make(root, &cgroup);
    if (r == 0)
        r = cgroup_move(root, &cgroup, pid);
    if (r == 0)
        *ret = cgroup;
    return r;
}

/* The kernel wants no process beside cgroups with controllers: so both that are in the scope
 * get a folder in it. What systemd said is not believed: the kernel is asked where they are. */
static int furnish(const struct root *root, const char *unit, const char *name, pid_t child,
                   struct leaf_scope *scope)
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
    r = make_and_move(root, &scope->scope, text, scope->keeper.pid, &aside);
    return r < 0 ? r : make_and_move(root, &scope->scope, name, child, &scope->own);
}

static bool is_where_it_was(const struct root *root, pid_t child, const struct cgroups *before)
{
    struct cgroups now;

    return cgroups_read(root, child, &now) == 0 &&
           strcmp(now.of[CGROUP_UNIFIED].path, before->of[CGROUP_UNIFIED].path) == 0;
}

static int ask(const struct root *root, struct systemd_connection *connection, const char *name,
               pid_t child, struct leaf_scope *scope)
{
    const pid_t pids[] = { child, scope->keeper.pid };
    char unit[UNIT_SIZE];
    const struct systemd_scope request = {
        .name = unit,
        .description = "A job measured by spoor",
        .pids = pids,
        .pids_count = ARRAY_SIZE(pids),
    };
    struct cgroups before;
    int r = cgroups_read(root, child, &before);

    if (r < 0)
        return r;
    if ((size_t)snprintf(unit, sizeof(unit), "%s.scope", name) >= sizeof(unit))
        return -ENAMETOOLONG;
    r = systemd_start_scope(connection, &request);
    if (r == 0)
        return furnish(root, unit, name, child, scope) < 0 ? -EINPROGRESS : 0;
    return is_where_it_was(root, child, &before) ? r : -EINPROGRESS;
}

static int try_address(const struct root *root, const struct systemd_address *address,
                       uint64_t deadline_ns, const char *name, pid_t child,
                       struct leaf_scope *ret)
{
    struct leaf_scope scope = { 0 };
    struct systemd_connection connection;
    int r = systemd_connect(address, deadline_ns, &connection);

    if (r < 0)
        return r;
    r = scope_keeper_start(&scope.keeper);
    if (r == 0)
        r = ask(root, &connection, name, child, &scope);
    systemd_disconnect(&connection);
    if (r < 0)
        scope_keeper_stop(&scope.keeper);
    else
        *ret = scope;
    return r;
}

int leaf_scope_open(const struct root *root, const struct cgroups *cgroups, const char *name,
                    pid_t child, environment_get *environment, struct leaf_scope *ret)
{
    struct systemd_address addresses[SYSTEMD_ADDRESSES_MAX];
    uint64_t deadline_ns = clock_now().monotonic_ns + TIME_NS;
    size_t count;
    int r = -ENOTSUP;

    if (!root->is_live || !leaf_scope_is_fit(root, cgroups, geteuid()))
        return -ENOTSUP;
    count = systemd_addresses(geteuid(), environment, addresses);
    for (size_t i = 0; i < count && r < 0 && r != -EINPROGRESS; i++)
        r = try_address(root, &addresses[i], deadline_ns, name, child, ret);
    return r;
}
