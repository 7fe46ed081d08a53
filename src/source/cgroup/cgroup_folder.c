/* SPDX-License-Identifier: Apache-2.0 */
#include "source/cgroup/cgroup_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/parse.h"

static int check(const struct root *root, const struct cgroup *cgroup)
{
    if (!root->is_live)
        return -ENOTSUP;
    return cgroup_is_visible(cgroup) ? 0 : -ENOENT;
}

int cgroup_make(const struct root *root, const struct cgroup *cgroup)
{
    int r = check(root, cgroup);

    if (r < 0)
        return r;
    return mkdirat(root->fd, cgroup->path, 0755) < 0 ? -errno : 0;
}

int cgroup_remove(const struct root *root, const struct cgroup *cgroup)
{
    int r = check(root, cgroup);

    if (r < 0)
        return r;
    return unlinkat(root->fd, cgroup->path, AT_REMOVEDIR) < 0 ? -errno : 0;
}

static int write_file(const struct root *root, const struct cgroup *cgroup, const char *file,
                      const char *text)
{
    AUTO_CLOSE int fd = -1;
    char path[PATH_MAX];
    int length = snprintf(path, sizeof(path), "%s/%s", cgroup->path, file);
    int r = check(root, cgroup);

    if (r < 0)
        return r;
    if (length < 0 || (size_t)length >= sizeof(path))
        return -ENAMETOOLONG;
    fd = openat(root->fd, path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    return write(fd, text, strlen(text)) < 0 ? -errno : 0;
}

int cgroup_move(const struct root *root, const struct cgroup *cgroup, pid_t pid)
{
    char text[16];

    (void)snprintf(text, sizeof(text), "%d", (int)pid); /* fits any pid */
    return write_file(root, cgroup, "cgroup.procs", text);
}

static int set_controller(const struct root *root, const struct cgroup *cgroup, char sign,
                          const char *controller)
{
    char text[64];

    (void)snprintf(text, sizeof(text), "%c%s", sign, controller); /* names of ours: they fit */
    return write_file(root, cgroup, "cgroup.subtree_control", text);
}

int cgroup_enable(const struct root *root, const struct cgroup *cgroup, const char *controller)
{
    return set_controller(root, cgroup, '+', controller);
}

int cgroup_disable(const struct root *root, const struct cgroup *cgroup, const char *controller)
{
    return set_controller(root, cgroup, '-', controller);
}

/* Reads up to a page of cgroup.procs; more are read when these have been moved. */
static ssize_t read_procs(const struct root *root, const struct cgroup *cgroup, char *text,
                          size_t size)
{
    return root_read_start(root, text, size, "%s/cgroup.procs", cgroup->path);
}

int cgroup_move_all(const struct root *root, const struct cgroup *from, const struct cgroup *to)
{
    enum { ROUNDS = 100 }; /* a process may fork faster than we move; then we give up */
    char text[4096];

    for (int round = 0; round < ROUNDS; round++) {
        ssize_t n = read_procs(root, from, text, sizeof(text));
        const char *cursor = text;
        uint64_t pid;

        if (n <= 0)
            return (int)n;
        for (; parse_u64(&cursor, &pid) == 0 && *cursor == '\n'; cursor++)
            (void)cgroup_move(root, to, (pid_t)pid); /* it may have ended meanwhile */
    }
    return -EBUSY;
}

bool cgroup_holds_only(const struct root *root, const struct cgroup *cgroup, pid_t a, pid_t b)
{
    char text[256];
    const char *cursor = text;
    uint64_t pid;

    if (check(root, cgroup) < 0 || read_procs(root, cgroup, text, sizeof(text)) <= 0)
        return false;
    for (; *cursor; cursor++) {
        if (parse_u64(&cursor, &pid) < 0 || *cursor != '\n' ||
            ((pid_t)pid != a && (pid_t)pid != b))
            return false;
    }
    return true;
}

/* A tracker of another pid namespace may have the number of nobody here: so only what is
 * older than a minute is taken for abandoned, and only an empty one can be removed. */
static bool is_abandoned(int folder, const char *name)
{
    enum { SECONDS = 60 };
    static const char prefix[] = "spoor-";
    const char *cursor = name + sizeof(prefix) - 1;
    struct stat stat;
    uint64_t pid;

    if (strncmp(name, prefix, sizeof(prefix) - 1) != 0 || parse_u64(&cursor, &pid) < 0 ||
        *cursor != '-' || pid == 0 || pid > INT32_MAX)
        return false;
    if (kill((pid_t)pid, 0) == 0 || errno != ESRCH)
        return false;
    return fstatat(folder, name, &stat, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(stat.st_mode) &&
           time(NULL) - stat.st_ctime > SECONDS;
}

void cgroup_remove_abandoned(const struct root *root, const struct cgroup *parent)
{
    AUTO_CLOSE int fd = check(root, parent) < 0 ? -1 : root_open_dir(root, "%s", parent->path);
    const struct dirent *entry;
    DIR *folder;

    if (fd < 0)
        return;
    folder = fdopendir(fd);
    if (!folder)
        return;
    while ((entry = readdir(folder))) {
        if (is_abandoned(fd, entry->d_name))
            (void)unlinkat(fd, entry->d_name, AT_REMOVEDIR); /* in use: next time */
    }
    closedir(folder);
    fd = -1; /* closed with the folder */
}
