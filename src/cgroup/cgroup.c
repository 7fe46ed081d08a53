/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cgroup.c - find the cgroups of a process.
 *
 * /proc/PID/cgroup has a line for each tree, "4:memory:/a/b" or, for version 2,
 * "0::/a/b". The path starts at the top of the tree or, in a cgroup namespace, at
 * the cgroup that is the namespace's root: "/../x" is outside of it.
 *
 * mountinfo says where a tree is mounted and, as the mount's root, which cgroup of
 * it is seen there. A container of Docker on version 1 has the path "/docker/ID"
 * and a mount whose root is "/docker/ID": its cgroup is the mount point itself.
 */
#include "cgroup/cgroup.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/parse.h"
#include "source/host/mountinfo.h"

/* As version 1 writes them. */
static const char *const names[CGROUP_CONTROLLER_COUNT] = {
    [CGROUP_MEMORY] = "memory", [CGROUP_CPU] = "cpu",   [CGROUP_CPUACCT] = "cpuacct",
    [CGROUP_CPUSET] = "cpuset", [CGROUP_PIDS] = "pids",
};

struct membership {
    struct text_part controllers; /* "cpu,cpuacct"; empty for version 2 */
    struct text_part path;
};

static int parse_membership(const char *line, struct membership *ret)
{
    const char *end = strchr(line, '\n');
    const char *first, *second;

    if (!end)
        return -EBADMSG;
    first = memchr(line, ':', (size_t)(end - line));
    second = first ? memchr(first + 1, ':', (size_t)(end - first - 1)) : NULL;
    if (!second || second[1] != '/')
        return -EBADMSG;
    ret->controllers = (struct text_part){ first + 1, (size_t)(second - first - 1) };
    ret->path = (struct text_part){ second + 1, (size_t)(end - second - 1) };
    return 0;
}

int cgroup_find_path(const char *cgroup_text, enum cgroup_controller controller,
                     struct text_part *ret)
{
    struct membership line;

    for (; *cgroup_text; cgroup_text = parse_next_line(cgroup_text)) {
        if (parse_membership(cgroup_text, &line) < 0)
            continue;
        if (controller == CGROUP_UNIFIED
                ? line.controllers.length == 0
                : text_part_has_option(line.controllers, names[controller])) {
            *ret = line.path;
            return 0;
        }
    }
    return -ENOENT;
}

static bool is_mount_of(const struct mountinfo *mount, enum cgroup_controller controller)
{
    if (controller == CGROUP_UNIFIED)
        return text_part_is(mount->type, "cgroup2");
    return text_part_is(mount->type, "cgroup") &&
           text_part_has_option(mount->super_options, names[controller]);
}

/* Would the path lead out of the tree it starts in? */
static bool leads_up(struct text_part path)
{
    for (size_t i = 0; i + 3 <= path.length; i++) {
        if (memcmp(path.start + i, "/..", 3) == 0 &&
            (i + 3 == path.length || path.start[i + 3] == '/'))
            return true;
    }
    return false;
}

/* What remains of a path below the folder that is mounted. */
static int path_below(struct text_part path, const char *mount_root, struct text_part *ret)
{
    size_t length = strlen(mount_root);

    /* "/" is above all; every other root has no slash at its end. */
    if (length == 1)
        length = 0;
    if (path.length < length || memcmp(path.start, mount_root, length) != 0)
        return -ENOENT;
    path.start += length;
    path.length -= length;
    if (path.length > 0 && path.start[0] != '/')
        return -ENOENT;
    if (path.length == 1)
        path.length = 0;
    if (leads_up(path))
        return -ENOENT;
    *ret = path;
    return 0;
}

/* A mount on "/" itself would hide the machine; there is none. The path without its first slash is
 * relative. */
static bool decode(const struct mountinfo *mount, char mount_root[CGROUP_PATH_SIZE],
                   char point[CGROUP_PATH_SIZE])
{
    return text_part_decode(mount->root, mount_root, CGROUP_PATH_SIZE) >= 0 &&
           text_part_decode(mount->point, point, CGROUP_PATH_SIZE) >= 0 &&
           mount_root[0] == '/' && point[0] == '/' && point[1] != '\0' && point[1] != '/';
}

static int place(const struct mountinfo *mount, struct text_part path, struct cgroup *ret)
{
    char mount_root[CGROUP_PATH_SIZE], point[CGROUP_PATH_SIZE];
    struct text_part below;
    size_t length;

    if (!decode(mount, mount_root, point))
        return -ENOENT;
    length = strlen(point + 1);
    if (path_below(path, mount_root, &below) < 0 || length + below.length >= CGROUP_PATH_SIZE)
        return -ENOENT;
    memcpy(ret->path, point + 1, length);
    memcpy(ret->path + length, below.start, below.length);
    ret->path[length + below.length] = '\0';
    ret->mount_length = length;
    return 0;
}

/* A tree may be mounted more than once: the mount that shows the most of it above
 * the cgroup is taken. */
static void find_mount(const char *mountinfo_text, enum cgroup_controller controller,
                       struct text_part path, struct cgroup *ret)
{
    struct mountinfo mount;
    size_t best = 0;

    for (; *mountinfo_text; mountinfo_text = parse_next_line(mountinfo_text)) {
        struct cgroup found = { .is_v2 = controller == CGROUP_UNIFIED };
        size_t visible;

        if (mountinfo_parse_line(mountinfo_text, &mount) < 0 ||
            !is_mount_of(&mount, controller) || place(&mount, path, &found) < 0)
            continue;
        visible = strlen(found.path) - found.mount_length;
        if (cgroup_is_visible(ret) && visible <= best)
            continue;
        best = visible;
        *ret = found;
    }
}

