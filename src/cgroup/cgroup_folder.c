/* SPDX-License-Identifier: Apache-2.0 */
#include "cgroup/cgroup_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
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

    return r == 0 && mkdirat(root->fd, cgroup->path, 0755) < 0 ? -errno : r;
}

int cgroup_remove(const struct root *root, const struct cgroup *cgroup)
{
    int r = check(root, cgroup);

    return r == 0 && unlinkat(root->fd, cgroup->path, AT_REMOVEDIR) < 0 ? -errno : r;
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

    (void)snprintf(text, sizeof(text), "%d", (int)pid); /* fits any PID */
    return write_file(root, cgroup, "cgroup.procs", text);
}

int cgroup_make_child(const struct root *root, const struct cgroup *parent, const char *name,
                      pid_t pid, struct cgroup *ret)
{
    struct cgroup child = *parent;
    int r = cgroup_to_child(&child, name);

    if (r == 0)
        r = cgroup_make(root, &child);
    if (r < 0)
        return r;
    r = cgroup_move(root, &child, pid);
    if (r < 0)
        (void)cgroup_remove(root, &child); /* empty: just created */
    else
        *ret = child;
    return r;
}

static int set_controller(const struct root *root, const struct cgroup *cgroup, char sign,
                          const char *controller)
{
    char text[64];

    /* Our names are short enough. */
    (void)snprintf(text, sizeof(text), "%c%s", sign, controller);
    return write_file(root, cgroup, "cgroup.subtree_control", text);
}

unsigned cgroup_enable(const struct root *root, const struct cgroup *cgroup,
                       const char *const *controllers)
{
    char text[256] = "";
    unsigned enabled = 0;

    (void)root_read(root, text, sizeof(text), "%s/cgroup.subtree_control", cgroup->path);
    for (unsigned i = 0; controllers[i]; i++) {
        if (!parse_has_word(text, controllers[i]) &&
            set_controller(root, cgroup, '+', controllers[i]) == 0)
            enabled |= 1u << i;
    }
    return enabled;
}

void cgroup_disable(const struct root *root, const struct cgroup *cgroup,
                    const char *const *controllers, unsigned enabled)
{
    for (unsigned i = 0; controllers[i]; i++) {
        if (enabled & 1u << i)
            /* Fails if the controller is in use, and then leaves it enabled. */
            (void)set_controller(root, cgroup, '-', controllers[i]);
    }
}

/* Reads up to a page of cgroup.procs; the rest is read after these have been moved. */
static ssize_t read_procs(const struct root *root, const struct cgroup *cgroup, char *text,
                          size_t size)
{
    return root_read_start(root, text, size, "%s/cgroup.procs", cgroup->path);
}

/* Moves the processes of a list to `to`. Returns 0 if at least one of them was moved or has
 * exited, else the last error. */
static int move_listed(const struct root *root, const char *list, const struct cgroup *to)
{
    bool has_progress = false;
    int error = -EBADMSG;
    uint64_t pid;

    for (; parse_u64(&list, &pid) == 0 && *list == '\n'; list++) {
        int r = cgroup_move(root, to, (pid_t)pid);

        if (r == 0 || r == -ESRCH)
            has_progress = true;
        else
            error = r;
    }
    return has_progress ? 0 : error;
}

int cgroup_move_all(const struct root *root, const struct cgroup *from, const struct cgroup *to)
{
    /* Processes may fork faster than they can be moved: give up in that case. An exiting
     * process stays even if the kernel reports success: wait for it, at most 1 s. */
    enum { ROUNDS = 100 };
    static const struct timespec pause = { .tv_nsec = 10000000 };
    char text[4096], before[4096] = "";

    for (int round = 0; round < ROUNDS; round++) {
        ssize_t n = read_procs(root, from, text, sizeof(text));
        int r = n > 0 ? move_listed(root, text, to) : (int)n;

        if (n <= 0 || r < 0)
            return r;
        if (strcmp(text, before) == 0)
            (void)nanosleep(&pause, NULL);
        memcpy(before, text, (size_t)n + 1);
    }
    return -EBUSY;
}

