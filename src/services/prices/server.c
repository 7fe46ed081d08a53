/* SPDX-License-Identifier: Apache-2.0 */
#include "services/prices/server.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/reserve.h"

enum { SECONDS_PER_HOUR = 3600 };

void servers_done(struct servers *servers)
{
    free(servers->items);
    *servers = (struct servers){ 0 };
}

int servers_add(struct servers *servers, const struct server *server)
{
    if (servers->count == SERVERS_MAX)
        return -E2BIG;
    if (reserve(&servers->items, &servers->capacity, servers->count + 1, sizeof(*server)) < 0)
        return -ENOMEM;
    servers->items[servers->count++] = *server;
    return 0;
}

/* ---- the choice ----------------------------------------------------------- */

static bool is_enough(double offered, const struct need *need)
{
    return isnan(need->value) || need->value <= 0 || offered >= need->value;
}

static bool is_one_of(const char *text, const char *const *texts)
{
    for (; *texts; texts++)
        if (strcasecmp(text, *texts) == 0)
            return true;
    return false;
}

/* Programs for GPUs of one vendor seldom run on those of another. */
static bool has_right_gpus(const struct server *server, const struct needs *needs)
{
    return !(needs->gpus.value > 0) || !*needs->gpu_vendor || !*server->gpu_vendor ||
           strcasecmp(server->gpu_vendor, needs->gpu_vendor) == 0;
}

bool server_fits(const struct server *server, const struct server_filter *filter)
{
    const struct needs *needs = filter->needs;

    return is_enough(server->vcpus, &needs->cpus) &&
           is_enough(server->memory_bytes, &needs->memory_bytes) &&
           is_enough(server->gpus, &needs->gpus) &&
           is_enough(server->vram_bytes, &needs->vram_bytes) && has_right_gpus(server, needs) &&
           (!filter->vendors || is_one_of(server->vendor, filter->vendors)) &&
           (!filter->architecture ||
            strcasecmp(server->architecture, filter->architecture) == 0);
}

/* Unknown is more than any number. */
static int compare_numbers(double a, double b)
{
    if (isnan(a) || isnan(b))
        return (isnan(a) ? 1 : 0) - (isnan(b) ? 1 : 0);
    return (a > b) - (a < b);
}

static int compare(const void *left, const void *right)
{
    const struct server *a = left, *b = right;
    int order = compare_numbers(a->price, b->price);

    if (order == 0)
        order = compare_numbers(a->vcpus, b->vcpus);
    if (order == 0)
        order = compare_numbers(a->memory_bytes, b->memory_bytes);
    if (order == 0)
        order = strcmp(a->vendor, b->vendor);
    if (order == 0)
        order = strcmp(a->name, b->name);
    return order == 0 ? (a->row > b->row) - (a->row < b->row) : order;
}

void servers_choose(struct servers *servers, const struct server_filter *filter)
{
    size_t count = 0;

    for (size_t i = 0; i < servers->count; i++) {
        if (!server_fits(&servers->items[i], filter))
            continue;
        if (count < i)
            servers->items[count] = servers->items[i];
        count++;
    }
    servers->count = count;
    if (count > 0)
        qsort(servers->items, count, sizeof(*servers->items), compare);
}

const struct server *servers_find(const struct servers *servers, const char *vendor,
                                  const char *name, const char *region)
{
    const struct server *found = NULL;

    for (size_t i = 0; i < servers->count; i++) {
        const struct server *server = &servers->items[i];

        if (strcasecmp(server->vendor, vendor) != 0 || strcasecmp(server->name, name) != 0)
            continue;
        if (*region && strcmp(server->region, region) == 0)
            return server;
        if (!found)
            found = server;
    }
    return found;
}

double server_cost(double price, double seconds)
{
    return price * seconds / SECONDS_PER_HOUR;
}
