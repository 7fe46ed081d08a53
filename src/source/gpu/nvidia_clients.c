/* SPDX-License-Identifier: Apache-2.0 */
#include "source/gpu/nvidia_clients.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/arithmetic.h"
#include "base/clock.h"
#include "source/gpu/nvidia_busy.h"

void nvidia_clients_done(struct nvidia_clients *clients)
{
    free(clients->list);
    *clients = (struct nvidia_clients){ 0 };
}

void nvidia_clients_begin(struct nvidia_clients *clients, uint64_t stamp_us, uint64_t now_ns)
{
    clients->last_us = stamp_us;
    clients->anchor_ns = now_ns;
    clients->anchor_covered_ns = clients->covered_ns;
}

/* The place of `pid`, or where it would stand. */
static size_t place_of(const struct nvidia_clients *clients, pid_t pid)
{
    size_t low = 0, high = clients->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (clients->list[middle].pid < pid)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const struct nvidia_client *nvidia_clients_find(const struct nvidia_clients *clients, pid_t pid)
{
    size_t place = place_of(clients, pid);

    if (place == clients->count || clients->list[place].pid != pid)
        return NULL;
    return &clients->list[place];
}

static void forget_idlest(struct nvidia_clients *clients)
{
    size_t idlest = 0;

    for (size_t i = 1; i < clients->count; i++)
        if (clients->list[i].last_us < clients->list[idlest].last_us)
            idlest = i;
    clients->count--;
    memmove(&clients->list[idlest], &clients->list[idlest + 1],
            (clients->count - idlest) * sizeof(*clients->list));
}

static int make_room(struct nvidia_clients *clients)
{
    size_t capacity = clients->capacity ? clients->capacity * 2 : 16;
    struct nvidia_client *list;

    if (clients->count == NVIDIA_CLIENTS_MAX)
        forget_idlest(clients);
    if (clients->count < clients->capacity)
        return 0;
    list = reallocarray(clients->list, capacity, sizeof(*list));
    if (!list)
        return -ENOMEM;
    clients->list = list;
    clients->capacity = capacity;
    return 0;
}

static struct nvidia_client *find_or_add(struct nvidia_clients *clients, pid_t pid)
{
    size_t place = place_of(clients, pid);

    if (place < clients->count && clients->list[place].pid == pid)
        return &clients->list[place];
    if (make_room(clients) < 0)
        return NULL;
    place = place_of(clients, pid); /* one may have been forgotten */
    memmove(&clients->list[place + 1], &clients->list[place],
            (clients->count - place) * sizeof(*clients->list));
    clients->list[place] = (struct nvidia_client){ .pid = pid };
    clients->count++;
    return &clients->list[place];
}

static void count_sample(struct nvidia_clients *clients, struct nvidia_client *client,
                         const struct nvml_process_usage *sample, uint64_t begun_us)
{
    uint64_t period_us = clients->period_us ? clients->period_us : BUSY_PERIOD_DEFAULT_US;
    uint64_t cover_us =
        busy_cover_us(client->last_us, sample->stamp_us, period_us, period_us * 3 / 2);

    cover_us =
        smaller(cover_us, less(sample->stamp_us, begun_us)); /* older is not of our time */
    if (client->last_us != 0)
        clients->period_us =
            busy_learn_period(clients->period_us, sample->stamp_us - client->last_us);
    client->last_us = sample->stamp_us;
    client->busy_ns += sample->sm_percent * cover_us * 10;
}

/* The samples reach up to the newest one. Without any the processes were idle: up to now less
 * one period, whose sample may still come. */
static void cover(struct nvidia_clients *clients, uint64_t newest_us, uint64_t now_ns)
{
    uint64_t period_us = clients->period_us ? clients->period_us : BUSY_PERIOD_DEFAULT_US;
    uint64_t since_ns = now_ns > clients->anchor_ns ? now_ns - clients->anchor_ns : 0;
    uint64_t covered_ns;

    if (newest_us != 0 && clients->last_us != 0)
        since_ns = (newest_us - clients->last_us) * NS_PER_US;
    else if (newest_us == 0)
        since_ns -= since_ns < period_us * NS_PER_US ? since_ns : period_us * NS_PER_US;
    covered_ns = clients->anchor_covered_ns + since_ns;
    if (covered_ns > clients->covered_ns)
        clients->covered_ns = covered_ns;
    if (newest_us != 0) {
        nvidia_clients_begin(clients, newest_us, now_ns);
        clients->anchor_covered_ns = covered_ns;
    }
}

/* From when on samples count, as time of day. */
static uint64_t begun_at_us(const struct nvidia_clients *clients, uint64_t now_ns,
                            uint64_t now_us)
{
    if (clients->last_us != 0)
        return 0; /* by the newest sample of all */
    return less(now_us, less(now_ns, clients->anchor_ns) / NS_PER_US);
}

int nvidia_clients_add(struct nvidia_clients *clients, const struct nvml_process_usage *list,
                       size_t count, uint64_t now_ns, uint64_t now_us)
{
    uint64_t begun_us = begun_at_us(clients, now_ns, now_us);
    uint64_t newest_us = 0;
    int r = 0;

    if (clients->last_us >= now_us + BUSY_FUTURE_US) /* the clock was set back */
        nvidia_clients_begin(clients, now_us, now_ns);
    for (size_t i = 0; i < count; i++) {
        const struct nvml_process_usage *sample = &list[i];
        struct nvidia_client *client;

        if (sample->pid == 0 || sample->pid > INT_MAX ||
            !busy_is_plausible(clients->last_us, sample->stamp_us, sample->sm_percent, now_us))
            continue;
        client = find_or_add(clients, (pid_t)sample->pid);
        if (!client) {
            r = -ENOMEM;
            continue;
        }
        if (sample->stamp_us <= client->last_us)
            continue;
        count_sample(clients, client, sample, begun_us);
        newest_us = sample->stamp_us > newest_us ? sample->stamp_us : newest_us;
    }
    cover(clients, newest_us, now_ns);
    return r;
}
