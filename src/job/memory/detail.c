/* SPDX-License-Identifier: Apache-2.0 */
#include "job/memory/detail.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/arithmetic.h"
#include "base/clock.h"
#include "base/compiler.h"
#include "base/parse.h"
#include "base/unknown.h"
#include "job/memory/cpu_spent.h"
#include "job/memory/survey.h"

/* A third of a percent of the time may be spent; a burst of up to 30 ms may be saved up. A job
 * that maps and unmaps all the time waits about three times as long as a read takes. */
enum { TIME_SHARE = 300 };
#define TOKENS_MAX_NS ((int64_t)(30 * NS_PER_MS))

/* Looks in a row at which nothing had moved, after which growth has come to a pause. */
enum { STILL_LOOKS = 2 };

void detail_init(struct detail *detail, const struct root *root, enum spoor_detail mode,
                 bool uses_smaps, bool uses_scan)
{
    *detail = (struct detail){
        .root = root,
        .mode = mode,
        .tokens_ns = TOKENS_MAX_NS,
    };
    walk_cost_init(&detail->walk_cost);
    sharing_init(&detail->sharing, uses_smaps, uses_scan);
}

void detail_done(struct detail *detail)
{
    free(detail->views);
    sharing_done(&detail->sharing);
    *detail = (struct detail){ 0 };
}

void detail_member_left(struct detail *detail, const struct member *member)
{
    detail->members_changed = true;
    detail->left_private_bytes += member->detail_private_bytes;
}

/* ---- reading ------------------------------------------------------------ */

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

static void charge(struct detail *detail, uint64_t cost_ns)
{
    if (detail->mode == SPOOR_DETAIL_AUTO)
        detail->tokens_ns -= (int64_t)cost_ns;
}

static void raise_split(struct memory_split *highest, const struct memory_split *split)
{
    highest->total_bytes = larger(highest->total_bytes, split->total_bytes);
    highest->private_bytes = larger(highest->private_bytes, split->private_bytes);
}

static struct group_bytes largest_resident(const struct memory_view *views, size_t count)
{
    struct group_bytes largest = { 0 };

    for (size_t i = 0; i < count; i++) {
        uint64_t *group = views[i].is_main ? &largest.main : &largest.descendants;

        *group = larger(*group, views[i].resident);
    }
    largest.combined = larger(largest.main, largest.descendants);
    return largest;
}

static void take_bases(struct detail *detail, const struct members *members, pid_t main_pid,
                       size_t view_count)
{
    struct group_bytes largest = largest_resident(detail->views, view_count);
    struct movements movements = movements_measure(detail->root, members, main_pid);

    detail->bases = movements_base(&movements, &detail->estimate, &largest);
}

static void remember(struct detail *detail, const struct survey *survey)
{
    raise_split(&detail->highest.main, &detail->estimate.main);
    raise_split(&detail->highest.descendants, &detail->estimate.descendants);
    raise_split(&detail->highest.combined, &detail->estimate.combined);
    detail->has_estimate = true;
    detail->is_denied = survey->is_denied;
    detail->members_changed = survey->has_ended;
    detail->was_racy = survey->is_racy;
    detail->left_private_bytes = 0;
    detail->unread_bytes = larger(survey->moved_bytes, survey->gained_bytes);
    detail->reads++;
}

/* The mappings, where the sums leave a doubt and there is time. */
static void settle(struct detail *detail, struct members *members, uint64_t walk_ns,
                   struct survey *survey)
{
    const struct root *root = detail->root;
    uint64_t allowance_ns = detail->tokens_ns > 0 ? (uint64_t)detail->tokens_ns : 0;
    enum sharing_result result;

    if (detail->mode == SPOOR_DETAIL_ALWAYS)
        allowance_ns = UINT64_MAX;
    result = sharing_correct(&detail->sharing, root, detail->views, survey->count, walk_ns,
                             allowance_ns, &detail->estimate);
    detail->is_unsettled = result == SHARING_DEFERRED;
    if (result != SHARING_READ && result != SHARING_FAILED)
        return;
    survey_look_again(survey, root, members);
    if (!survey->is_racy)
        return;
    sharing_forget(&detail->sharing);
    shared_memory_estimate(detail->views, survey->count, true, &detail->estimate);
}

static void read_detail(struct detail *detail, struct members *members, pid_t main_pid)
{
    const struct root *root = detail->root;
    uint64_t started_ns = cpu_spent_ns(root);
    uint64_t walked_ns;
    struct survey survey;

    if (detail->members_changed || detail->was_racy)
        sharing_forget(&detail->sharing);
    survey = survey_take(detail->views, root, members, main_pid);
    survey_look_again(&survey, root, members);
    shared_memory_estimate(detail->views, survey.count, survey.is_racy, &detail->estimate);
    walked_ns = cpu_spent_ns(root);
    walk_cost_learn(&detail->walk_cost, survey.count, survey.rss_bytes, walked_ns - started_ns);
    charge(detail, walked_ns - started_ns);
    detail->is_unsettled = false;
    if (!survey.is_racy && !survey.is_denied)
        settle(detail, members, walked_ns - started_ns, &survey);
    survey_discount(&survey, detail->views, &detail->estimate);
    memory_estimate_settle(&detail->estimate);
    remember(detail, &survey);
    take_bases(detail, members, main_pid, survey.count);
    charge(detail, cpu_spent_ns(root) - walked_ns);
}

