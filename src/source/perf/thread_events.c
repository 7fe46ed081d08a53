/* SPDX-License-Identifier: Apache-2.0 */
#include "source/perf/thread_events.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/reserve.h"

enum { ROUNDS = 5, THREADS_MAX = 1 << 16 };

struct tids {
    pid_t *list; /* owned */
    size_t count, capacity;
    bool is_cut; /* no memory for more */
};

static void free_tids(struct tids *tids)
{
    free(tids->list);
}

static void add_tid(pid_t tid, void *data)
{
    struct tids *tids = data;

    if (tids->count < THREADS_MAX &&
        reserve(&tids->list, &tids->capacity, tids->count + 1, sizeof(tid)) == 0)
        tids->list[tids->count++] = tid;
    else
        tids->is_cut = true;
}

static int compare(const void *a, const void *b)
{
    const pid_t *left = a, *right = b;

    return (*left > *right) - (*left < *right);
}

static int list_tids(const struct thread_events *events, struct tids *ret)
{
    ret->count = 0;
    events->list(events->list_data, add_tid, ret);
    if (ret->is_cut)
        return -ENOMEM;
    if (ret->count > 0)
        qsort(ret->list, ret->count, sizeof(*ret->list), compare);
    return 0;
}

static bool has_new(const struct tids *before, const struct tids *after)
{
    for (size_t i = 0; i < after->count; i++) {
        if (before->count == 0 || !bsearch(&after->list[i], before->list, before->count,
                                           sizeof(*before->list), compare))
            return true;
    }
    return false;
}

static int open_all(const struct thread_events *events, const struct tids *tids)
{
    for (size_t i = 0; i < tids->count; i++) {
        int r = events->open(events->data, tids->list[i]);

        if (r < 0 && r != -ESRCH)
            return r;
    }
    return 0;
}

int thread_events_open(const struct thread_events *events)
{
    CLEANUP(free_tids) struct tids before = { 0 }, after = { 0 };
    int r = 0;

    for (int round = 0; round < ROUNDS; round++) {
        if (round > 0)
            events->close(events->data);
        r = list_tids(events, &before);
        if (r == 0)
            r = open_all(events, &before);
        if (r == 0)
            r = list_tids(events, &after);
        if (r < 0)
            break;
        if (!has_new(&before, &after))
            return 0;
    }
    if (r < 0)
        events->close(events->data);
    return r;
}
