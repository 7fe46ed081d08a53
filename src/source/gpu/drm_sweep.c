/* SPDX-License-Identifier: Apache-2.0 */
#include "source/gpu/drm_sweep.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/parse.h"
#include "base/reserve.h"
#include "base/unknown.h"
#include "source/proc/pid_files.h"

enum { LINK_SIZE = 64 }; /* longer names are not of devices */

static const char other_users[] = "cannot read the open files of another user's process";

/* The process has ended, or has closed the file. */
static bool is_gone(int error)
{
    return error == -ENOENT || error == -ESRCH;
}

static bool is_refusal(ssize_t error)
{
    return error == -EACCES || error == -EPERM;
}

int drm_sweep_init(struct drm_sweep *sweep, const struct root *root,
                   const struct drm_devices *devices, bool hides_idle)
{
    sweep->root = root;
    sweep->devices = devices;
    sweep->pid = sweep->spare = NULL;
    sweep->pid_count = sweep->pid_capacity = 0;
    sweep->quick_count = 0;
    return drm_clients_init(&sweep->clients, devices->count, hides_idle);
}

void drm_sweep_done(struct drm_sweep *sweep)
{
    drm_clients_done(&sweep->clients);
    free(sweep->pid);
    free(sweep->spare);
    sweep->pid = sweep->spare = NULL;
    sweep->pid_count = sweep->pid_capacity = 0;
}

/* Both lists of processes have room for `count`. */
static int reserve_both(struct drm_sweep *sweep, size_t count)
{
    size_t capacity = sweep->pid_capacity;
    int r = reserve(&sweep->spare, &capacity, count, sizeof(*sweep->spare));

    return r < 0 ? r : reserve(&sweep->pid, &sweep->pid_capacity, count, sizeof(*sweep->pid));
}

/* Takes over the processes asked for; what is known of one stays with it. */
static int take_pids(struct drm_sweep *sweep, const struct gpu_pids *pids)
{
    size_t count = pids->count < DRM_SWEEP_PID_MAX ? pids->count : DRM_SWEEP_PID_MAX;
    struct drm_sweep_pid *old;
    size_t at = 0;
    int r = reserve_both(sweep, count);

    if (r < 0)
        return r;
    for (size_t i = 0; i < count; i++) {
        while (at < sweep->pid_count && sweep->pid[at].pid < pids->list[i])
            at++;
        if (at < sweep->pid_count && sweep->pid[at].pid == pids->list[i])
            sweep->spare[i] = sweep->pid[at];
        else
            sweep->spare[i] =
                (struct drm_sweep_pid){ .pid = pids->list[i], .open_files = UNKNOWN };
        sweep->spare[i].must_list = false;
    }
    old = sweep->pid;
    sweep->pid = sweep->spare;
    sweep->spare = old;
    sweep->pid_count = count;
    return 0;
}

static int compare_pid(const void *key, const void *entry)
{
    pid_t pid = *(const pid_t *)key, other = ((const struct drm_sweep_pid *)entry)->pid;

    return pid < other ? -1 : pid > other;
}

/* Reads what a descriptor's client uses. Returns the index of its device, or -errno; -EBADMSG: it
 * is there, and tells nothing of a client. */
static int read_fdinfo(struct drm_sweep *sweep, pid_t pid, int fd, struct drm_fdinfo *ret)
{
    struct drm_fdinfo info;
    int r = (int)root_read(sweep->root, sweep->text, sizeof(sweep->text), "proc/%d/fdinfo/%d",
                           (int)pid, fd);

    if (is_gone(r))
        return r;
    if (r < 0 || drm_fdinfo_parse(sweep->text, &info) < 0 || !is_known(info.pci))
        return -EBADMSG;
    r = drm_devices_at(sweep->devices, info.pci);
    if (r >= 0)
        *ret = info;
    return r;
}