int cgroups_parse(const char *cgroup_text, const char *mountinfo_text, struct cgroups *ret)
{
    struct cgroup found[CGROUP_CONTROLLER_COUNT] = { 0 };
    bool is_any_visible = false;
    struct text_part path;

    if (cgroup_find_path(cgroup_text, CGROUP_UNIFIED, &path) == 0)
        find_mount(mountinfo_text, CGROUP_UNIFIED, path, &found[CGROUP_UNIFIED]);
    for (int i = CGROUP_UNIFIED + 1; i < CGROUP_CONTROLLER_COUNT; i++) {
        if (cgroup_find_path(cgroup_text, (enum cgroup_controller)i, &path) == 0)
            find_mount(mountinfo_text, (enum cgroup_controller)i, path, &found[i]);
        else
            found[i] = found[CGROUP_UNIFIED];
    }
    for (int i = 0; i < CGROUP_CONTROLLER_COUNT; i++)
        is_any_visible = is_any_visible || cgroup_is_visible(&found[i]);
    if (!is_any_visible)
        return -ENOENT;
    memcpy(ret->of, found, sizeof(found));
    return 0;
}

/* If the directory is below this mount of a cgroup hierarchy: its path within the hierarchy. */
static int path_in_hierarchy(const struct mountinfo *mount, const char *directory,
                             struct cgroup *ret, char path[CGROUP_PATH_SIZE])
{
    char mount_root[CGROUP_PATH_SIZE], point[CGROUP_PATH_SIZE];
    struct text_part whole = { directory, strlen(directory) }, below;
    struct cgroup found = { .is_v2 = text_part_is(mount->type, "cgroup2") };
    int length;

    if ((!found.is_v2 && !text_part_is(mount->type, "cgroup")) ||
        !decode(mount, mount_root, point) || path_below(whole, point, &below) < 0)
        return -ENOENT;
    length = snprintf(path, CGROUP_PATH_SIZE, "%s%.*s", mount_root[1] ? mount_root : "",
                      (int)below.length, below.start);
    if (length < 0 || length >= CGROUP_PATH_SIZE || whole.length > CGROUP_PATH_SIZE)
        return -ENOENT;
    found.mount_length = strlen(point) - 1;
    memcpy(found.path, directory + 1, whole.length);
    *ret = found;
    return 0;
}

int cgroups_parse_directory(const char *directory, const char *mountinfo_text,
                            struct cgroup *ret_own, struct cgroups *ret)
{
    struct cgroup found[CGROUP_CONTROLLER_COUNT] = { 0 };
    char path[CGROUP_PATH_SIZE] = "", candidate[CGROUP_PATH_SIZE];
    struct cgroup own = { 0 };
    struct mountinfo mount;

    for (const char *line = mountinfo_text; *line; line = parse_next_line(line)) {
        struct cgroup next;

        /* The longest mount point is the one that is seen; of equal ones, the last. */
        if (mountinfo_parse_line(line, &mount) == 0 &&
            path_in_hierarchy(&mount, directory, &next, candidate) == 0 &&
            (!cgroup_is_visible(&own) || next.mount_length >= own.mount_length)) {
            own = next;
            memcpy(path, candidate, sizeof(path));
        }
    }
    if (!cgroup_is_visible(&own))
        return -EINVAL;
    if (path[0] == '\0')
        path[0] = '/';
    for (int i = 0; i < CGROUP_CONTROLLER_COUNT; i++)
        find_mount(mountinfo_text, (enum cgroup_controller)i,
                   (struct text_part){ path, strlen(path) }, &found[i]);
    *ret_own = own;
    memcpy(ret->of, found, sizeof(found));
    return 0;
}

int cgroups_read(const struct root *root, pid_t pid, struct cgroups *ret)
{
    /* Mounts of containers have lines of 4 KiB: room for some hundreds of them. */
    enum { CGROUP_TEXT_SIZE = 32 * 1024, MOUNTINFO_TEXT_SIZE = 1024 * 1024 };
    AUTO_FREE char *text = malloc(CGROUP_TEXT_SIZE + MOUNTINFO_TEXT_SIZE);
    char *mountinfo;
    ssize_t n;

    if (!text)
        return -ENOMEM;
    n = root_read_start(root, text, CGROUP_TEXT_SIZE, "proc/%d/cgroup", (int)pid);
    if (n < 0)
        return (int)n;
    mountinfo = text + CGROUP_TEXT_SIZE;
    n = root_read_start(root, mountinfo, MOUNTINFO_TEXT_SIZE, "proc/self/mountinfo");
    if (n < 0)
        return (int)n;
    return cgroups_parse(text, mountinfo, ret);
}

bool cgroup_to_parent(struct cgroup *cgroup)
{
    char *slash;

    if (strlen(cgroup->path) <= cgroup->mount_length)
        return false;
    slash = strrchr(cgroup->path + cgroup->mount_length, '/');
    if (!slash)
        return false;
    *slash = '\0';
    return true;
}

int cgroup_to_child(struct cgroup *cgroup, const char *name)
{
    size_t used = strlen(cgroup->path);
    size_t length = strlen(name);

    if (used == 0 || length == 0 || strchr(name, '/') || strcmp(name, ".") == 0 ||
        strcmp(name, "..") == 0)
        return -EINVAL;
    if (used + 1 + length >= sizeof(cgroup->path))
        return -ENAMETOOLONG;
    cgroup->path[used] = '/';
    memcpy(cgroup->path + used + 1, name, length + 1);
    return 0;
}
