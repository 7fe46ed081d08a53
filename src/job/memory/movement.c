/* SPDX-License-Identifier: Apache-2.0 */
#include "job/memory/movement.h"

#include "base/arithmetic.h"
#include "base/unknown.h"

/* What it had of no file at the last read. A program that was loaded since shares no such
 * memory with anybody: all of it is new. A copy of its parent is one from the start. */
static uint64_t own_before(const struct member *member)
{
    return member->has_exec && !member->was_surveyed ? 0 : member->detail_own_bytes;
}

/* A fork that runs its parent's program still: it began with its parent's pages. The main process
 * of a job that was attached to may be one too; whose, nobody here knows. */
static bool is_copy(const struct member *member)
{
    return !member->has_exec && member->is_descendant;
}

static void add_member(struct movement *movement, const struct member *member,
                       uint64_t page_bytes)
{
    uint64_t rss = member->rss_bytes;
    uint64_t mapped = smaller(member->shared_bytes, rss);
    uint64_t own = rss - mapped;
    uint64_t fallen = less(own_before(member), own);

    movement->count += rss > 0;
    movement->copy_count += rss > 0 && is_copy(member) && !member->was_surveyed;
    movement->rss += rss;
    movement->rss_max = larger(movement->rss_max, rss);
    movement->own += is_copy(member) ? less(own, member->detail_own_bytes) : own;
    movement->mapped += mapped;
    movement->mapped_max = larger(movement->mapped_max, mapped);
    movement->grown += less(own, own_before(member));
    movement->fallen += fallen;
    movement->shrunk +=
        rss == 0 ? member->detail_private_bytes : smaller(fallen, member->detail_private_bytes);
    movement->faults += less(member->faults, member->detail_faults) * page_bytes;
}

struct movements movements_measure(const struct root *root, const struct roster *roster,
                                   pid_t main_pid)
{
    struct movements movements = { 0 };

    for (size_t i = 0; i < roster->count; i++) {
        const struct member *member = &roster->list[i];

        if (member->borrows_memory)
            continue;
        add_member(&movements.job, member, root->page_bytes);
        add_member(member->pid == main_pid ? &movements.main : &movements.descendants, member,
                   root->page_bytes);
    }
    return movements;
}

static struct movement_base base_of(const struct movement *movement,
                                    const struct memory_split *split, uint64_t largest)
{
    return (struct movement_base){
        .mapped = movement->mapped,
        .mapped_max = movement->mapped_max,
        .discount = less(largest, split->total_bytes),
    };
}

struct movement_bases movements_base(const struct movements *movements,
                                     const struct memory_estimate *estimate,
                                     const struct group_bytes *largest)
{
    return (struct movement_bases){
        .job = base_of(&movements->job, &estimate->combined, largest->combined),
        .main = base_of(&movements->main, &estimate->main, largest->main),
        .descendants =
            base_of(&movements->descendants, &estimate->descendants, largest->descendants),
    };
}

/* What is there whatever is shared: all that is one's own, and what the largest has mapped. */
static uint64_t least_total(const struct movement *movement)
{
    return larger(movement->own + movement->mapped_max, movement->rss_max);
}

static void follow(struct memory_split *split, const struct movement *movement,
                   const struct movement_base *base, uint64_t left_bytes, bool has_forked)
{
    uint64_t shrunk = movement->shrunk + left_bytes;
    uint64_t grown = movement->grown;
    /* What was private to a process that has forked since is shared with its copy now. Files and
     * shared memory that were mapped since may be anything: only the next read shows it. */
    uint64_t shared = has_forked ? split->total_bytes : split->shared_bytes;
    uint64_t private = has_forked ? grown : less(split->private_bytes + grown, shrunk);
    uint64_t total = less(split->total_bytes + grown, shrunk);

    total = larger(total, less(least_total(movement), base->discount));
    split->total_bytes = smaller(total, movement->rss);
    split->private_bytes = smaller(private, split->total_bytes);
    split->shared_bytes = smaller(shared, split->total_bytes - split->private_bytes);
}

void movements_follow(const struct movements *movements, const struct movement_bases *bases,
                      uint64_t left_bytes, struct memory_estimate *estimate)
{
    bool has_forked = movements->job.copy_count > 0;
    uint64_t shrunk = movements->job.shrunk + left_bytes;

    follow(&estimate->main, &movements->main, &bases->main, 0, has_forked);
    follow(&estimate->descendants, &movements->descendants, &bases->descendants, left_bytes,
           has_forked);
    follow(&estimate->combined, &movements->job, &bases->job, left_bytes, has_forked);
    /* What a process gains or loses of its own is all its. A fork divides pages, not their sum. */
    if (is_known(estimate->pss_bytes))
        estimate->pss_bytes = less(estimate->pss_bytes + movements->job.grown, shrunk);
    memory_estimate_order(estimate);
}

static struct memory_split at_least(const struct movement *movement)
{
    return (struct memory_split){ least_total(movement), UNKNOWN, UNKNOWN };
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
