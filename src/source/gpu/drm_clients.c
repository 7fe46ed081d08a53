/* SPDX-License-Identifier: Apache-2.0 */
#include "source/gpu/drm_clients.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/arithmetic.h"
#include "base/parse.h"
#include "base/reserve.h"
#include "base/unknown.h"

int drm_clients_init(struct drm_clients *clients, size_t device_count, bool hides_idle)
{
    *clients = (struct drm_clients){ .device_count = device_count,
                                     .is_first = true,
                                     .hides_idle = hides_idle,
                                     .counted_at_ns = UNKNOWN };
    clients->class = calloc(device_count, sizeof(clients->class[0]));
    clients->class_count = calloc(device_count, sizeof(clients->class_count[0]));
    if (!clients->class || !clients->class_count) {
        drm_clients_done(clients);
        return -ENOMEM;
    }
    return 0;
}

void drm_clients_done(struct drm_clients *clients)
{
    free(clients->list);
    free(clients->use);
    free(clients->class);
    free(clients->class_count);
    *clients = (struct drm_clients){ 0 };
}

/* The place of a new use: behind the others, or that of the longest ended. */
static int place_use(struct drm_clients *clients, size_t *ret)
{
    size_t oldest = 0;
    int r = -ENOSPC;

    if (clients->use_count < DRM_USE_MAX)
        r = reserve(&clients->use, &clients->use_capacity, clients->use_count + 1,
                    sizeof(clients->use[0]));
    if (r == 0)
        *ret = clients->use_count++;
    if (r != -ENOSPC)
        return r;
    for (size_t i = 1; i < clients->use_count; i++) {
        if (clients->use[i].sweep < clients->use[oldest].sweep)
            oldest = i;
    }
    /* One that lives was held in the sweep before this one at the latest. */
    if (clients->use[oldest].sweep + 1 >= clients->sweep) {
        clients->has_left_out = true;
        return -ENOSPC;
    }
    for (size_t i = 0; i < clients->count; i++) {
        if (clients->list[i].use == oldest)
            clients->list[i].use = SIZE_MAX;
    }
    *ret = oldest;
    return 0;
}

static int find_use(struct drm_clients *clients, unsigned device, pid_t pid, size_t *ret)
{
    int r;

    for (size_t i = 0; i < clients->use_count; i++) {
        if (clients->use[i].pid == pid && clients->use[i].device == device) {
            *ret = i;
            return 0;
        }
    }
    r = place_use(clients, ret);
    if (r == 0)
        clients->use[*ret] = (struct drm_use){
            .pid = pid, .device = device, .sweep = clients->sweep, .other_memory_bytes = UNKNOWN
        };
    return r;
}

static int place_client(struct drm_clients *clients, size_t *ret)
{
    size_t oldest = 0;
    int r = -ENOSPC;

    if (clients->count < DRM_CLIENT_MAX)
        r = reserve(&clients->list, &clients->capacity, clients->count + 1,
                    sizeof(clients->list[0]));
    if (r == 0)
        *ret = clients->count++;
    if (r != -ENOSPC)
        return r;
    for (size_t i = 1; i < clients->count; i++) {
        if (clients->list[i].sweep < clients->list[oldest].sweep)
            oldest = i;
    }
    if (!clients->list[oldest].is_ended || clients->list[oldest].sweep == clients->sweep) {
        clients->has_left_out = true;
        return -ENOSPC;
    }
    *ret = oldest;
    return 0;
}

/* Sweeps meet the clients in much the same order, so the search begins behind the last. */
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
    size_t use, at;
    int r = find_use(clients, device, pid, &use);

    if (r < 0)
        return r;
    r = place_client(clients, &at);
    if (r < 0)
        return r;
    clients->list[at] =
        (struct drm_client){ .id = id, .device = device, .pid = pid, .use = use, .fd = -1 };
    clients->next = at + 1;
    *ret = &clients->list[at];
    return 0;
}

/* The class of a device by its name, added where it is new; -1: there is no room. */
static int find_class(struct drm_clients *clients, unsigned device, const char *name)
{
    struct drm_class *class = clients->class[device];
    size_t count = clients->class_count[device];

    for (size_t i = 0; i < count; i++) {
        if (strcmp(class[i].name, name) == 0)
            return (int)i;
    }
    if (count == DRM_ENGINE_MAX)
        return -1;
    class[count] = (struct drm_class){ .capacity = 1, .anchor_ns = UNKNOWN };
    memcpy(class[count].name, name, sizeof(class[count].name));
    clients->class_count[device]++;
    return (int)count;
}

/* What the counter of an engine stands at, in the unit of its class; UNKNOWN: it has none. */
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
    struct drm_class *classes = clients->class[client->device];

    /* A share of the time is what it is now: an engine that is no longer listed has none. */
    for (size_t i = 0; i < clients->class_count[client->device]; i++) {
        if (classes[i].is_percent)
            client->engine[i].value = 0;
    }
    for (size_t i = 0; i < info->engine_count; i++) {
        int at = find_class(clients, client->device, info->engine[i].name);
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
        for (size_t j = 0; j < clients->class_count[i]; j++)
            clients->class[i][j].has_total = false;
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
        client->next_pid = pid; /* another holds it too, but it stays whose it is */
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

int drm_clients_see_unreported(struct drm_clients *clients, unsigned device, pid_t pid)
{
    size_t use;
    int r = find_use(clients, device, pid, &use);

    if (r == 0)
        clients->use[use].unreported_sweep = clients->sweep;
    return r;
}

void drm_clients_keep_unreported(struct drm_clients *clients, pid_t pid)
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

/* A client that another process holds now is that one's from here on. */
static void settle_owner(struct drm_clients *clients, struct drm_client *client)
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
            settle_owner(clients, client);
        if (client->use == SIZE_MAX)
            continue;
        use = &clients->use[client->use];
        use->has_unknown_busy = use->has_unknown_busy || !client->has_busy;
        if (client->is_ended)
            continue;
        use->sweep = clients->sweep;
        use->memory_bytes = sum_u64(use->memory_bytes, client->memory_bytes);
    }
    for (size_t i = 0; i < clients->use_count; i++) {
        struct drm_use *use = &clients->use[i];
        uint64_t other = use->other_memory_bytes;

        if (is_known(other) && (!is_known(use->memory_bytes) || other > use->memory_bytes))
            use->memory_bytes = other;
    }
    if (looked)
        clients->is_first = false;
}

/* Why the busy time of a process is UNKNOWN, or NULL where it is known. */
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
        uint64_t busy_ns = use->busy_ns < use->limit_ns ? use->busy_ns : use->limit_ns;

        list[i] = (struct gpu_process){ .pid = use->pid,
                                        .device = use->device,
                                        .memory_bytes = use->memory_bytes,
                                        .busy_covered_ns = UNKNOWN,
                                        .has_ended = use->sweep != clients->sweep,
                                        .reason = hidden_because(use) };
        list[i].busy_ns = list[i].reason ? UNKNOWN : busy_ns;
        if (!list[i].reason && !is_known(use->memory_bytes))
            list[i].reason = "the driver does not report the memory of its clients";
    }
    return clients->use_count;
}
