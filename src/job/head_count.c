/* SPDX-License-Identifier: Apache-2.0 */
#include "job/head_count.h"

#include <stdlib.h>

#include "base/arithmetic.h"

enum { CHANGES_MAX = 4096 };

static void add(uint64_t *value, int change)
{
    *value = change < 0 ? less(*value, (uint64_t)-change) : *value + (uint64_t)change;
}

static void apply(struct head_count *count, const struct head_change *change)
{
    struct heads *now = &count->now, *peak = &count->peak;

    add(&now->processes, change->processes);
    add(change->is_main ? &now->main_threads : &now->descendants_threads, change->threads);
    now->threads = now->main_threads + now->descendants_threads;
    peak->processes = larger(peak->processes, now->processes);
    peak->main_threads = larger(peak->main_threads, now->main_threads);
    peak->descendants_threads = larger(peak->descendants_threads, now->descendants_threads);
    peak->threads = larger(peak->threads, now->threads);
}

static bool has_room(struct head_count *count)
{
    size_t capacity = count->capacity ? 2 * count->capacity : 64;
    struct head_change *changes;

    if (count->count < count->capacity)
        return true;
    if (capacity > CHANGES_MAX)
        return false;
    changes = realloc(count->changes, capacity * sizeof(*changes));
    if (!changes)
        return false;
    count->changes = changes;
    count->capacity = capacity;
    return true;
}

void head_count_done(struct head_count *count)
{
    free(count->changes);
    *count = (struct head_count){ 0 };
}

void head_count_settle(struct head_count *count)
{
    count->settled_now = count->now;
    count->settled_peak = count->peak;
    count->count = 0;
}

void head_count_change(struct head_count *count, struct head_change change)
{
    bool is_kept = has_room(count);

    apply(count, &change);
    if (is_kept)
        count->changes[count->count++] = change;
    else
        head_count_settle(count);
}

static const struct head_change *find_start(const struct head_count *count, pid_t pid)
{
    for (size_t i = 0; i < count->count; i++) {
        if (count->changes[i].pid == pid && count->changes[i].processes > 0)
            return &count->changes[i];
    }
    return NULL;
}

bool head_count_forget(struct head_count *count, pid_t pid, pid_t *ret_parent_pid)
{
    const struct head_change *start = find_start(count, pid);
    const struct head_change *parent = start ? find_start(count, start->parent_pid) : NULL;
    pid_t parent_pid = ret_parent_pid && parent && !parent->is_main ? parent->pid : 0;
    size_t kept = 0;

    if (!start)
        return false;
    count->now = count->settled_now;
    count->peak = count->settled_peak;
    for (size_t i = 0; i < count->count; i++) {
        struct head_change change = count->changes[i];

        if (change.pid == pid || change.pid == parent_pid)
            continue;
        apply(count, &change);
        count->changes[kept++] = change;
    }
    count->count = kept;
    if (ret_parent_pid)
        *ret_parent_pid = parent_pid;
    return true;
}
