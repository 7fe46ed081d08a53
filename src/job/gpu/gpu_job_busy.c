/* SPDX-License-Identifier: Apache-2.0 */
#include "job/gpu/gpu_job_busy.h"

#include <errno.h>
#include <stdlib.h>

#include "base/arithmetic.h"
#include "base/clock.h"
#include "base/reserve.h"
#include "base/unknown.h"

/* Samples of a device that was looked at so long after a process was last there speak of it. */
#define SAMPLES_LATE_NS NS_PER_SECOND

static const char in_parts[] =
    "the GPU is partitioned (MIG): processes are reported for its parts only";

/* ---- is it known? ------------------------------------------------------- */

/* A process of the job is there, or was, and no window has spoken of it. */
static bool is_awaited(const struct gpu_unit_tally *unit)
{
    const struct gpu_share *share = &unit->job_busy;

    return (share->was_idle || !is_known(share->last)) && unit->job_seen_ns > share->until_ns;
}

bool gpu_job_busy_is_unreported(const struct gpu_unit_tally *unit)
{
    return unit->unreported_count > 0 || is_awaited(unit);
}

bool gpu_job_busy_has_unreported(const struct gpu_unit_tally *unit)
{
    return unit->lost_reason || gpu_job_busy_is_unreported(unit);
}

bool gpu_job_busy_is_unknown(const struct gpu_unit_tally *unit)
{
    return unit->processes_reason || unit->unreported_reason || is_awaited(unit);
}

const char *gpu_job_busy_reason(const struct gpu_unit_tally *unit)
{
    if (unit->processes_reason)
        return unit->processes_reason;
    if (unit->unreported_reason)
        return unit->unreported_reason;
    if (unit->lost_reason)
        return unit->lost_reason;
    return unit->has_parts ? in_parts : gpu_no_samples;
}

void gpu_job_busy_note(struct gpu_unit_tally *unit, uint64_t now_ns)
{
    if (unit->present_count > 0)
        unit->job_seen_ns = now_ns;
}

void gpu_job_busy_show(struct gpu_unit_tally *unit, uint64_t start_ns)
{
    struct gpu_device_view *view = &unit->view;
    const struct gpu_share *share = &unit->job_busy;
    bool was_measured = share->total_ns > 0 || !gpu_job_busy_has_unreported(unit);

    view->value[GPU_JOB_UTILIZATION] = gpu_job_busy_is_unknown(unit) ? UNKNOWN : share->last;
    view->job_utilization_mean = was_measured ? gpu_share_mean(share, start_ns) : UNKNOWN;
    view->job_utilization_max = was_measured ? share->max : UNKNOWN;
    view->job_busy_reason = gpu_job_busy_reason(unit);
}

/* ---- processes ---------------------------------------------------------- */

static int compare_uses(const void *left, const void *right)
{
    const struct gpu_use *a = left, *b = right;

    if (a->unit != b->unit)
        return a->unit > b->unit ? 1 : -1;
    return (a->pid > b->pid) - (a->pid < b->pid);
}

/* Where a process stood before; NULL: it is new to us, and counts from its beginning, which is not
 * before ours. */
static const struct gpu_use *find_use(const struct gpu_tally *tally, const struct gpu_use *use)
{
    if (tally->use_count == 0)
        return NULL;
    return bsearch(use, tally->uses, tally->use_count, sizeof(*use), compare_uses);
}

static int reserve_uses(struct gpu_tally *tally, size_t count)
{
    size_t capacity = tally->use_capacity;
    int r = reserve(&tally->spare, &capacity, count, sizeof(*tally->spare));

    return r < 0 ? r : reserve(&tally->uses, &tally->use_capacity, count, sizeof(*tally->uses));
}

static void begin_list(struct gpu_unit_tally *unit)
{
    unit->job_covered_ns = UNKNOWN;
    unit->job_count = unit->present_count = 0;
    unit->listed_unreported_count = unit->found_count = 0;
    unit->reason = unit->processes_reason;
}

