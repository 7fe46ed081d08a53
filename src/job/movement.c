/* SPDX-License-Identifier: Apache-2.0 */
#include "job/movement.h"

#include "base/unknown.h"
#include "job/borrowed_memory.h"

#define PAGE_BYTES 4096u

static void add_member(struct movement *movement, const struct member *member)
{
    uint64_t rss = member->rss_bytes;
    uint64_t shared = member->shared_bytes < rss ? member->shared_bytes : rss;

    movement->rss += rss;
    if (rss > movement->rss_max)
        movement->rss_max = rss;
    movement->own += rss - shared;
    if (shared > movement->shared_max)
        movement->shared_max = shared;
    if (rss == 0)
        movement->shrunk += member->detail_private_bytes; /* the rest stays with others */
    else if (rss > member->detail_rss_bytes)
        movement->grown += rss - member->detail_rss_bytes;
    else
        movement->shrunk += member->detail_rss_bytes - rss;
    movement->faults += (member->faults - member->detail_faults) * PAGE_BYTES;
}

struct movements movements_measure(const struct root *root, struct members *members,
                                   pid_t main_pid)
{
    struct movements movements = { 0 };

    for (size_t i = 0; i < members->count; i++) {
        const struct member *member = &members->list[i];

        if (root && memory_is_borrowed(root, members, member))
            continue;
        add_member(&movements.job, member);
        add_member(member->pid == main_pid ? &movements.main : &movements.descendants, member);
    }
    return movements;
}

static uint64_t moved(uint64_t value, uint64_t grown, uint64_t shrunk)
{
    value += grown;
    return value > shrunk ? value - shrunk : 0;
}

static void follow(struct memory_split *split, const struct movement *movement,
                   uint64_t discount_bytes, uint64_t left_bytes)
{
    uint64_t shrunk = movement->shrunk + left_bytes;
    uint64_t least = moved(movement->rss_max, 0, discount_bytes);

    split->total_bytes = moved(split->total_bytes, movement->grown, shrunk);
    if (split->total_bytes < least)
        split->total_bytes = least;
    if (split->total_bytes > movement->rss)
        split->total_bytes = movement->rss;
    split->private_bytes = moved(split->private_bytes, movement->grown, shrunk);
    if (split->private_bytes > split->total_bytes)
        split->private_bytes = split->total_bytes;
    split->shared_bytes = split->total_bytes - split->private_bytes;
}

void movements_follow(const struct movements *movements, const struct discounts *discounts,
                      uint64_t left_bytes, struct memory_estimate *estimate)
{
    follow(&estimate->main, &movements->main, discounts->main, 0);
    follow(&estimate->descendants, &movements->descendants, discounts->descendants, left_bytes);
    follow(&estimate->combined, &movements->job, discounts->job, left_bytes);
}

static struct memory_split at_least(const struct movement *movement)
{
    return (struct memory_split){ movement->own + movement->shared_max, UNKNOWN, UNKNOWN };
}

void movements_estimate(const struct movements *movements, struct memory_estimate *ret)
{
    *ret = (struct memory_estimate){
        .main = at_least(&movements->main),
        .descendants = at_least(&movements->descendants),
        .combined = at_least(&movements->job),
        .pss_bytes = UNKNOWN,
        .hugetlb_bytes = UNKNOWN,
    };
}
