/* SPDX-License-Identifier: Apache-2.0 */
#include "source/gpu/drm_clients.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/amount.h"
#include "base/cleanup.h"
#include "base/compiler.h"
#include "base/error.h"
#include "base/reserve.h"
#include "source/proc/children.h"
#include "source/proc/pid_files.h"

enum { LINK_SIZE = 64 }; /* longer names are not devices */

static const char other_users[] = "cannot read the open files of another user's process";

/* ---- the table ------------------------------------------------------------- */

int drm_clients_init(struct drm_clients *clients, size_t device_count, bool hides_idle)
{
    *clients = (struct drm_clients){ .device_count = device_count,
                                     .is_first = true,
                                     .hides_idle = hides_idle,
                                     .counted_at_ns = UNKNOWN };
    clients->classes = calloc(device_count, sizeof(*clients->classes));
    return clients->classes ? 0 : -ENOMEM;
}

void drm_clients_done(struct drm_clients *clients)
{
    free(clients->list);
    free(clients->use);
    free(clients->classes);
    free(clients->pid);
    free(clients->spare);
    *clients = (struct drm_clients){ 0 };
}

/* Adds the use of a device by a process: at the end of the list or, if it is full, in place of
 * the use that ended first. */
static int add_use(struct drm_clients *clients, unsigned device, pid_t pid, size_t *ret)
{
    size_t at = clients->use_count;

    if (at == DRM_USE_MAX) {
        at = 0;
        for (size_t i = 1; i < clients->use_count; i++) {
            if (clients->use[i].sweep < clients->use[at].sweep)
                at = i;
        }
        /* A live process held a client in the previous sweep, or in this one. */
        clients->has_left_out |= clients->use[at].sweep + 1 >= clients->sweep;
        if (clients->use[at].sweep + 1 >= clients->sweep)
            return -ENOSPC;
        for (size_t i = 0; i < clients->count; i++) {
            if (clients->list[i].use == at)
                clients->list[i].use = SIZE_MAX;
        }
    } else if (reserve(&clients->use, &clients->use_capacity, at + 1, sizeof(clients->use[0])) <
               0) {
        return -ENOMEM;
    } else {
        clients->use_count++;
    }
    clients->use[at] = (struct drm_use){
        .pid = pid, .device = device, .sweep = clients->sweep, .other_memory_bytes = UNKNOWN
    };
    *ret = at;
    return 0;
}

static int find_use(struct drm_clients *clients, unsigned device, pid_t pid, size_t *ret)
{
    for (size_t i = 0; i < clients->use_count; i++) {
        if (clients->use[i].pid == pid && clients->use[i].device == device) {
            *ret = i;
            return 0;
        }
    }
    return add_use(clients, device, pid, ret);
}

/* Finds a client. Each sweep finds clients in much the same order, so the search starts after
 * the client found last. */
static struct drm_client *find_client(struct drm_clients *clients, unsigned device, uint64_t id)
{
    for (size_t i = 0; i < clients->count; i++) {
        size_t at = (clients->next + i) % clients->count;

        if (clients->list[at].id == id && clients->list[at].device == device) {
            clients->next = at + 1;
            return &clients->list[at];
        }
    }
    return NULL;
}

static int add_client(struct drm_clients *clients, unsigned device, pid_t pid, uint64_t id,
                      struct drm_client **ret)
{
    size_t at = clients->count, use;
    int r = find_use(clients, device, pid, &use);

    if (r < 0)
        return r;
    if (at == DRM_CLIENT_MAX) {
        at = 0;
        for (size_t i = 1; i < clients->count; i++) {
            if (clients->list[i].sweep < clients->list[at].sweep)
                at = i;
        }
        if (!clients->list[at].is_ended || clients->list[at].sweep == clients->sweep) {
            clients->has_left_out = true;
            return -ENOSPC;
        }
    } else if (reserve(&clients->list, &clients->capacity, at + 1, sizeof(clients->list[0])) <
               0) {
        return -ENOMEM;
    } else {
        clients->count++;
    }
    clients->list[at] =
        (struct drm_client){ .id = id, .device = device, .pid = pid, .use = use, .fd = -1 };
    clients->next = at + 1;
    *ret = &clients->list[at];
    return 0;
}