bool cgroup_holds_only(const struct root *root, const struct cgroup *cgroup, pid_t pid)
{
    char text[64], expected[16];

    (void)snprintf(expected, sizeof(expected), "%d\n", (int)pid); /* fits any PID */
    return check(root, cgroup) == 0 && read_procs(root, cgroup, text, sizeof(text)) > 0 &&
           strcmp(text, expected) == 0;
}

/* Whether the name is "spoor-PID-..." and no such process exists. */
static bool names_dead_tracker(const char *name)
{
    static const char prefix[] = "spoor-";
    const char *cursor = name + sizeof(prefix) - 1;
    uint64_t pid;

    return begins_with(name, prefix) && parse_u64(&cursor, &pid) == 0 && *cursor == '-' &&
           pid != 0 && pid <= INT32_MAX && kill((pid_t)pid, 0) < 0 && errno == ESRCH;
}

/* Whether a folder was left behind by a killed tracker. The PID of a tracker in another PID
 * namespace may be unused here, so only a folder older than a minute counts as abandoned, and
 * only an empty one is removed. */
static bool is_abandoned(int folder, const char *name)
{
    enum { SECONDS = 60 };
    struct stat stat;

    return names_dead_tracker(name) && fstatat(folder, name, &stat, AT_SYMLINK_NOFOLLOW) == 0 &&
           S_ISDIR(stat.st_mode) && time(NULL) - stat.st_ctime > SECONDS;
}

static DIR *open_folder(const struct root *root, const struct cgroup *cgroup)
{
    return check(root, cgroup) < 0 ? NULL : root_open_folder(root, "%s", cgroup->path);
}

static const char *next_below(DIR *folder)
{
    const struct dirent *entry;

    while ((entry = readdir(folder))) {
        if (entry->d_type == DT_DIR && strcmp(entry->d_name, ".") != 0 &&
            strcmp(entry->d_name, "..") != 0)
            return entry->d_name;
    }
    return NULL;
}

bool cgroup_is_alone(const struct root *root, const struct cgroup *parent, const char *name)
{
    AUTO_CLOSEDIR DIR *folder = open_folder(root, parent);
    const char *other = NULL;

    if (!folder)
        return false;
    do {
        other = next_below(folder);
    } while (other && begins_with(other, name));
    return !other;
}

static int remove_tree(const struct root *root, const struct cgroup *cgroup,
                       const struct cgroup *to, int depth)
{
    enum { DEPTH_MAX = 32 };
    int r = cgroup_remove(root, cgroup);
    AUTO_CLOSEDIR DIR *folder = NULL;
    const char *name;

    if (r != -EBUSY && r != -ENOTEMPTY) /* most cgroups have no cgroups below */
        return r;
    folder = depth < DEPTH_MAX ? open_folder(root, cgroup) : NULL;
    while (folder && (name = next_below(folder))) {
        struct cgroup below = *cgroup;

        if (cgroup_to_child(&below, name) < 0)
            continue; /* a cgroup with a path this long is not removed */
        if (to && names_dead_tracker(name))
            (void)cgroup_move_all(root, &below, to);
        /* On failure, removing `cgroup` fails too. */
        (void)remove_tree(root, &below, to, depth + 1);
    }
    return cgroup_remove(root, cgroup);
}

int cgroup_remove_tree(const struct root *root, const struct cgroup *cgroup,
                       const struct cgroup *to)
{
    int r = remove_tree(root, cgroup, to, 0);
    int moved;

    if (r != -EBUSY || !to)
        return r;
    moved = cgroup_move_all(root, cgroup, to);
    return moved < 0 ? moved : cgroup_remove(root, cgroup);
}

void cgroup_remove_abandoned(const struct root *root, const struct cgroup *parent)
{
    AUTO_CLOSEDIR DIR *folder = open_folder(root, parent);
    const char *name;

    while (folder && (name = next_below(folder))) {
        struct cgroup abandoned = *parent;

        if (is_abandoned(dirfd(folder), name) && cgroup_to_child(&abandoned, name) == 0)
            /* A later call removes cgroups that are still in use. */
            (void)cgroup_remove_tree(root, &abandoned, NULL);
    }
}
