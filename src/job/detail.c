/* SPDX-License-Identifier: Apache-2.0 */
#include "job/detail.h"

#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "base/unknown.h"
#include "job/memory_view.h"
#include "source/proc/pid_statm.h"

/* 1 % of the time may be spent; a burst of up to 30 ms may be saved up. */
enum { TIME_SHARE = 100 };
#define TOKENS_MAX_NS (30 * NS_PER_MS)

/* What a read is likely to cost: measured on 4 KiB pages. */
#define COST_PER_PROCESS_NS 20000u
#define COST_PER_PAGE_NS 6u

#define PAGE_BYTES 4096u

void detail_init(struct detail *detail, enum spoor_detail mode)
{
    *detail = (struct detail){ .mode = mode, .tokens_ns = TOKENS_MAX_NS };
}

void detail_done(struct detail *detail)
{
    free(detail->views);
    *detail = (struct detail){ 0 };
}

void detail_member_left(struct detail *detail, const struct member *member)
{
    detail->members_changed = true;
    detail->left_private_bytes += member->detail_private_bytes;
}

static int reserve_views(struct detail *detail, size_t count)
{
    struct memory_view *views;

    if (count <= detail->view_capacity)
        return 0;
    views = realloc(detail->views, 2 * count * sizeof(*views));
    if (!views)
        return -ENOMEM;
    detail->views = views;
    detail->view_capacity = 2 * count;
    return 0;
}

static bool is_alive(struct member *member, const struct root *root)
{
    struct pid_statm statm;

    return pid_statm_read(&member->statm_file, root, member->pid, &statm) == 0 &&
           statm.resident_pages > 0;
}

struct look {
    bool is_racy;   /* a process ended meanwhile */
    bool is_denied; /* a process of another user */
};

static struct look read_views(struct detail *detail, const struct root *root,
                              struct members *members, pid_t main_pid, size_t *ret_count)
{
    struct look look = { 0 };
    size_t count = 0;

    for (size_t i = 0; i < members->count; i++) {
        struct member *member = &members->list[i];
        struct memory_view *view = &detail->views[count];
        int r;

        if (member->rss_bytes == 0)
            continue;
        *view = (struct memory_view){ .is_main = member->pid == main_pid };
        r = memory_view_read(root, member->pid, view);
        if (r == -ESRCH || r == -ENOENT) {
            look.is_racy = true;
            continue;
        }
        if (r < 0) {
            look.is_denied = true;
            memory_view_from_statm(member, view);
        }
        member->detail_rss_bytes = member->rss_bytes;
        member->detail_private_bytes = view->private_total;
        member->detail_faults = member->faults;
        count++;
    }
    for (size_t i = 0; i < members->count && !look.is_racy; i++)
        look.is_racy = members->list[i].rss_bytes > 0 && !is_alive(&members->list[i], root);
    *ret_count = count;
    return look;
}

static void read_detail(struct detail *detail, const struct root *root, struct members *members,
                        pid_t main_pid)
{
    uint64_t started_ns = clock_now().monotonic_ns;
    uint64_t cost_ns;
    struct look look;
    size_t count;

    look = read_views(detail, root, members, main_pid, &count);
    shared_memory_estimate(detail->views, count, look.is_racy, &detail->estimate);
    detail->is_denied = look.is_denied;
    detail->has_estimate = true;
    detail->members_changed = look.is_racy;
    detail->left_private_bytes = 0;
    detail->reads++;
    cost_ns = clock_now().monotonic_ns - started_ns;
    detail->tokens_ns = detail->tokens_ns > cost_ns ? detail->tokens_ns - cost_ns : 0;
}

static void forget_sharing(struct memory_estimate *estimate)
{
    struct memory_split *splits[] = { &estimate->main, &estimate->descendants,
                                      &estimate->combined };

    for (size_t i = 0; i < ARRAY_SIZE(splits); i++)
        splits[i]->private_bytes = splits[i]->shared_bytes = UNKNOWN;
    estimate->pss_bytes = UNKNOWN;
}

/* The way without detail: the resident sizes alone. */
static void estimate_from_statm(struct detail *detail, struct members *members, pid_t main_pid,
                                struct memory_estimate *ret)
{
    size_t count = 0;

    for (size_t i = 0; i < members->count; i++) {
        if (members->list[i].rss_bytes == 0)
            continue;
        detail->views[count] =
            (struct memory_view){ .is_main = members->list[i].pid == main_pid };
        memory_view_from_statm(&members->list[i], &detail->views[count++]);
    }
    shared_memory_estimate(detail->views, count, true, ret);
    forget_sharing(ret);
}