/* Finds or adds the class with this name; -1: there is no room. */
static int find_class(struct drm_classes *classes, const char *name)
{
    struct drm_class *class = &classes->list[classes->count];

    for (size_t i = 0; i < classes->count; i++) {
        if (strcmp(classes->list[i].name, name) == 0)
            return (int)i;
    }
    if (classes->count == DRM_ENGINE_MAX)
        return -1;
    *class = (struct drm_class){ .capacity = 1, .anchor_ns = UNKNOWN };
    memcpy(class->name, name, sizeof(class->name));
    return (int)classes->count++;
}

/* Returns the counter of an engine, in the unit of its class; or UNKNOWN. */
static uint64_t engine_value(const struct drm_fdinfo_engine *engine, struct drm_class *class)
{
    if (is_known(engine->busy_ns))
        return engine->busy_ns;
    if (is_known(engine->cycles) && is_known(engine->total_cycles)) {
        class->is_cycles = true;
        class->has_total = true;
        class->total_cycles = engine->total_cycles;
        return engine->cycles;
    }
    if (is_known(engine->cycles) && is_known(engine->max_hz) && engine->max_hz > 0)
        return (uint64_t)((double)engine->cycles * 1e9 / (double)engine->max_hz);
    class->is_percent = is_known(engine->busy_percent_x100);
    return engine->busy_percent_x100;
}

static void take_engines(struct drm_clients *clients, struct drm_client *client,
                         const struct drm_fdinfo *info, bool is_old)
{
    struct drm_classes *of_device = &clients->classes[client->device];
    struct drm_class *classes = of_device->list;

    /* Percentages are current values: an engine that is no longer listed has none. */
    for (size_t i = 0; i < of_device->count; i++) {
        if (classes[i].is_percent)
            client->engine[i].value = 0;
    }
    for (size_t i = 0; i < info->engine_count; i++) {
        int at = find_class(of_device, info->engine[i].name);
        uint64_t value, capacity = info->engine[i].capacity;

        if (at < 0)
            continue;
        if (is_known(capacity) && capacity > 0)
            classes[at].capacity = capacity;
        value = engine_value(&info->engine[i], &classes[at]);
        if (!is_known(value))
            continue;
        client->has_busy = true;
        if (value > client->engine[at].value)
            client->engine[at].value = value;
        if (is_old)
            client->engine[at].counted = value;
    }
    if (clients->hides_idle)
        client->has_busy = true;
}

void drm_clients_begin(struct drm_clients *clients)
{
    clients->sweep++;
    clients->next = 0;
    for (size_t i = 0; i < clients->device_count; i++) {
        for (size_t j = 0; j < clients->classes[i].count; j++)
            clients->classes[i].list[j].has_total = false;
    }
    for (size_t i = 0; i < clients->use_count; i++)
        clients->use[i].other_memory_bytes = UNKNOWN;
}

int drm_clients_see(struct drm_clients *clients, unsigned device, pid_t pid, int fd,
                    const struct drm_fdinfo *info)
{
    struct drm_client *client = find_client(clients, device, info->client_id);
    bool is_new = !client;

    if (is_new) {
        int r = add_client(clients, device, pid, info->client_id, &client);

        if (r < 0)
            return r;
    }
    if (client->sweep != clients->sweep) {
        client->sweep = clients->sweep;
        client->next_pid = pid;
        client->next_fd = fd;
        client->memory_bytes = drm_fdinfo_memory(info);
        take_engines(clients, client, info, is_new && clients->is_first);
    } else if (pid == client->pid && client->next_pid != pid) {
        client->next_pid = pid; /* another process holds the client too, but the owner stays */
        client->next_fd = fd;
    }
    return 0;
}

int drm_clients_see_memory(struct drm_clients *clients, unsigned device, pid_t pid,
                           uint64_t memory_bytes)
{
    size_t use;
    int r = find_use(clients, device, pid, &use);

    if (r == 0)
        clients->use[use].other_memory_bytes = memory_bytes;
    return r;
}

