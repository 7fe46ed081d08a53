/* SPDX-License-Identifier: Apache-2.0 */
#include "source/gpu/nvidia_clients.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/amount.h"
#include "base/clock.h"
#include "base/reserve.h"
#include "source/gpu/gpu.h"
#include "source/gpu/nvidia_meters.h"

/* A sample is available this long after its timestamp. */
#define SETTLED_US 10000ull
#define NS_PER_US_PERCENT (NS_PER_US / 100)

void nvidia_clients_done(struct nvidia_clients *clients)
{
    free(clients->list);
    *clients = (struct nvidia_clients){ 0 };
}

void nvidia_clients_begin(struct nvidia_clients *clients, uint64_t now_us)
{
    clients->until_us = now_us;
}

/* Timestamps vary by a millisecond, but samples are never closer than a quarter of a period. */
uint64_t nvidia_clients_since_us(const struct nvidia_clients *clients, uint64_t period_us)
{
    return clients->until_us + (period_us ? period_us : BUSY_PERIOD_DEFAULT_US) / 4;
}

static size_t place_of(const struct nvidia_clients *clients, pid_t pid)
{
    return gpu_pids_place(clients->list, clients->count, sizeof(*clients->list), pid);
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
    if (clients->count == NVIDIA_CLIENTS_MAX)
        forget_idlest(clients);
    return reserve(&clients->list, &clients->capacity, clients->count + 1,
                   sizeof(*clients->list));
}

static struct nvidia_client *find_or_add(struct nvidia_clients *clients, pid_t pid)
{
    size_t place = place_of(clients, pid);

    if (place < clients->count && clients->list[place].pid == pid)
        return &clients->list[place];
    if (make_room(clients) < 0)
        return NULL;
    place = place_of(clients, pid); /* make_room() may have dropped a client */
    memmove(&clients->list[place + 1], &clients->list[place],
            (clients->count - place) * sizeof(*clients->list));
    clients->list[place] = (struct nvidia_client){ .pid = pid };
    clients->count++;
    return &clients->list[place];
}

/* Returns the end of the window that the driver's samples cover: the time of the device's last
 * sample, or of a newer sample of a process. Without a device sample: the newest sample of a
 * process plus the whole periods that have passed since. Without any sample: one period and
 * SETTLED_US before now, but not before the end of the previous window. */
static uint64_t end_of_window_us(const struct nvidia_clients *clients,
                                 const struct nvidia_answer *answer, uint64_t newest_us)
{
    uint64_t period_us = answer->period_us ? answer->period_us : BUSY_PERIOD_DEFAULT_US;
    uint64_t settled_us = sub_floor0(answer->now_us, SETTLED_US);

    if (answer->device_last_us != 0)
        return larger(newest_us, answer->device_last_us);
    if (newest_us == 0)
        return larger(clients->until_us, sub_floor0(settled_us, period_us));
    return newest_us + sub_floor0(settled_us, newest_us) / period_us * period_us;
}

/* Records the samples of each process. Returns the newest timestamp; 0: there is none. */
static uint64_t note_samples(struct nvidia_clients *clients, const struct nvidia_answer *answer,
                             int *ret_error)
{
    uint64_t newest_us = 0;

    for (size_t i = 0; i < answer->count; i++) {
        const struct nvml_process_usage *usage = &answer->list[i];
        struct nvidia_client *client;

        if (usage->pid == 0 || usage->pid > INT_MAX ||
            !busy_is_plausible(clients->until_us, usage->stamp_us, usage->sm_percent,
                               answer->now_us))
            continue;
        client = find_or_add(clients, (pid_t)usage->pid);
        if (!client) {
            *ret_error = -ENOMEM;
            continue;
        }
        client->last_us = usage->stamp_us;
        client->percent = usage->sm_percent;
        client->is_over = false;
        newest_us = larger(newest_us, usage->stamp_us);
    }
    return newest_us;
}

static bool is_answered(const struct nvidia_clients *clients,
                        const struct nvidia_client *client)
{
    return client->last_us > clients->until_us;
}

static uint64_t sum_up_answered(const struct nvidia_clients *clients, uint64_t window_us)
{
    uint64_t sum_ns = 0;

    for (size_t i = 0; i < clients->count; i++)
        if (is_answered(clients, &clients->list[i]))
            sum_ns += clients->list[i].percent * window_us * NS_PER_US_PERCENT;
    return sum_ns;
}

/* Counts the processes in the answer. `share`: the part of the reported time that counts. */
static void count_answered(struct nvidia_clients *clients, uint64_t window_us, double share)
{
    for (size_t i = 0; i < clients->count; i++) {
        struct nvidia_client *client = &clients->list[i];
        uint64_t reported_ns = client->percent * window_us * NS_PER_US_PERCENT;

        client->is_named = is_answered(clients, client);
        if (client->is_named)
            client->busy_ns += (uint64_t)((double)reported_ns * share);
    }
}

static bool ended_now(const struct nvidia_clients *clients, const struct nvidia_client *client,
                      const struct nvidia_answer *answer)
{
    return !client->is_over && !is_answered(clients, client) &&
           answer->has_ended(client->pid, answer->data);
}

/* Counts the processes that exited. `left_ns`: busy time of the device not explained by
 * processes in the answer. */
static void count_ended(struct nvidia_clients *clients, const struct nvidia_answer *answer,
                        uint64_t left_ns)
{
    size_t count = 0;

    for (size_t i = 0; i < clients->count; i++)
        count += ended_now(clients, &clients->list[i], answer);
    for (size_t i = 0; i < clients->count && count > 0; i++) {
        if (!ended_now(clients, &clients->list[i], answer))
            continue;
        clients->list[i].is_over = true;
        clients->list[i].busy_ns += left_ns / count;
    }
}

int nvidia_clients_expect(struct nvidia_clients *clients, pid_t pid)
{
    struct nvidia_client *client = find_or_add(clients, pid);

    if (!client)
        return -ENOMEM;
    client->is_over = false;
    return 0;
}

int nvidia_clients_add(struct nvidia_clients *clients, const struct nvidia_answer *answer)
{
    uint64_t newest_us, end_us, window_us, reported_ns;
    double share = 1;
    int r = 0;

    if (clients->until_us >= answer->now_us + BUSY_FUTURE_US) /* the clock was set back */
        nvidia_clients_begin(clients, answer->now_us);
    newest_us = note_samples(clients, answer, &r);
    end_us = end_of_window_us(clients, answer, newest_us);
    window_us = sub_floor0(end_us, clients->until_us);
    reported_ns = sum_up_answered(clients, window_us);
    if (is_known(answer->device_busy_ns) && reported_ns > answer->device_busy_ns)
        share = (double)answer->device_busy_ns / (double)reported_ns;
    count_answered(clients, window_us, share);
    if (is_known(answer->device_busy_ns))
        count_ended(clients, answer, sub_floor0(answer->device_busy_ns, reported_ns));
    clients->covered_ns += window_us * NS_PER_US;
    clients->until_us = larger(clients->until_us, end_us);
    return r;
}