static void add_process(struct gpu_tally *tally, const struct gpu_row *row, size_t *use_count)
{
    struct gpu_unit_tally *unit = &tally->list[row->unit];
    struct gpu_use use = { .unit = row->unit, .pid = row->process.pid };
    const struct gpu_use *before = find_use(tally, &use);
    uint64_t before_ns = before ? before->busy_ns : 0;

    unit->job_count++;
    unit->present_count += !row->process.has_ended;
    unit->found_count += before && before->is_unreported;
    use.is_unreported = !is_known(row->process.busy_ns);
    use.busy_ns =
        use.is_unreported ? before_ns : row->process.busy_ns; /* it may be told again */
    if (use.is_unreported) {
        unit->listed_unreported_count++;
        unit->reason = row->process.reason ? row->process.reason : gpu_not_told;
    } else {
        unit->job_busy_ns += sub_floor0(use.busy_ns, before_ns);
        unit->job_covered_ns = row->process.busy_covered_ns;
        unit->view.is_busy_attributed |= row->process.is_busy_attributed;
    }
    tally->spare[(*use_count)++] = use;
}

/* Nobody of the job is there. Where one was, the samples of that time must have come: it is not in
 * them, and did nothing; unless there is nothing to wait for. Of a GPU that is split its parts
 * tell. */
static bool is_idle(const struct gpu_unit_tally *unit)
{
    if (unit->has_parts && !is_known(unit->job_busy.last))
        return false;
    return !is_awaited(unit) || unit->lost_reason ||
           sub_floor0(unit->busy.until_ns, unit->job_seen_ns) >= SAMPLES_LATE_NS;
}

static void end_list(struct gpu_unit_tally *unit, uint64_t now_ns)
{
    if (unit->found_count < unit->unreported_count)
        unit->lost_reason = unit->unreported_reason;
    unit->unreported_count = unit->listed_unreported_count;
    unit->unreported_reason = unit->reason;
    gpu_job_busy_note(unit, now_ns);
    if (unit->reason)
        return;
    if (unit->job_count > 0)
        (void)gpu_share_advance(&unit->job_busy, unit->job_busy_ns, unit->job_covered_ns,
                                now_ns);
    else if (is_idle(unit))
        gpu_share_idle(&unit->job_busy, now_ns);
}

/* ---- others ------------------------------------------------------------- */

static bool has_others(const struct gpu_row *rows, size_t count, size_t unit)
{
    for (size_t i = 0; i < count; i++) {
        if (rows[i].unit == unit && !rows[i].is_job && rows[i].process.computes &&
            !rows[i].process.has_ended)
            return true;
    }
    return false;
}

/* Was a GPU busy that the job shares with others? */
static void note_others(struct gpu_tally *tally, size_t unit, const struct gpu_row *rows,
                        size_t count)
{
    const struct gpu_unit_tally *of = &tally->list[unit];

    if (tally->units[unit].sources->names_one && tally->units[unit].is_selected &&
        of->job_count > 0 && is_known(of->busy.last) && of->busy.last > 0 &&
        has_others(rows, count, unit))
        tally->totals.is_busy_mixed = true;
}

int gpu_tally_busy(struct gpu_tally *tally, const struct gpu_row *rows, size_t count,
                   uint64_t now_ns)
{
    struct gpu_use *before;
    size_t use_count = 0;
    int r = reserve_uses(tally, count);

    if (r < 0)
        return r;
    for (size_t i = 0; i < tally->count; i++)
        begin_list(&tally->list[i]);
    for (size_t i = 0; i < count; i++) {
        if (rows[i].is_job)
            add_process(tally, &rows[i], &use_count);
    }
    for (size_t i = 0; i < tally->count; i++) {
        note_others(tally, i, rows, count);
        end_list(&tally->list[i], now_ns);
    }
    before = tally->uses;
    tally->uses = tally->spare;
    tally->spare = before;
    tally->use_count = use_count;
    if (use_count > 0)
        qsort(tally->uses, use_count, sizeof(*tally->uses), compare_uses);
    return 0;
}
