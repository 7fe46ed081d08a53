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
#include "job/memory/shared_files.h"
#include "job/memory/survey.h"

void detail_init(struct detail *detail, const struct root *root, struct budget *budget,
                 enum spoor_detail mode, bool uses_smaps)
{
    *detail = (struct detail){
        .root = root,
        .budget = budget,
        .mode = mode,
        .uses_smaps = uses_smaps && mode == SPOOR_DETAIL_ALWAYS,
        .page_ns = SURVEY_PAGE_NS,
    };
}

void detail_done(struct detail *detail)
{
    free(detail->views);
    memory_areas_done(&detail->areas);
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

static void take_bases(struct detail *detail, const struct roster *roster, pid_t main_pid,
                       size_t view_count)
{
    struct group_bytes largest = largest_resident(detail->views, view_count);
    struct movements movements = movements_measure(detail->root, roster, main_pid);

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
    detail->reads++;
}

/* The mappings of all processes. -E2BIG: there are too many; -ESRCH, -ENOENT, -ENOMEM. */
static int read_mappings(struct detail *detail, size_t view_count, struct shared_files *ret)
{
    struct memory_areas *areas = &detail->areas;
    int r = 0;

    memory_areas_clear(areas);
    for (size_t i = 0; i < view_count && r == 0; i++)
        r = memory_areas_read(areas, detail->root, detail->views[i].pid,
                              detail->views[i].is_main);
    detail->has_too_many_areas |= r == -E2BIG;
    return r != 0 ? r : shared_files_estimate(areas, ret);
}

static void read_detail(struct detail *detail, struct roster *roster, pid_t main_pid)
{
    const struct root *root = detail->root;
    uint64_t started_ns = cpu_spent_ns(root), spent_ns;
    struct survey survey = survey_plan(roster, main_pid);
    struct shared_files files;
    bool has_files;

    survey_take(&survey, root, roster, main_pid, detail->views);
    has_files = detail->uses_smaps && !survey.is_denied &&
                read_mappings(detail, survey.count, &files) == 0;
    survey_look_again(&survey, root, roster, main_pid);
    shared_memory_estimate(detail->views, survey.count, survey.is_racy, survey.gained_bytes,
                           &detail->estimate);
    if (has_files && !survey.is_racy)
        shared_files_correct(&files, detail->views, survey.count, &detail->estimate);
    remember(detail, &survey);
    take_bases(detail, roster, main_pid, survey.count);
    spent_ns = cpu_spent_ns(root) - started_ns;
    detail->page_ns = survey_learn(&survey, detail->page_ns, spent_ns);
    (detail->is_on_credit ? budget_borrow : budget_charge)(detail->budget, SPENT_SHARING,
                                                           spent_ns);
}

/* ---- when --------------------------------------------------------------- */

/* Has memory moved by 2 % since the last read, in a way that sizes alone do not tell? What a lone
 * process has of no file is its own, however it grows and shrinks. */
static bool has_moved(const struct detail *detail, const struct movement *movement)
{
    uint64_t threshold = detail->estimate.combined.total_bytes / 50;
    uint64_t mapped = apart(movement->mapped, detail->bases.job.mapped);

    if (!detail->has_estimate || detail->members_changed || mapped > threshold)
        return true;
    return movement->count > 1 &&
           (detail->was_racy || movement->grown > threshold || movement->fallen > threshold ||
            movement->faults > threshold);
}

/* What the job may have beyond what the values say: pages of files that several have gained, if they
 * are not the same ones, and pages that were copied on write. */
static uint64_t uncertain_bytes(const struct detail *detail, const struct movement *movement)
{
    const struct movement_base *base = &detail->bases.job;
    uint64_t mapped = less(movement->mapped, base->mapped);

    return less(mapped, less(movement->mapped_max, base->mapped_max)) +
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

/* A maximum of several processes may be read on credit; of a lone one, sizes tell most. While the job
 * runs, what is seen may soon be exceeded: then credit is left for when it comes to rest. */
static bool is_affordable(struct detail *detail, const struct roster *roster, pid_t main_pid,
                          bool is_peak)
{
    enum { LEFT_FOR_REST = 3, LEFT_FOR_PEAK = 2 }; /* in reads */
    struct survey plan = survey_plan(roster, main_pid);
    uint64_t cost_ns = survey_cost_ns(&plan, detail->page_ns);
    bool is_resting = detail->activity == JOB_RESTS;

    detail->is_on_credit =
        is_peak && (is_resting || detail->moved_by.job.count > 1) &&
        budget_lends(detail->budget, is_resting ? cost_ns : LEFT_FOR_REST * cost_ns);
    return detail->is_on_credit || budget_allows(detail->budget, SPENT_SHARING,
                                                 is_peak ? cost_ns : LEFT_FOR_PEAK * cost_ns);
}

/* Between samples only a maximum is worth a read: one that beats the last by an eighth, or one of a job
 * that has come to rest. */
static bool should_read(struct detail *detail, const struct roster *roster, pid_t main_pid,
                        bool is_glance, const struct memory_estimate *followed)
{
    const struct movement *movement = &detail->moved_by.job;
    bool is_fleeting = is_glance && detail->activity != JOB_RESTS;
    uint64_t margin = is_fleeting ? detail->highest.combined.total_bytes / 8 : 0;
    bool is_peak = !detail->has_estimate || detail->was_racy ||
                   may_be_highest(detail, movement, followed, margin);

    if (movement->rss == 0 || detail->mode == SPOOR_DETAIL_NEVER)
        return false;
    if (detail->mode == SPOOR_DETAIL_ALWAYS)
        return !is_fleeting;
    if (!has_moved(detail, movement) ||
        (is_fleeting && (detail->activity == JOB_GROWS || !is_peak)))
        return false;
    return is_affordable(detail, roster, main_pid, is_peak);
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

/* The estimate from resident sizes alone. */
static void follow(struct detail *detail, const struct roster *roster, pid_t main_pid,
                   struct memory_estimate *ret)
{
    detail->moved_by = movements_measure(detail->root, roster, main_pid);
    if (!detail->has_estimate) {
        movements_estimate(&detail->moved_by, ret);
        return;
    }
    *ret = detail->estimate;
    movements_follow(&detail->moved_by, &detail->bases, detail->left_private_bytes, ret);
    if (detail->is_denied)
        forget_sharing(ret);
}

void detail_update(struct detail *detail, struct roster *roster, pid_t main_pid, bool is_glance,
                   struct memory_estimate *ret)
{
    detail->was_read = false;
    follow(detail, roster, main_pid, ret);
    if (!should_read(detail, roster, main_pid, is_glance, ret) ||
        reserve_views(detail, roster->count) < 0) {
        detail->is_pending = detail->mode != SPOOR_DETAIL_NEVER &&
                             detail->moved_by.job.rss > 0 &&
                             has_moved(detail, &detail->moved_by.job);
        return;
    }
    read_detail(detail, roster, main_pid);
    detail->is_pending = false;
    detail->was_read = true;
    *ret = detail->estimate;
    if (detail->is_denied)
        forget_sharing(ret);
}