/* The node of "/dev/dri/renderD128", wherever that folder is mounted; NULL: it is none. */
static const char *drm_node(const char *link)
{
    static const char *const names[] = { "card0", "renderD128" }; /* up to the number */
    const char *folder = strstr(link, "/dri/");

    for (size_t i = 0; folder && i < ARRAY_SIZE(names); i++) {
        size_t length = strcspn(names[i], "0123456789");
        const char *name = folder + strlen("/dri/");

        if (strncmp(name, names[i], length) == 0 && name[length] >= '0' && name[length] <= '9')
            return name;
    }
    return NULL;
}

/* Drivers before the keys of drm-usage-stats (i915 before 5.19, radeon): which device it is, its
 * node says. The number may be that of another file by now, of which fdinfo spoke. */
static int look_at_unreported(struct drm_sweep *sweep, struct drm_sweep_pid *entry, int fd,
                              const char *seen)
{
    int device = drm_devices_of_node(sweep->root, sweep->devices, drm_node(seen));
    char link[LINK_SIZE];

    if (device < 0 ||
        root_read_link(sweep->root, link, sizeof(link), "proc/%d/fd/%d", (int)entry->pid, fd) <
            0 ||
        strcmp(link, seen) != 0)
        return 0;
    entry->holds_unreported = true;
    return drm_clients_see_unreported(&sweep->clients, (unsigned)device, entry->pid);
}

static int look_at_fd(struct drm_sweep *sweep, struct drm_sweep_pid *entry, int fd)
{
    struct drm_fdinfo info;
    char link[LINK_SIZE];
    ssize_t n =
        root_read_link(sweep->root, link, sizeof(link), "proc/%d/fd/%d", (int)entry->pid, fd);
    int device;

    if (is_refusal(n))
        entry->refused = other_users;
    if (n < 0)
        return 0;
    if (strcmp(link, "/dev/kfd") == 0)
        entry->holds_kfd = true;
    if (!drm_node(link))
        return 0;
    device = read_fdinfo(sweep, entry->pid, fd, &info);
    if (device == -EBADMSG)
        return look_at_unreported(sweep, entry, fd, link);
    if (device < 0)
        return 0; /* closed meanwhile, or of another vendor */
    return drm_clients_see(&sweep->clients, (unsigned)device, entry->pid, fd, &info);
}

/* Why the open files of a process do not show, for `error` or as none are listed (0): static text;
 * NULL: it has none. A process that has ended belongs to root until it is waited for, as it has no
 * memory that says whose it is; that it is refused then says nothing. */
static const char *refused_because(const struct drm_sweep *sweep, pid_t pid, int error)
{
    struct cached_file file = CACHED_FILE_CLOSED;
    struct pid_stat stat;
    int r;

    if (is_gone(error))
        return NULL;
    r = pid_stat_read(&file, sweep->root, pid, &stat);
    cached_file_close(&file);
    if (is_gone(r))
        return NULL; /* waited for meanwhile */
    if (r == 0 && stat.is_ending)
        return stat.threads > 1 ? "the main thread of a process has exited, so its open files "
                                  "are no longer visible"
                                : NULL;
    if (error == 0)
        return NULL;
    return is_refusal(error) ? other_users : "cannot read the open files of a process";
}

/* Looks at every descriptor of an open /proc/PID/fd, with a buffer of its own, since opendir()
 * allocates. Returns how many there are, or -errno. */
static int look_at_fds(struct drm_sweep *sweep, struct drm_sweep_pid *entry, int folder)
{
    _Alignas(struct dirent64) char entries[4096];
    size_t count = 0;
    ssize_t n;

    while ((n = getdents64(folder, (void *)entries, sizeof(entries))) > 0 &&
           count < DRM_SWEEP_FD_MAX) {
        for (ssize_t at = 0; at < n;) {
            const struct dirent64 *file = (const struct dirent64 *)(void *)(entries + at);
            uint64_t fd;
            int r;

            at += file->d_reclen;
            if (parse_whole_u64(file->d_name, &fd) < 0 || fd > INT_MAX)
                continue;
            count++;
            r = look_at_fd(sweep, entry, (int)fd);
            if (r == -ENOMEM)
                return r;
        }
    }
    return (int)count;
}