/* Called within a sweep when a process holds a client of a device whose driver reports nothing
 * about clients. The memory of the process is UNKNOWN while it holds such a client; its busy
 * time is UNKNOWN from now on. */
static int see_unreported(struct drm_clients *clients, unsigned device, pid_t pid)
{
    size_t use;
    int r = find_use(clients, device, pid, &use);

    if (r == 0)
        clients->use[use].unreported_sweep = clients->sweep;
    return r;
}

/* Called within a sweep if the process still holds the clients found by the previous sweep. */
static void keep_unreported(struct drm_clients *clients, pid_t pid)
{
    for (size_t i = 0; i < clients->use_count; i++) {
        struct drm_use *use = &clients->use[i];

        if (use->pid == pid && use->unreported_sweep > 0 &&
            use->unreported_sweep + 1 == clients->sweep)
            use->unreported_sweep = clients->sweep;
    }
}

void drm_clients_hide_busy(struct drm_clients *clients, pid_t pid)
{
    for (size_t i = 0; i < clients->use_count; i++) {
        if (clients->use[i].pid == pid)
            clients->use[i].is_busy_hidden = true;
    }
}

bool drm_clients_misses_any(const struct drm_clients *clients)
{
    for (size_t i = 0; i < clients->count; i++) {
        if (!clients->list[i].is_ended && clients->list[i].sweep != clients->sweep)
            return true;
    }
    return false;
}

/* Updates the owner of a client: if the owner no longer holds it, the process found to hold it
 * becomes the owner. */
static void update_owner(struct drm_clients *clients, struct drm_client *client)
{
    size_t use;

    if ((client->pid != client->next_pid || client->use == SIZE_MAX) &&
        find_use(clients, client->device, client->next_pid, &use) == 0) {
        client->use = use;
        client->pid = client->next_pid;
    }
    client->fd = client->next_fd;
}

void drm_clients_end(struct drm_clients *clients, bool looked)
{
    for (size_t i = 0; i < clients->use_count; i++) {
        struct drm_use *use = &clients->use[i];
        bool is_unreported = use->unreported_sweep == clients->sweep;

        use->memory_bytes = is_unreported ? UNKNOWN : 0;
        use->has_unknown_busy = false;
        if (is_unreported || is_known(use->other_memory_bytes))
            use->sweep = clients->sweep;
    }
    for (size_t i = 0; i < clients->count; i++) {
        struct drm_client *client = &clients->list[i];
        struct drm_use *use;

        client->is_ended = client->sweep != clients->sweep;
        if (!client->is_ended)
            update_owner(clients, client);
        if (client->use == SIZE_MAX)
            continue;
        use = &clients->use[client->use];
        use->has_unknown_busy = use->has_unknown_busy || !client->has_busy;
        if (client->is_ended)
            continue;
        use->sweep = clients->sweep;
        use->memory_bytes = sum_u64(use->memory_bytes, client->memory_bytes);
    }
    for (size_t i = 0; i < clients->use_count; i++)
        raise_to(&clients->use[i].memory_bytes, clients->use[i].other_memory_bytes);
    if (looked)
        clients->is_first = false;
}

/* Returns why the busy time of a process is UNKNOWN; NULL: it is known. */
static const char *hidden_because(const struct drm_use *use)
{
    if (use->is_busy_hidden)
        return "it computes through ROCm, whose work the driver does not count";
    if (use->unreported_sweep > 0)
        return "the driver of the device does not report what a process uses";
    if (use->has_unknown_busy)
        return "the driver does not report how long its engines were busy";
    return use->is_counted && !use->has_uncounted ? NULL : "not measured yet";
}

size_t drm_clients_list(const struct drm_clients *clients, struct gpu_process *list,
                        size_t capacity)
{
    for (size_t i = 0; i < clients->use_count && i < capacity; i++) {
        const struct drm_use *use = &clients->use[i];

        list[i] = (struct gpu_process){ .pid = use->pid,
                                        .device = use->device,
                                        .memory_bytes = use->memory_bytes,
                                        .busy_covered_ns = UNKNOWN,
                                        .has_ended = use->sweep != clients->sweep,
                                        .reason = hidden_because(use) };
        list[i].busy_ns = list[i].reason ? UNKNOWN : smaller(use->busy_ns, use->limit_ns);
        if (!list[i].reason && !is_known(use->memory_bytes))
            list[i].reason = "the driver does not report the memory of its clients";
    }
    return clients->use_count;
}

