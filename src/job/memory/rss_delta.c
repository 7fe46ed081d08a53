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

struct rss_deltas rss_deltas_measure(const struct root *root, const struct roster *roster)
{
    struct rss_deltas deltas = { 0 };

    for (size_t i = 0; i < roster->count; i++) {
        const struct member *member = &roster->list[i];

        if (member->reading.borrows_memory)
            continue;
        add_member(&deltas.of[GROUP_JOB], member, root->page_bytes);
        add_member(&deltas.of[member->group], member, root->page_bytes);
    }
    return deltas;
}

/* The minimum: all anonymous memory, and the largest mapped size of one process. */
static uint64_t least_total(const struct rss_delta *delta)
{
    return larger(delta->own + delta->mapped_max, delta->rss_max);
}

static void follow(struct memory_split *split, const struct rss_delta *delta, uint64_t discount,
                   uint64_t left_bytes, bool has_forked)
{
    uint64_t shrunk = delta->shrunk + left_bytes;
    uint64_t grown = delta->grown;
    /* Newly mapped files and shared memory may be private or shared: only the next read
     * shows it. */
    uint64_t private = sub_floor0(split->private_bytes + grown, shrunk);
    uint64_t total = sub_floor0(split->total_bytes + grown, shrunk);

    total = larger(total, sub_floor0(least_total(delta), discount));
    split->total_bytes = smaller(total, delta->rss);
    split->private_bytes = smaller(private, split->total_bytes);
    split->shared_bytes =
        smaller(split->shared_bytes, split->total_bytes - split->private_bytes);
    /* Private memory of a process that has forked since is shared with the copy, until one
     * of them writes to it or exits. */
    if (has_forked)
        split->private_bytes = split->shared_bytes = UNKNOWN;
}

void rss_deltas_apply(const struct rss_deltas *deltas, uint64_t left_bytes,
                      struct memory_estimate *estimate)
{
    const struct rss_delta *job = &deltas->of[GROUP_JOB];

    for (enum member_group i = GROUP_MAIN; i < GROUP_COUNT; i++)
        follow(&estimate->of[i], &deltas->of[i], memory_estimate_discount(estimate, i),
               i == GROUP_MAIN ? 0 : left_bytes, job->copy_count > 0);
    /* Private memory counts in full. A fork divides pages, not their sum. */
    if (is_known(estimate->pss_bytes))
        estimate->pss_bytes =
            sub_floor0(estimate->pss_bytes + job->grown, job->shrunk + left_bytes);
    memory_estimate_order(estimate);
}

void rss_deltas_estimate(const struct rss_deltas *deltas, struct memory_estimate *ret)
{
    *ret = (struct memory_estimate){ 0 };
    for (int i = 0; i < GROUP_COUNT; i++)
        ret->of[i].total_bytes = least_total(&deltas->of[i]);
    memory_estimate_forget_parts(ret);
}