/* Are the descriptors of a process those that were listed last? `open_files` is what the kernel
 * says of their number, 0: it does not say. On a fixture it never does. */
static bool may_skip(const struct drm_sweep *sweep, const struct drm_sweep_pid *entry,
                     uint64_t open_files)
{
    enum { QUICK_PER_LISTING = 16 };

    if (!sweep->root->is_live || entry->must_list || entry->sweep == 0)
        return false;
    if (open_files > 0)
        return open_files == entry->open_files;
    return sweep->quick_count % QUICK_PER_LISTING != 0;
}

static int look_at_pid(struct drm_sweep *sweep, struct drm_sweep_pid *entry, bool is_full)
{
    AUTO_CLOSE int folder = root_open_dir(sweep->root, "proc/%d/fd", (int)entry->pid);
    struct stat stat;
    uint64_t open_files;
    int r;

    if (folder < 0) {
        entry->refused = refused_because(sweep, entry->pid, folder);
        return 0;
    }
    open_files = fstat(folder, &stat) < 0 || stat.st_size < 0 ? 0 : (uint64_t)stat.st_size;
    if (!is_full && may_skip(sweep, entry, open_files)) {
        if (entry->holds_unreported)
            drm_clients_keep_unreported(&sweep->clients, entry->pid);
        return 0;
    }
    entry->open_files = open_files;
    entry->sweep = sweep->clients.sweep;
    entry->holds_kfd = entry->holds_unreported = false;
    entry->refused = NULL;
    r = look_at_fds(sweep, entry, folder);
    if (r == 0)
        entry->refused = refused_because(sweep, entry->pid, 0);
    return r < 0 ? r : 0;
}

/* Reads the clients anew where they were found last. */
static int look_at_known(struct drm_sweep *sweep)
{
    for (size_t i = 0; i < sweep->clients.count; i++) {
        const struct drm_client *client = &sweep->clients.list[i];
        struct drm_sweep_pid *entry;
        struct drm_fdinfo info;
        int device, r;

        if (client->is_ended || sweep->pid_count == 0)
            continue;
        entry =
            bsearch(&client->pid, sweep->pid, sweep->pid_count, sizeof(*entry), compare_pid);
        if (!entry)
            continue;
        device = read_fdinfo(sweep, client->pid, client->fd, &info);
        if (device < 0 || device != (int)client->device || info.client_id != client->id) {
            entry->must_list = true;
            continue;
        }
        r = drm_clients_see(&sweep->clients, client->device, client->pid, client->fd, &info);
        if (r < 0)
            return r;
    }
    return 0;
}

const char *drm_sweep_reason(const struct drm_sweep *sweep)
{
    for (size_t i = 0; i < sweep->pid_count; i++)
        if (sweep->pid[i].refused)
            return sweep->pid[i].refused;
    if (sweep->clients.has_left_out)
        return "too many processes use GPUs to track them all";
    return NULL;
}

int drm_sweep_look(struct drm_sweep *sweep, const struct gpu_pids *pids, bool is_full)
{
    int r = take_pids(sweep, pids);

    if (r < 0)
        return r;
    drm_clients_begin(&sweep->clients);
    if (!is_full) {
        sweep->quick_count++;
        r = look_at_known(sweep);
    }
    for (size_t i = 0; r == 0 && i < sweep->pid_count; i++)
        r = look_at_pid(sweep, &sweep->pid[i], is_full);

    /* A client whose process ended may live on in one that was not listed now. */
    if (r == 0 && drm_clients_misses_any(&sweep->clients)) {
        for (size_t i = 0; r == 0 && i < sweep->pid_count; i++) {
            if (sweep->pid[i].sweep != sweep->clients.sweep)
                r = look_at_pid(sweep, &sweep->pid[i], true);
        }
    }
    return r;
}