/* ---- busy time -------------------------------------------------------------
 *
 * Drivers count in one of three ways. Nanoseconds are used unchanged. Cycles (xe) count on a
 * clock whose frequency is not reported: it is derived from the progress of the clock between
 * two counts. A percentage (amdgpu before 5.19) is assumed to hold since the last count.
 */

/* Measures the frequency of a class's clock, over the whole time in which the clock was
 * read. */
static void advance_clock(struct drm_class *class, uint64_t now_ns)
{
    if (!class->has_total)
        return;
    if (!is_known(class->anchor_ns) || class->total_cycles < class->counted_cycles) {
        class->anchor_ns = now_ns;
        class->anchor_cycles = class->total_cycles;
    } else if (class->total_cycles > class->anchor_cycles && now_ns > class->anchor_ns) {
        class->span_cycles = class->total_cycles - class->anchor_cycles;
        class->span_ns = now_ns - class->anchor_ns;
    }
    class->counted_cycles = class->total_cycles;
}

/* Returns the busy time of a client's engine since the last count; or UNKNOWN. */
static uint64_t engine_gain_ns(const struct drm_class *class, struct drm_client *client,
                               size_t engine, uint64_t elapsed_ns)
{
    uint64_t value = client->engine[engine].value;
    uint64_t gain = value - client->engine[engine].counted;

    if (value == 0 || (class->is_percent && client->is_ended))
        return 0;
    if (class->is_percent)
        return is_known(elapsed_ns) ? elapsed_ns / 10000 * value : UNKNOWN;
    if (class->is_cycles && class->span_cycles == 0)
        return gain == 0 ? 0 : UNKNOWN; /* stays uncounted until the frequency is known */
    client->engine[engine].counted = value;
    if (class->is_cycles)
        gain = (uint64_t)((double)gain * (double)class->span_ns / (double)class->span_cycles);
    return gain / class->capacity;
}

static void count_use(struct drm_use *use, uint64_t elapsed_ns)
{
    uint64_t longest = 0;

    use->has_uncounted = false;
    for (size_t i = 0; i < DRM_ENGINE_MAX; i++) {
        if (!is_known(use->gain_ns[i]))
            use->has_uncounted = true;
        else if (use->gain_ns[i] > longest)
            longest = use->gain_ns[i];
        use->gain_ns[i] = 0;
    }
    /* No elapsed time limits the work before the very first count. */
    use->limit_ns = sum_u64(use->limit_ns, first_known(elapsed_ns, longest));
    use->busy_ns = sum_u64(use->busy_ns, longest);
    use->is_counted = true;
}

void drm_clients_count(struct drm_clients *clients, uint64_t now_ns)
{
    uint64_t elapsed_ns = sub_known(now_ns, clients->counted_at_ns);

    for (size_t i = 0; i < clients->device_count; i++) {
        for (size_t j = 0; j < clients->classes[i].count; j++)
            advance_clock(&clients->classes[i].list[j], now_ns);
    }
    for (size_t i = 0; i < clients->count; i++) {
        struct drm_client *client = &clients->list[i];
        const struct drm_classes *classes = &clients->classes[client->device];

        if (client->use == SIZE_MAX)
            continue;
        for (size_t j = 0; j < classes->count; j++) {
            uint64_t *gain_ns = &clients->use[client->use].gain_ns[j];

            *gain_ns =
                sum_u64(*gain_ns, engine_gain_ns(&classes->list[j], client, j, elapsed_ns));
        }
    }
    for (size_t i = 0; i < clients->use_count; i++)
        count_use(&clients->use[i], elapsed_ns);
    clients->counted_at_ns = now_ns;
}

/* ---- the sweep ------------------------------------------------------------- */

