/* SPDX-License-Identifier: Apache-2.0 */
#include "job/memory/memory_sharing.h"

#include <errno.h>
#include <stdlib.h>

#include "base/amount.h"
#include "base/compiler.h"
#include "base/reserve.h"
#include "job/memory/shared_files.h"
#include "job/memory/survey.h"

void memory_sharing_init(struct memory_sharing *sharing, const struct root *root,
                         struct budget *budget, enum spoor_detail mode, bool uses_smaps)
{
    *sharing = (struct memory_sharing){
        .root = root,
        .budget = budget,
        .mode = mode,
        .uses_smaps = uses_smaps && mode == SPOOR_DETAIL_ALWAYS,
        .page_ns = SURVEY_PAGE_NS,
    };
}

void memory_sharing_done(struct memory_sharing *sharing)
{
    free(sharing->views);
    memory_areas_done(&sharing->areas);
    *sharing = (struct memory_sharing){ 0 };
}

void memory_sharing_member_left(struct memory_sharing *sharing, const struct member *member)
{
    sharing->members_changed = true;
    sharing->left_private_bytes += member->survey.private_bytes;
    if (member_is_copy(member))
        raise_to(&sharing->unread_peak_bytes, sharing->expected_bytes);
}

/* ---- resident sizes ----------------------------------------------------------
 *
 * Resident sizes do not show sharing, but two facts hold. Anonymous memory that a process gains
 * is new and private. A group has at least the files and shared memory of its largest member;
 * memory that the others gain is most often the same pages, which a forked child maps one by
 * one as it touches them. So the figures may lag behind until the next read, but hardly ever
 * run ahead: a peak that is too high would stay.
 */

/* Returns the anonymous memory of a process at the last read. If the process has called exec
 * since then, all of its memory is new and counts from 0. A forked copy starts with its
 * parent's amount. */
static uint64_t own_before(const struct member *member)
{
    return member->has_exec && !member->survey.is_known ? 0 : member->survey.own_bytes;
}

/* Returns the anonymous memory that a process shared with its forks or its parent: at the last
 * read, or since the fork if it was forked later. */
static uint64_t inherited(const struct member *member)
{
    return member->survey.is_known || member_is_copy(member)
               ? sub_floor0(member->survey.own_bytes, member->survey.private_bytes)
               : 0;
}

static void add_sizes(struct rss_delta *delta, const struct member *member, uint64_t page_bytes)
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
        add_sizes(&deltas.of[GROUP_JOB], member, root->page_bytes);
        add_sizes(&deltas.of[member->group], member, root->page_bytes);
    }
    return deltas;
}

/* Returns a lower bound of the total: all anonymous memory plus the largest mapped size of one
 * process. */
static uint64_t least_total(const struct rss_delta *delta)
{
    return larger(delta->own + delta->mapped_max, delta->rss_max);
}

static void follow_sizes(struct memory_split *split, const struct rss_delta *delta,
                         uint64_t discount, uint64_t left_bytes, bool has_forked)
{
    uint64_t shrunk = delta->shrunk + left_bytes;
    uint64_t grown = delta->grown;
    /* Newly mapped files and shared memory may be private or shared: only the next read shows
     * which. */
    uint64_t private = sub_floor0(split->private_bytes + grown, shrunk);
    uint64_t total = sub_floor0(split->total_bytes + grown, shrunk);

    total = larger(total, sub_floor0(least_total(delta), discount));
    split->total_bytes = smaller(total, delta->rss);
    split->private_bytes = smaller(private, split->total_bytes);
    split->shared_bytes =
        smaller(split->shared_bytes, split->total_bytes - split->private_bytes);
    /* Private memory of a process that has forked since is shared with the fork until one of
     * the two writes to it or exits. */
    if (has_forked)
        split->private_bytes = split->shared_bytes = UNKNOWN;
}

/* Applies the changes since a read to its estimate. `left_bytes` were private to processes that
 * have exited. */
static void apply_deltas(const struct rss_deltas *deltas, uint64_t left_bytes,
                         struct memory_estimate *estimate)
{
    const struct rss_delta *job = &deltas->of[GROUP_JOB];

    for (enum member_group i = GROUP_MAIN; i < GROUP_COUNT; i++)
        follow_sizes(&estimate->of[i], &deltas->of[i], memory_estimate_discount(estimate, i),
                     i == GROUP_MAIN ? 0 : left_bytes, job->copy_count > 0);
    /* In PSS, private memory counts in full. A fork divides pages among processes, but their
     * sum stays the same. */
    if (is_known(estimate->pss_bytes))
        estimate->pss_bytes =
            sub_floor0(estimate->pss_bytes + job->grown, job->shrunk + left_bytes);
    memory_estimate_order(estimate);
}

/* ---- reading ------------------------------------------------------------ */

/* Limits the expected peak to the result of a read: memory that existed before the read and was
 * not released still exists, so the read shows it, unless a process has exited. */
