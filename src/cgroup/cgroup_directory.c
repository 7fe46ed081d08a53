/* SPDX-License-Identifier: Apache-2.0 */
#include "cgroup/cgroup_directory.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/parse.h"

enum { DEPTH_MAX = 32, MOUNTINFO_SIZE = 1024 * 1024 };

/* ---- processes ---------------------------------------------------------- */

struct walk {
    const struct root *root;
    struct children_buffer *buffer;
    child_found *found;
    void *data;
    int count;
};

/* One process a line; 0 is one that cannot be seen from here. */
static void add_listed(struct walk *walk, const char *text)
{
    uint64_t pid;

    for (; *text; text = parse_next_line(text)) {
        const char *cursor = text;

        if (parse_u64(&cursor, &pid) < 0 || pid == 0 || pid > INT32_MAX)
            continue;
        walk->count++;
        if (walk->found)
            walk->found((pid_t)pid, walk->data);
    }
}

static int read_processes(struct walk *walk, const struct cgroup *cgroup)
{
    struct children_buffer *buffer = walk->buffer;
    ssize_t n = -EFBIG;

    while (n == -EFBIG) {
        if (buffer->size > 0)
            n = root_read(walk->root, buffer->text, buffer->size, "%s/cgroup.procs",
                          cgroup->path);
        if (n == -EFBIG && children_buffer_grow(buffer) < 0)
            return -EFBIG;
    }
    if (n >= 0)
        add_listed(walk, buffer->text);
    return n < 0 ? (int)n : 0;
}

/* A cgroup below may be gone in the meantime: only the first must be there. */
static int walk_tree(struct walk *walk, const struct cgroup *cgroup, int depth)
{
    AUTO_CLOSE int fd = root_open_dir(walk->root, "%s", cgroup->path);
    DIR *directory = fd < 0 ? NULL : fdopendir(fd);
    const struct dirent *entry;
    int r;

    if (!directory)
        return fd < 0 ? fd : -errno;
    (void)take_fd(&fd); /* closed with the directory */
    r = read_processes(walk, cgroup);
    while (depth < DEPTH_MAX && (entry = readdir(directory))) {
        struct cgroup below = *cgroup;

        if (entry->d_type == DT_DIR && cgroup_to_child(&below, entry->d_name) == 0)
            (void)walk_tree(walk, &below, depth + 1);
    }
    closedir(directory);
    return r == -ENODEV ? -ENOENT : r;
}

int cgroup_each_process(const struct root *root, const struct cgroup *cgroup,
                        struct children_buffer *buffer, child_found *found, void *data)
{
    struct walk walk = { root, buffer, found, data, 0 };
    int r = walk_tree(&walk, cgroup, 0);

    return r == -ENOENT ? r : walk.count;
}

bool cgroup_is_populated(const struct root *root, const struct cgroup *cgroup)
{
    struct children_buffer buffer = { 0 };
    char text[256];
    uint64_t populated;
    int count;

    if (cgroup->is_v2 &&
        root_read(root, text, sizeof(text), "%s/cgroup.events", cgroup->path) > 0 &&
        parse_key_u64(text, "populated", &populated) == 0)
        return populated == 1;
    count = cgroup_each_process(root, cgroup, &buffer, NULL, NULL);
    children_buffer_done(&buffer);
    return count > 0;
}

/* ---- the directory ------------------------------------------------------ */

/* Without symbolic links, as those that name two controllers of one hierarchy. */
static char *real_path(const struct root *root, const char *directory)
{
    return root->is_live ? realpath(directory, NULL) : strdup(directory);
}

/* Drops what does not exist or has no process in it; such a cgroup counts nothing. */
static void drop_unpopulated(const struct root *root, const struct cgroup *own,
                             struct cgroups *cgroups)
{
    for (int i = 0; i < CGROUP_CONTROLLER_COUNT; i++) {
        struct cgroup *cgroup = &cgroups->of[i];

        if (cgroup_is_visible(cgroup) && strcmp(cgroup->path, own->path) != 0 &&
            !cgroup_is_populated(root, cgroup))
            *cgroup = (struct cgroup){ 0 };
    }
    for (int i = CGROUP_UNIFIED + 1; i < CGROUP_CONTROLLER_COUNT; i++) {
        if (!cgroup_is_visible(&cgroups->of[i]))
            cgroups->of[i] = cgroups->of[CGROUP_UNIFIED];
    }
}

static int find(const struct root *root, const char *directory, struct cgroup *ret_own,
                struct cgroups *ret)
{
    AUTO_FREE char *mountinfo = malloc(MOUNTINFO_SIZE);
    AUTO_FREE char *path = real_path(root, directory);
    struct cgroups cgroups;
    struct cgroup own;
    ssize_t n;
    int r;

    if (!path)
        return -errno;
    if (!mountinfo)
        return -ENOMEM;
    n = root_read_start(root, mountinfo, MOUNTINFO_SIZE, "proc/self/mountinfo");
    if (n < 0)
        return (int)n;
    r = cgroups_parse_directory(path, mountinfo, &own, &cgroups);
    if (r < 0)
        return r;
    if (!root_exists(root, "%s/cgroup.procs", own.path))
        return root_exists(root, "%s", own.path) ? -EINVAL : -ENOENT;
    if (!cgroup_is_populated(root, &own))
        return -ESRCH;
    drop_unpopulated(root, &own, &cgroups);
    *ret_own = own;
    *ret = cgroups;
    return 0;
}

int cgroup_directory_find(const struct root *root, const char *directory,
                          struct cgroup *ret_own, struct cgroups *ret, struct spoor_error *err)
{
    int r = find(root, directory, ret_own, ret);

    switch (r) {
    case 0:
        return 0;
    case -ENOENT:
    case -ENOTDIR:
        return error_set(err, ENOENT, "no such cgroup: '%s'", directory);
    case -EINVAL:
        return error_set(err, EINVAL,
                         "'%s' is not a cgroup: name a directory below /sys/fs/cgroup",
                         directory);
    case -ESRCH:
        return error_set(err, ESRCH, "there is no process in cgroup '%s'", directory);
    default:
        return error_sys(err, r, "cgroup '%s'", directory);
    }
}