static bool is_gone(int error)
{
    return error == -ENOENT || error == -ESRCH;
}

static bool is_refusal(ssize_t error)
{
    return error == -EACCES || error == -EPERM;
}

static int reserve_both(struct drm_clients *clients, size_t count)
{
    size_t capacity = clients->pid_capacity;
    int r = reserve(&clients->spare, &capacity, count, sizeof(*clients->spare));

    return r < 0 ? r
                 : reserve(&clients->pid, &clients->pid_capacity, count, sizeof(*clients->pid));
}

/* Replaces the list of processes, but keeps the data of processes that were in the old list. */
static int take_pids(struct drm_clients *clients, const struct gpu_pids *pids)
{
    size_t count = pids->count < DRM_SWEEP_PID_MAX ? pids->count : DRM_SWEEP_PID_MAX;
    struct drm_sweep_pid *old;
    size_t at = 0;
    int r = reserve_both(clients, count);

    if (r < 0)
        return r;
    for (size_t i = 0; i < count; i++) {
        while (at < clients->pid_count && clients->pid[at].pid < pids->list[i])
            at++;
        if (at < clients->pid_count && clients->pid[at].pid == pids->list[i])
            clients->spare[i] = clients->pid[at];
        else
            clients->spare[i] =
                (struct drm_sweep_pid){ .pid = pids->list[i], .open_files = UNKNOWN };
        clients->spare[i].must_list = false;
    }
    old = clients->pid;
    clients->pid = clients->spare;
    clients->spare = old;
    clients->pid_count = count;
    return 0;
}

/* Reads the usage of a descriptor's client. Returns the index of its device, or -errno;
 * -EBADMSG: the descriptor exists, but its file contains no figures of a client. */
static int read_fdinfo(struct drm_vendor *drm, pid_t pid, int fd, struct drm_fdinfo *ret)
{
    struct drm_fdinfo info;
    int r = (int)root_read(drm->root, drm->text, sizeof(drm->text), "proc/%d/fdinfo/%d",
                           (int)pid, fd);

    if (is_gone(r))
        return r;
    if (r < 0 || drm_fdinfo_parse(drm->text, &info) < 0 || !is_known(info.pci))
        return -EBADMSG;
    r = drm_devices_at(&drm->devices, info.pci);
    if (r >= 0)
        *ret = info;
    return r;
}

/* Returns the node in a path such as "/dev/dri/renderD128", whatever the mount point; NULL:
 * not a DRM node. */
static const char *drm_node(const char *link)
{
    static const char *const names[] = { "card0", "renderD128" }; /* without the number */
    const char *folder = strstr(link, "/dri/");

    for (size_t i = 0; folder && i < ARRAY_SIZE(names); i++) {
        size_t length = strcspn(names[i], "0123456789");
        const char *name = folder + strlen("/dri/");

        if (strncmp(name, names[i], length) == 0 && name[length] >= '0' && name[length] <= '9')
            return name;
    }
    return NULL;
}

/* Handles drivers without the keys of drm-usage-stats (i915 before 5.19, radeon), for which the
 * node identifies the device. The descriptor may refer to another file by now, so the link is
 * read again. */
static int look_at_unreported(struct drm_vendor *drm, struct drm_sweep_pid *entry, int fd,
                              const char *seen)
{
    int device = drm_devices_of_node(drm->root, &drm->devices, drm_node(seen));
    char link[LINK_SIZE];

    if (device < 0 ||
        root_read_link(drm->root, link, sizeof(link), "proc/%d/fd/%d", (int)entry->pid, fd) <
            0 ||
        strcmp(link, seen) != 0)
        return 0;
    entry->holds_unreported = true;
    return see_unreported(&drm->clients, (unsigned)device, entry->pid);
}