static void check_expected(struct memory_sharing *sharing, const struct survey *survey)
{
    uint64_t rss_bytes = 0, most_bytes = UNKNOWN;

    for (size_t i = 0; i < survey->count; i++)
        rss_bytes += sharing->views[i].resident;
    if (survey->count >= sharing->expected_count && !survey->has_ended)
        most_bytes = sharing->estimate.of[GROUP_JOB].total_bytes +
                     sub_floor0(sharing->expected_rss_bytes, rss_bytes);
    raise_to(&sharing->unread_peak_bytes, smaller(sharing->expected_bytes, most_bytes));
    sharing->expected_bytes = sharing->copied_bytes = 0;
}

static void remember(struct memory_sharing *sharing, const struct survey *survey)
{
    check_expected(sharing, survey);
    memory_estimate_raise(&sharing->highest, &sharing->estimate);
    sharing->is_denied = survey->is_denied;
    sharing->guessed_bytes = survey->guessed_bytes;
    sharing->members_changed = survey->has_ended;
    sharing->was_racy = survey->is_racy;
    sharing->left_private_bytes = 0;
    sharing->reads++;
}

/* Reads the mappings of all processes. -E2BIG: there are too many. Also fails with -ESRCH,
 * -ENOENT or -ENOMEM. */
static int read_mappings(struct memory_sharing *sharing, size_t view_count,
                         struct shared_files *ret)
{
    struct memory_areas *areas = &sharing->areas;
    int r = 0;

    memory_areas_clear(areas);
    for (size_t i = 0; i < view_count && r == 0; i++)
        r = memory_areas_read(areas, sharing->root, sharing->views[i].pid,
                              sharing->views[i].group);
    sharing->has_too_many_areas |= r == -E2BIG;
    return r != 0 ? r : shared_files_estimate(areas, ret);
}

static void read_all(struct memory_sharing *sharing, struct roster *roster)
{
    const struct root *root = sharing->root;
    uint64_t started_ns = cpu_spent_ns(root), spent_ns;
    struct survey survey =
        survey_plan(roster, sharing->mode == SPOOR_DETAIL_ALWAYS, sharing->page_ns);
    struct shared_files files;
    bool has_files;

    survey_take(&survey, root, roster, sharing->views);
    has_files = sharing->uses_smaps && !survey.is_denied &&
                read_mappings(sharing, survey.count, &files) == 0;
    survey_look_again(&survey, root, roster);
    shared_memory_estimate(sharing->views, survey.count, survey.is_racy, survey.gained_bytes,
                           &sharing->estimate);
    if (has_files && !survey.is_racy)
        shared_files_correct(&files, sharing->views, survey.count, survey.gained_bytes,
                             &sharing->estimate);
    remember(sharing, &survey);
    sharing->base = rss_deltas_measure(root, roster);
    spent_ns = cpu_spent_ns(root) - started_ns;
    sharing->page_ns = survey_learn(&survey, sharing->page_ns, spent_ns);
    (sharing->is_on_credit ? budget_borrow : budget_charge)(sharing->budget, SPENT_SHARING,
                                                            spent_ns);
}

/* ---- when to read ------------------------------------------------------- */

/* Whether memory has changed by 2 % since the last read in a way that sizes alone do not
 * show. Anonymous memory of a single process is private, however it grows and shrinks. While
 * the job grows the limit is a quarter: the result would soon be exceeded. */
static bool has_moved(const struct memory_sharing *sharing)
{
    const struct rss_delta *delta = &sharing->delta.of[GROUP_JOB];
    unsigned part = sharing->activity == JOB_GROWS ? 4 : 50;
    uint64_t threshold = sharing->estimate.of[GROUP_JOB].total_bytes / part;
    uint64_t mapped = abs_diff(delta->mapped, sharing->base.of[GROUP_JOB].mapped);

    if (sharing->reads == 0 || sharing->members_changed || mapped > threshold)
        return true;
    return delta->count > 1 && (sharing->was_racy || delta->grown > threshold ||
                                delta->fallen > threshold || delta->faults > threshold);
}

/* Returns the memory that the job may have beyond the estimate: pages of files that
 * several processes have gained, if the pages are different ones, and pages that were
 * copied on write. */
static uint64_t uncertain_bytes(const struct memory_sharing *sharing)
{
    const struct rss_delta *delta = &sharing->delta.of[GROUP_JOB];
    const struct rss_delta *base = &sharing->base.of[GROUP_JOB];
    uint64_t mapped = sub_floor0(delta->mapped, base->mapped);

    return sub_floor0(mapped, sub_floor0(delta->mapped_max, base->mapped_max)) +
           sub_floor0(delta->faults, delta->grown + mapped);
}

static bool exceeds(const struct memory_split *split, const struct memory_split *highest,
                    uint64_t uncertain, uint64_t margin)
{
    return split->total_bytes + uncertain > highest->total_bytes + margin ||
           (is_known(split->private_bytes) &&
            split->private_bytes + uncertain > highest->private_bytes + margin);
}