/* ---- when --------------------------------------------------------------- */

/* Has memory moved by 2 % since the last read, in a way that sizes alone do not tell? What a lone
 * process has of no file is its own, however it grows and shrinks. */
static bool has_moved(const struct detail *detail, const struct movement *movement)
{
    uint64_t threshold = detail->estimate.combined.total_bytes / 50;
    uint64_t mapped = apart(movement->mapped, detail->bases.job.mapped);

    if (!detail->has_estimate || detail->members_changed || mapped > threshold ||
        detail->unread_bytes > threshold)
        return true;
    return movement->count > 1 &&
           (detail->was_racy || detail->unread_bytes + movement->grown > threshold ||
            movement->fallen > threshold || movement->faults > threshold);
}

/* The tokens at a moment, where `most` may be saved up. */
static int64_t tokens_at(const struct detail *detail, uint64_t now_ns, uint64_t most_ns)
{
    int64_t most = most_ns > (uint64_t)TOKENS_MAX_NS ? (int64_t)most_ns : TOKENS_MAX_NS;
    int64_t tokens_ns = detail->tokens_ns;

    if (detail->refilled_ns != 0 && now_ns > detail->refilled_ns)
        tokens_ns += (int64_t)((now_ns - detail->refilled_ns) / TIME_SHARE);
    return tokens_ns < most ? tokens_ns : most;
}

/* What the job may have beyond what the values say: memory that came during the last read,
 * pages of files that several have gained, if they are not the same ones, and pages that
 * were copied on write. */
static uint64_t uncertain_bytes(const struct detail *detail, const struct movement *movement)
{
    const struct movement_base *base = &detail->bases.job;
    uint64_t mapped = less(movement->mapped, base->mapped);

    return detail->unread_bytes + less(mapped, less(movement->mapped_max, base->mapped_max)) +
           less(movement->faults, movement->grown + mapped);
}

static bool exceeds(const struct memory_split *split, const struct memory_split *highest,
                    uint64_t uncertain, uint64_t margin)
{
    return split->total_bytes + uncertain > highest->total_bytes + margin ||
           (is_known(split->private_bytes) &&
            split->private_bytes + uncertain > highest->private_bytes + margin);
}

/* Could a read show more than all before, by more than `margin`? */
static bool may_be_highest(const struct detail *detail, const struct movement *movement,
                           const struct memory_estimate *estimate, uint64_t margin)
{
    const struct memory_estimate *highest = &detail->highest;

    return exceeds(&estimate->combined, &highest->combined, uncertain_bytes(detail, movement),
                   margin) ||
           exceeds(&estimate->descendants, &highest->descendants, 0, margin) ||
           exceeds(&estimate->main, &highest->main, 0, margin);
}

static bool should_read(struct detail *detail, const struct members *members,
                        const struct movement *movement, uint64_t now_ns,
                        const struct memory_estimate *followed)
{
    uint64_t read_ns = walk_cost_ns(&detail->walk_cost, members->count, movement->rss);
    uint64_t settle_ns = sharing_cost_ns(&detail->sharing, members->count, read_ns);
    /* A read that shows no maximum leaves enough for one that may. */
    bool is_first = !detail->has_estimate || may_be_highest(detail, movement, followed, 0);
    uint64_t needed_ns = is_first ? read_ns : 2 * read_ns;

    detail->tokens_ns =
        tokens_at(detail, now_ns, 3 * (read_ns + (detail->is_unsettled ? settle_ns : 0)));
    detail->refilled_ns = now_ns;
    if (detail->mode != SPOOR_DETAIL_AUTO)
        return detail->mode == SPOOR_DETAIL_ALWAYS;
    /* A job at rest waits for nothing: what is spent on it now may be saved later. */
    if (detail->job_rests && is_first)
        needed_ns = 1;
    return (has_moved(detail, movement) && detail->tokens_ns >= (int64_t)needed_ns) ||
           (detail->is_unsettled && detail->tokens_ns >= (int64_t)(read_ns + settle_ns));
}