static int look_at_fd(struct drm_vendor *drm, struct drm_sweep_pid *entry, int fd)
{
    struct drm_fdinfo info;
    char link[LINK_SIZE];
    ssize_t n =
        root_read_link(drm->root, link, sizeof(link), "proc/%d/fd/%d", (int)entry->pid, fd);
    int device;

    if (is_refusal(n))
        entry->refused = other_users;
    if (n < 0)
        return 0;
    if (strcmp(link, "/dev/kfd") == 0)
        entry->holds_kfd = true;
    if (!drm_node(link))
        return 0;
    device = read_fdinfo(drm, entry->pid, fd, &info);
    if (device == -EBADMSG)
        return look_at_unreported(drm, entry, fd, link);
    if (device < 0)
        return 0; /* the descriptor was closed, or belongs to another vendor's device */
    return drm_clients_see(&drm->clients, (unsigned)device, entry->pid, fd, &info);
}

/* Returns why the open files of a process are not listed: static text; NULL: there is nothing
 * to explain. `error` is the failure to open the list; 0: the list is empty. The files of a
 * zombie belong to root, because it has no address space to determine its user, so for a zombie
 * a refusal explains nothing. */
static const char *refused_because(const struct drm_vendor *drm, pid_t pid, int error)
{
    struct pid_stat stat;
    int r;

    if (is_gone(error))
        return NULL;
    r = pid_stat_read(NULL, drm->root, pid, &stat);
    if (is_gone(r))
        return NULL; /* the process has been reaped */
    if (r == 0 && stat.is_ending)
        return stat.threads > 1 ? "the main thread of a process has exited, so its open files "
                                  "are no longer visible"
                                : NULL;
    if (error == 0)
        return NULL;
    return is_refusal(error) ? other_users : "cannot read the open files of a process";
}

/* State while the descriptors of one process are read. */
struct fd_list {
    struct drm_vendor *drm;
    struct drm_sweep_pid *entry;
    size_t count;
    int error; /* -ENOMEM, or 0 */
};

static void look_at_listed_fd(pid_t fd, void *data)
{
    struct fd_list *list = data;

    if (list->error < 0)
        return;
    list->count++;
    if (look_at_fd(list->drm, list->entry, fd) == -ENOMEM)
        list->error = -ENOMEM;
}

/* Whether a process may be assumed to have the same descriptors as when they were last listed.
 * `open_files` is the kernel's count of its descriptors; 0: not reported, as on a fixture. */
static bool may_skip(const struct drm_vendor *drm, const struct drm_sweep_pid *entry,
                     uint64_t open_files)
{
    enum { QUICK_PER_LISTING = 16 };

    if (!drm->root->is_live || entry->must_list || entry->sweep == 0)
        return false;
    if (open_files > 0)
        return open_files == entry->open_files;
    return drm->clients.quick_count % QUICK_PER_LISTING != 0;
}

static int look_at_pid(struct drm_vendor *drm, struct drm_sweep_pid *entry, bool is_full)
{
    AUTO_CLOSE int folder = root_open_dir(drm->root, "proc/%d/fd", (int)entry->pid);
    struct fd_list list = { .drm = drm, .entry = entry };
    struct stat stat;
    uint64_t open_files;

    if (folder < 0) {
        entry->refused = refused_because(drm, entry->pid, folder);
        return 0;
    }
    open_files = fstat(folder, &stat) < 0 || stat.st_size < 0 ? 0 : (uint64_t)stat.st_size;
    if (!is_full && may_skip(drm, entry, open_files)) {
        if (entry->holds_unreported)
            keep_unreported(&drm->clients, entry->pid);
        return 0;
    }
    entry->open_files = open_files;
    entry->sweep = drm->clients.sweep;
    entry->holds_kfd = entry->holds_unreported = false;
    entry->refused = NULL;
    /* lists as many as can be read */
    (void)proc_each_number(folder, DRM_SWEEP_FD_MAX, look_at_listed_fd, &list);
    if (list.count == 0)
        entry->refused = refused_because(drm, entry->pid, 0);
    return list.error;
}

