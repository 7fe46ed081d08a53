/* SPDX-License-Identifier: Apache-2.0 */
#include "job/memory/rss_delta.h"

#include "base/arithmetic.h"
#include "base/unknown.h"

/* Returns the anonymous memory of a process at the last read. A program that was loaded since
 * then shares none: all of it is new. A forked copy starts with its parent's. */
static uint64_t own_before(const struct member *member)
{
    return member->has_exec && !member->survey.is_known ? 0 : member->survey.own_bytes;
}

/* The anonymous memory that it shared with its forks or its parent at the last read, or
 * since it was forked. */
static uint64_t inherited(const struct member *member)
{
    return member->survey.is_known || member_is_copy(member)
               ? sub_floor0(member->survey.own_bytes, member->survey.private_bytes)
               : 0;
}

static void add_member(struct rss_delta *delta, const struct member *member,
                       uint64_t page_bytes)
{
    uint64_t rss = member->reading.rss_bytes;
    uint64_t mapped = smaller(member->reading.shared_bytes, rss);
    uint64_t own = rss - mapped;
    uint64_t fallen = sub_floor0(own_before(member), own);
    uint64_t grown = sub_floor0(own, own_before(member));
    uint64_t faults = sub_floor0(member->reading.faults, member->survey.faults) * page_bytes;

    delta->count += rss > 0;
    delta->copy_count += rss > 0 && member_is_copy(member) && !member->survey.is_known;
    delta->rss += rss;
    delta->rss_max = larger(delta->rss_max, rss);
    delta->own += member_is_copy(member) ? sub_floor0(own, member->survey.own_bytes) : own;
    delta->mapped += mapped;
    delta->mapped_max = larger(delta->mapped_max, mapped);
    delta->grown += grown;
    delta->fallen += fallen;
    delta->shrunk +=
        rss == 0 ? member->survey.private_bytes : smaller(fallen, member->survey.private_bytes);
    delta->faults += faults;
    delta->copies += smaller(sub_floor0(faults, grown), inherited(member));
}

struct rss_deltas rss_deltas_measure(const struct root *root, const struct roster *roster,
                                     pid_t main_pid)
{
    struct rss_deltas deltas = { 0 };

    for (size_t i = 0; i < roster->count; i++) {
        const struct member *member = &roster->list[i];

        if (member->reading.borrows_memory)
            continue;
        add_member(&deltas.job, member, root->page_bytes);
        add_member(member->id.pid == main_pid ? &deltas.main : &deltas.descendants, member,
                   root->page_bytes);
    }
    return deltas;
}

static struct rss_base base_of(const struct rss_delta *delta, const struct memory_split *split,
                               uint64_t largest)
{
    return (struct rss_base){
        .mapped = delta->mapped,
        .mapped_max = delta->mapped_max,
        .discount = sub_floor0(largest, split->total_bytes),
    };
}

struct rss_bases rss_bases_take(const struct rss_deltas *deltas,
                                const struct memory_estimate *estimate,
                                const struct group_bytes *largest)
{
    return (struct rss_bases){
        .job = base_of(&deltas->job, &estimate->combined, largest->combined),
        .main = base_of(&deltas->main, &estimate->main, largest->main),
        .descendants =
            base_of(&deltas->descendants, &estimate->descendants, largest->descendants),
    };
}

/* The minimum: all anonymous memory, and the largest mapped size of one process. */
static uint64_t least_total(const struct rss_delta *delta)
{
    return larger(delta->own + delta->mapped_max, delta->rss_max);
}

static void follow(struct memory_split *split, const struct rss_delta *delta,
                   const struct rss_base *base, uint64_t left_bytes, bool has_forked)
{
    uint64_t shrunk = delta->shrunk + left_bytes;
    uint64_t grown = delta->grown;
    /* Newly mapped files and shared memory may be private or shared: only the next read
     * shows it. */
    uint64_t private = sub_floor0(split->private_bytes + grown, shrunk);
    uint64_t total = sub_floor0(split->total_bytes + grown, shrunk);

    total = larger(total, sub_floor0(least_total(delta), base->discount));
    split->total_bytes = smaller(total, delta->rss);
    split->private_bytes = smaller(private, split->total_bytes);
    split->shared_bytes =
        smaller(split->shared_bytes, split->total_bytes - split->private_bytes);
    /* Private memory of a process that has forked since is shared with the copy, until one
     * of them writes to it or exits. */
    if (has_forked)
        split->private_bytes = split->shared_bytes = UNKNOWN;
}

void rss_deltas_apply(const struct rss_deltas *deltas, const struct rss_bases *bases,
                      uint64_t left_bytes, struct memory_estimate *estimate)
{
    bool has_forked = deltas->job.copy_count > 0;
    uint64_t shrunk = deltas->job.shrunk + left_bytes;

    follow(&estimate->main, &deltas->main, &bases->main, 0, has_forked);
    follow(&estimate->descendants, &deltas->descendants, &bases->descendants, left_bytes,
           has_forked);
    follow(&estimate->combined, &deltas->job, &bases->job, left_bytes, has_forked);
    /* Private memory counts in full. A fork divides pages, not their sum. */
    if (is_known(estimate->pss_bytes))
        estimate->pss_bytes = sub_floor0(estimate->pss_bytes + deltas->job.grown, shrunk);
    memory_estimate_order(estimate);
}

static struct memory_split at_least(const struct rss_delta *delta)
{
    return (struct memory_split){ least_total(delta), UNKNOWN, UNKNOWN };
}

void rss_deltas_estimate(const struct rss_deltas *deltas, struct memory_estimate *ret)
{
    *ret = (struct memory_estimate){
        .main = at_least(&deltas->main),
        .descendants = at_least(&deltas->descendants),
        .combined = at_least(&deltas->job),
        .pss_bytes = UNKNOWN,
    };
}