struct movement {
    uint64_t rss_bytes, rss_max_bytes;
    uint64_t grown_bytes, shrunk_bytes;
    uint64_t fault_bytes;
};

/* How far the job, main and the descendants have moved since the last read. */
struct movements {
    struct movement job, main, descendants;
};

static void add_movement(struct movement *movement, const struct member *member)
{
    movement->rss_bytes += member->rss_bytes;
    if (member->rss_bytes > movement->rss_max_bytes)
        movement->rss_max_bytes = member->rss_bytes;
    if (member->rss_bytes > member->detail_rss_bytes)
        movement->grown_bytes += member->rss_bytes - member->detail_rss_bytes;
    else
        movement->shrunk_bytes += member->detail_rss_bytes - member->rss_bytes;
    movement->fault_bytes += (member->faults - member->detail_faults) * PAGE_BYTES;
}

static struct movements measure(const struct members *members, pid_t main_pid)
{
    struct movements movements = { 0 };

    for (size_t i = 0; i < members->count; i++) {
        const struct member *member = &members->list[i];

        add_movement(&movements.job, member);
        add_movement(member->pid == main_pid ? &movements.main : &movements.descendants,
                     member);
    }
    return movements;
}

/* Has memory moved by 2 % since the last read? Faults are counted because a page
 * that is copied on write after a fork moves no resident size. */
static bool has_moved(const struct detail *detail, const struct movement *movement)
{
    uint64_t threshold = detail->estimate.combined.total_bytes / 50;

    return !detail->has_estimate || detail->members_changed ||
           movement->grown_bytes > threshold || movement->shrunk_bytes > threshold ||
           movement->fault_bytes > threshold;
}

static void refill_tokens(struct detail *detail, uint64_t now_ns, uint64_t cost_ns)
{
    uint64_t most = 3 * cost_ns > TOKENS_MAX_NS ? 3 * cost_ns : TOKENS_MAX_NS;

    if (detail->refilled_ns != 0 && now_ns > detail->refilled_ns)
        detail->tokens_ns += (now_ns - detail->refilled_ns) / TIME_SHARE;
    if (detail->tokens_ns > most)
        detail->tokens_ns = most;
    detail->refilled_ns = now_ns;
}

static bool should_read(struct detail *detail, const struct members *members,
                        const struct movement *movement, uint64_t now_ns)
{
    uint64_t cost_ns = members->count * COST_PER_PROCESS_NS +
                       movement->rss_bytes / PAGE_BYTES * COST_PER_PAGE_NS;

    refill_tokens(detail, now_ns, cost_ns);
    if (detail->mode != SPOOR_DETAIL_AUTO)
        return detail->mode == SPOOR_DETAIL_ALWAYS;
    return has_moved(detail, movement) && detail->tokens_ns >= cost_ns;
}

static uint64_t moved(uint64_t value, uint64_t grown, uint64_t shrunk)
{
    value += grown;
    return value > shrunk ? value - shrunk : 0;
}

static void follow(struct memory_split *split, const struct movement *movement,
                   uint64_t left_bytes)
{
    uint64_t gone_bytes = movement->shrunk_bytes + left_bytes;

    split->total_bytes = moved(split->total_bytes, movement->grown_bytes, gone_bytes);
    if (split->total_bytes < movement->rss_max_bytes)
        split->total_bytes = movement->rss_max_bytes;
    if (split->total_bytes > movement->rss_bytes)
        split->total_bytes = movement->rss_bytes;
    split->private_bytes = moved(split->private_bytes, movement->grown_bytes, gone_bytes);
    if (split->private_bytes > split->total_bytes)
        split->private_bytes = split->total_bytes;
    split->shared_bytes = split->total_bytes - split->private_bytes;
}

void detail_update(struct detail *detail, const struct root *root, struct members *members,
                   pid_t main_pid, uint64_t now_ns, struct memory_estimate *ret)
{
    struct movements moved_by = measure(members, main_pid);

    *ret = (struct memory_estimate){ 0 };
    if (reserve_views(detail, members->count) < 0)
        return;
    if (moved_by.job.rss_bytes > 0 && should_read(detail, members, &moved_by.job, now_ns)) {
        read_detail(detail, root, members, main_pid);
        moved_by = measure(members, main_pid);
    }
    if (!detail->has_estimate) {
        estimate_from_statm(detail, members, main_pid, ret);
        return;
    }
    *ret = detail->estimate;
    follow(&ret->main, &moved_by.main, 0);
    follow(&ret->descendants, &moved_by.descendants, detail->left_private_bytes);
    follow(&ret->combined, &moved_by.job, detail->left_private_bytes);
    if (detail->is_denied)
        forget_sharing(ret);
}