static int look_at_known(struct drm_vendor *drm)
{
    for (size_t i = 0; i < drm->clients.count; i++) {
        const struct drm_client *client = &drm->clients.list[i];
        size_t place = gpu_pids_place(drm->clients.pid, drm->clients.pid_count,
                                      sizeof(*drm->clients.pid), client->pid);
        struct drm_sweep_pid *entry;
        struct drm_fdinfo info;
        int device, r;

        if (client->is_ended || place == drm->clients.pid_count)
            continue;
        entry = &drm->clients.pid[place];
        if (entry->pid != client->pid)
            continue;
        device = read_fdinfo(drm, client->pid, client->fd, &info);
        if (device < 0 || device != (int)client->device || info.client_id != client->id) {
            entry->must_list = true;
            continue;
        }
        r = drm_clients_see(&drm->clients, client->device, client->pid, client->fd, &info);
        if (r < 0)
            return r;
    }
    return 0;
}

const char *drm_vendor_reason(const struct drm_vendor *drm)
{
    for (size_t i = 0; i < drm->clients.pid_count; i++)
        if (drm->clients.pid[i].refused)
            return drm->clients.pid[i].refused;
    if (drm->clients.has_left_out)
        return "too many processes use GPUs to track them all";
    return NULL;
}

static int look(struct drm_vendor *drm, const struct gpu_pids *pids, bool is_full)
{
    int r = take_pids(&drm->clients, pids);

    if (r < 0)
        return r;
    drm_clients_begin(&drm->clients);
    if (!is_full) {
        drm->clients.quick_count++;
        r = look_at_known(drm);
    }
    for (size_t i = 0; r == 0 && i < drm->clients.pid_count; i++)
        r = look_at_pid(drm, &drm->clients.pid[i], is_full);

    /* A process that was not listed may still hold a client of an exited process. */
    if (r == 0 && drm_clients_misses_any(&drm->clients)) {
        for (size_t i = 0; r == 0 && i < drm->clients.pid_count; i++) {
            if (drm->clients.pid[i].sweep != drm->clients.sweep)
                r = look_at_pid(drm, &drm->clients.pid[i], true);
        }
    }
    return r;
}

/* ---- for vendors with DRM drivers ------------------------------------------ */

int drm_vendor_open(size_t size, const struct root *root, const char *vendor_id,
                    const char *name, bool hides_idle, void **ret, struct spoor_error *err)
{
    struct drm_vendor *drm;
    int r;

    if (!drm_may_be_here(root))
        return -ENODEV;
    drm = calloc(1, size);
    if (!drm)
        return error_set(err, ENOMEM, "out of memory");
    drm->root = root;
    r = drm_devices_find(root, vendor_id, &drm->devices);
    if (r < 0 && r != -ENODEV)
        (void)error_sys(err, r, "look for %s GPUs", name);
    else if (r == 0 && drm_clients_init(&drm->clients, drm->devices.count, hides_idle) < 0)
        r = error_set(err, ENOMEM, "out of memory");
    if (r < 0) {
        drm_vendor_close(drm);
        return r;
    }
    *ret = drm;
    return 0;
}

void drm_vendor_close(void *vendor)
{
    struct drm_vendor *drm = vendor;

    if (!drm)
        return;
    drm_clients_done(&drm->clients);
    free(drm);
}

size_t drm_device_count(const void *vendor)
{
    return ((const struct drm_vendor *)vendor)->devices.count;
}

const struct gpu_device *drm_device(const void *vendor, size_t index)
{
    return &((const struct drm_vendor *)vendor)->devices.list[index].gpu;
}

static int sweep(struct drm_vendor *drm, const struct gpu_pids *pids, bool is_full)
{
    int r = look(drm, pids, is_full);

    if (r == 0 && drm->look_further)
        r = drm->look_further(drm);
    if (r == 0)
        drm_clients_end(&drm->clients, pids->count > 0);
    return r;
}

ssize_t drm_processes(void *vendor, const struct gpu_pids *pids, struct gpu_process *list,
                      size_t capacity)
{
    struct drm_vendor *drm = vendor;
    int r = sweep(drm, pids, false);

    return r < 0 ? r : (ssize_t)drm_clients_list(&drm->clients, list, capacity);
}

int drm_read_busy(void *vendor, const struct gpu_pids *pids, uint64_t now_ns)
{
    struct drm_vendor *drm = vendor;
    int r = sweep(drm, pids, true);

    if (r == 0)
        drm_clients_count(&drm->clients, now_ns);
    return r;
}