/* Whether a read could exceed all earlier ones by more than `margin`. */
static bool may_be_highest(const struct memory_sharing *sharing,
                           const struct memory_estimate *estimate, uint64_t margin)
{
    bool may_be = false;

    for (int i = 0; i < GROUP_COUNT; i++)
        may_be |= exceeds(&estimate->of[i], &sharing->highest.of[i],
                          i == GROUP_JOB ? uncertain_bytes(sharing) : 0, margin);
    return may_be;
}

/* Whether the budget allows a read. A possible maximum of several processes may be read on
 * credit; for a single process, sizes show most of its memory. A growing job soon exceeds the
 * value, so its memory is read on credit only once; a running job may exceed it, so some credit
 * is left for when it becomes idle. */
static bool is_affordable(struct memory_sharing *sharing, struct roster *roster, bool is_peak)
{
    enum { LEFT_FOR_REST = 3, LEFT_FOR_PEAK = 2 }; /* multiples of the cost of a read */
    struct survey plan = survey_plan(roster, false, sharing->page_ns);
    uint64_t cost_ns = survey_cost_ns(&plan, sharing->page_ns);
    bool is_resting = sharing->activity == JOB_RESTS;

    sharing->is_on_credit =
        is_peak && (sharing->activity != JOB_GROWS || sharing->reads == 0) &&
        (is_resting || sharing->delta.of[GROUP_JOB].count > 1) &&
        budget_lends(sharing->budget, is_resting ? cost_ns : LEFT_FOR_REST * cost_ns);
    return sharing->is_on_credit || budget_allows(sharing->budget, SPENT_SHARING,
                                                  is_peak ? cost_ns : LEFT_FOR_PEAK * cost_ns);
}

/* Whether memory should be read now. In a glance while the job is active, it is read only for a
 * maximum that exceeds the last one by an eighth. */
static bool should_read(struct memory_sharing *sharing, struct roster *roster, bool is_glance,
                        const struct memory_estimate *followed)
{
    bool is_fleeting = is_glance && sharing->activity != JOB_RESTS;
    uint64_t margin = is_fleeting ? sharing->highest.of[GROUP_JOB].total_bytes / 8 : 0;
    bool is_peak =
        sharing->reads == 0 || sharing->was_racy || may_be_highest(sharing, followed, margin);

    if (sharing->delta.of[GROUP_JOB].rss == 0 || sharing->mode == SPOOR_DETAIL_NEVER)
        return false;
    if (sharing->mode == SPOOR_DETAIL_ALWAYS)
        return !is_fleeting;
    if (!has_moved(sharing) || (is_fleeting && (sharing->activity == JOB_GROWS || !is_peak)))
        return false;
    return is_affordable(sharing, roster, is_peak);
}

/* ---- between reads ------------------------------------------------------ */

/* Estimates from resident sizes alone. */
static void follow(struct memory_sharing *sharing, const struct roster *roster,
                   struct memory_estimate *ret)
{
    sharing->delta = rss_deltas_measure(sharing->root, roster);
    *ret = sharing->estimate;
    if (sharing->reads > 0) {
        apply_deltas(&sharing->delta, sharing->left_private_bytes, ret);
    } else {
        for (int i = 0; i < GROUP_COUNT; i++)
            ret->of[i].total_bytes = least_total(&sharing->delta.of[i]);
    }
    if (sharing->reads == 0 || sharing->is_denied)
        memory_estimate_forget_parts(ret);
}

/* Updates the expected peak: the followed sizes, plus pages that forks may have copied since the
 * last read. `total`: the followed size of the job. */
static void expect_unread(struct memory_sharing *sharing, uint64_t total)
{
    const struct rss_delta *delta = &sharing->delta.of[GROUP_JOB];
    uint64_t mapped = sub_floor0(delta->mapped, sharing->base.of[GROUP_JOB].mapped);
    uint64_t copied = smaller(sharing->copied_bytes, sub_floor0(delta->copies, mapped));
    uint64_t added = smaller(copied, sub_floor0(delta->rss, total));

    if (sharing->reads == 0 || added == 0 || total + added <= sharing->expected_bytes)
        return;
    sharing->expected_bytes = total + added;
    sharing->expected_rss_bytes = delta->rss;
    sharing->expected_count = delta->count;
}

void memory_sharing_update(struct memory_sharing *sharing, struct roster *roster,
                           bool is_glance, struct memory_estimate *ret)
{
    sharing->was_read = false;
    follow(sharing, roster, ret);
    expect_unread(sharing, ret->of[GROUP_JOB].total_bytes);
    if (!should_read(sharing, roster, is_glance, ret) ||
        reserve(&sharing->views, &sharing->view_capacity, roster->count,
                sizeof(*sharing->views)) < 0) {
        sharing->is_pending = sharing->mode != SPOOR_DETAIL_NEVER &&
                              sharing->delta.of[GROUP_JOB].rss > 0 && has_moved(sharing);
        return;
    }
    read_all(sharing, roster);
    sharing->is_pending = false;
    sharing->was_read = true;
    *ret = sharing->estimate;
    expect_unread(sharing, ret->of[GROUP_JOB].total_bytes);
    if (sharing->is_denied)
        memory_estimate_forget_parts(ret);
}