bool detail_is_wanted_for_peak(struct detail *detail, struct members *members, pid_t main_pid,
                               uint64_t now_ns, const struct memory_estimate *followed)
{
    struct movements moved_by;
    uint64_t before_bytes = detail->wanted_at_bytes;
    uint64_t margin, read_ns, kept_ns;
    bool is_moving;

    if (detail->mode != SPOOR_DETAIL_AUTO || !detail->has_estimate)
        return false;
    moved_by = movements_measure(detail->root, members, main_pid);
    detail->wanted_at_bytes = moved_by.job.rss;
    /* While memory grows, all that is seen is a maximum, and a read shows the least of it. Better
     * to wait until it has grown; and none may take what that moment, or the next sample, needs. */
    is_moving = moved_by.job.count != detail->wanted_at_count ||
                apart(moved_by.job.rss, before_bytes) > before_bytes / 100;
    detail->wanted_at_count = moved_by.job.count;
    detail->still_looks = is_moving ? 0 : detail->still_looks + 1;
    is_moving = detail->still_looks < STILL_LOOKS;
    if (is_moving && moved_by.job.count == 1)
        return false;
    margin = detail->highest.combined.total_bytes / (is_moving ? 1 : 8);
    read_ns = walk_cost_ns(&detail->walk_cost, members->count, moved_by.job.rss);
    /* One for now and one for the next sample; and once it has grown, one for the next peak. */
    kept_ns = is_moving ? (uint64_t)TOKENS_MAX_NS / 2 : read_ns;
    return moved_by.job.rss > 0 && has_moved(detail, &moved_by.job) &&
           may_be_highest(detail, &moved_by.job, followed, margin) &&
           tokens_at(detail, now_ns, 3 * read_ns) >= (int64_t)(2 * read_ns + kept_ns);
}

/* ---- in between --------------------------------------------------------- */

static void forget_sharing(struct memory_estimate *estimate)
{
    struct memory_split *splits[] = { &estimate->main, &estimate->descendants,
                                      &estimate->combined };

    for (size_t i = 0; i < ARRAY_SIZE(splits); i++)
        splits[i]->private_bytes = splits[i]->shared_bytes = UNKNOWN;
    estimate->pss_bytes = UNKNOWN;
    estimate->hugetlb_bytes = UNKNOWN;
}

static void follow(const struct detail *detail, const struct movements *moved_by,
                   struct memory_estimate *ret)
{
    if (!detail->has_estimate) {
        movements_estimate(moved_by, ret);
        return;
    }
    *ret = detail->estimate;
    movements_follow(moved_by, &detail->bases, detail->left_private_bytes, ret);
    if (detail->is_denied)
        forget_sharing(ret);
}

void detail_follow(const struct detail *detail, struct members *members, pid_t main_pid,
                   struct memory_estimate *ret)
{
    struct movements moved_by = movements_measure(detail->root, members, main_pid);

    follow(detail, &moved_by, ret);
}

/* A member that has called exec since has memory of its own now. */
static void note_borrowers(struct detail *detail, struct members *members)
{
    size_t count = 0;

    for (size_t i = 0; i < members->count; i++) {
        struct member *member = &members->list[i];

        if (!member->borrows_memory)
            continue;
        member->detail_own_bytes = 0;
        count++;
    }
    detail->members_changed |= count != detail->borrowers_count;
    detail->borrowers_count = count;
}

/* What came during the read may be missing in it: that is no excess. */
static struct detail_excess excess_of(const struct memory_estimate *followed,
                                      const struct memory_estimate *estimate,
                                      uint64_t unread_bytes)
{
    const struct memory_split *job = &estimate->combined;
    struct detail_excess excess = {
        .main_total = less(followed->main.total_bytes, estimate->main.total_bytes),
        .descendants_total = less(followed->descendants.total_bytes,
                                  estimate->descendants.total_bytes + unread_bytes),
        .combined_total = less(followed->combined.total_bytes, job->total_bytes + unread_bytes),
    };

    if (is_known(followed->pss_bytes))
        excess.pss = less(followed->pss_bytes, estimate->pss_bytes + unread_bytes);
    if (is_known(followed->combined.private_bytes))
        excess.combined_private =
            less(followed->combined.private_bytes, job->private_bytes + unread_bytes);
    return excess;
}

void detail_update(struct detail *detail, struct members *members, pid_t main_pid,
                   uint64_t now_ns, struct memory_estimate *ret)
{
    struct movements moved_by;

    detail->excess = (struct detail_excess){ 0 };
    note_borrowers(detail, members);
    moved_by = movements_measure(detail->root, members, main_pid);
    follow(detail, &moved_by, ret);
    detail->is_pending = moved_by.job.rss > 0 && detail->mode != SPOOR_DETAIL_NEVER;
    if (moved_by.job.rss == 0 || !should_read(detail, members, &moved_by.job, now_ns, ret) ||
        reserve_views(detail, members->count) < 0) {
        detail->is_pending &= has_moved(detail, &moved_by.job) || detail->is_unsettled;
        return;
    }
    read_detail(detail, members, main_pid);
    detail->excess = excess_of(ret, &detail->estimate, detail->unread_bytes);
    *ret = detail->estimate;
    if (detail->is_denied)
        forget_sharing(ret);
}
