/* SPDX-License-Identifier: Apache-2.0 */
#include "job/gpu/gpu_sum.h"

#include "base/arithmetic.h"
#include "base/unknown.h"
#include "job/gpu/gpu_job_busy.h"

typedef uint64_t value_of(const struct gpu_unit_tally *unit, uint64_t now_ns);

static uint64_t memory_of(const struct gpu_unit_tally *unit, uint64_t now_ns)
{
    (void)now_ns;
    return unit->view.value[GPU_MEMORY];
}

static uint64_t energy_of(const struct gpu_unit_tally *unit, uint64_t now_ns)
{
    (void)now_ns;
    return unit->view.energy_microjoules; /* of one that is lost or asleep, as it was */
}

static uint64_t busy_of(const struct gpu_unit_tally *unit, uint64_t now_ns)
{
    return gpu_share_total_ns(&unit->busy, now_ns);
}

static uint64_t utilization_of(const struct gpu_unit_tally *unit, uint64_t now_ns)
{
    (void)now_ns;
    return unit->busy.last;
}

static uint64_t job_busy_of(const struct gpu_unit_tally *unit, uint64_t now_ns)
{
    return gpu_share_total_ns(&unit->job_busy, now_ns);
}

static uint64_t job_utilization_of(const struct gpu_unit_tally *unit, uint64_t now_ns)
{
    (void)now_ns;
    return unit->job_busy.last;
}

enum scope {
    OF_ALL,      /* GPUs: a part counts where what it is part of does not tell */
    OF_SELECTED, /* those that are the job's, likewise */
    OF_JOB,      /* those, for figures of processes, which use either the whole or a part */
};

static uint64_t sum_of(const struct gpu_tally *tally, value_of *get, enum scope scope,
                       uint64_t now_ns)
{
    bool has_whole = false;
    uint64_t sum = UNKNOWN;

    for (size_t i = 0; i < tally->count; i++) {
        const struct gpu_unit *unit = &tally->units[i];
        uint64_t value =
            scope == OF_ALL || unit->is_selected ? get(&tally->list[i], now_ns) : UNKNOWN;

        if (!unit->device.is_part)
            has_whole = is_known(value) && scope != OF_JOB;
        else if (has_whole)
            continue;
        if (is_known(value))
            sum = is_known(sum) ? sum_u64(sum, value) : value;
    }
    return sum;
}

/* The first reason that one of the job's GPUs has. */
static const char *reason_of(const struct gpu_tally *tally,
                             const char *(*get)(const struct gpu_unit_tally *unit))
{
    bool has_selected = false;

    for (size_t i = 0; i < tally->count; i++) {
        const char *reason = tally->units[i].is_selected ? get(&tally->list[i]) : NULL;

        has_selected |= tally->units[i].is_selected;
        if (reason)
            return reason;
    }
    return has_selected ? gpu_not_told : gpu_none_selected;
}

static const char *busy_reason_of(const struct gpu_unit_tally *unit)
{
    return unit->view.busy_reason;
}

static const char *job_busy_reason_of(const struct gpu_unit_tally *unit)
{
    bool is_missing = gpu_job_busy_is_unknown(unit) || gpu_job_busy_has_unreported(unit) ||
                      (!is_known(unit->job_busy.last) && !unit->has_parts);

    return is_missing ? gpu_job_busy_reason(unit) : NULL;
}

static const char *energy_reason_of(const struct gpu_unit_tally *unit)
{
    return unit->view.energy_reason;
}

static void sum_up_job_busy(struct gpu_tally *tally, uint64_t now_ns)
{
    struct gpu_totals *totals = &tally->totals;
    bool is_unknown = false;

    totals->is_busy_unreported = totals->has_unreported_busy = false;
    for (size_t i = 0; i < tally->count; i++) {
        if (!tally->units[i].is_selected)
            continue;
        is_unknown |= gpu_job_busy_is_unknown(&tally->list[i]);
        totals->is_busy_unreported |= gpu_job_busy_is_unreported(&tally->list[i]);
        totals->has_unreported_busy |= gpu_job_busy_has_unreported(&tally->list[i]);
        totals->is_busy_attributed |= tally->list[i].view.is_busy_attributed;
    }
    totals->levels.job_utilization =
        is_unknown ? UNKNOWN : sum_of(tally, job_utilization_of, OF_JOB, now_ns);
    totals->job_busy_ns = is_unknown ? UNKNOWN : sum_of(tally, job_busy_of, OF_JOB, now_ns);
    totals->job_busy_reason = reason_of(tally, job_busy_reason_of);
}

void gpu_sum_up(struct gpu_tally *tally, uint64_t now_ns)
{
    struct gpu_totals *totals = &tally->totals;

    totals->levels.host_memory_bytes = sum_of(tally, memory_of, OF_ALL, now_ns);
    totals->host_memory_reason = gpu_not_told;
    totals->levels.utilization = sum_of(tally, utilization_of, OF_SELECTED, now_ns);
    totals->busy_ns = sum_of(tally, busy_of, OF_SELECTED, now_ns);
    totals->busy_reason = reason_of(tally, busy_reason_of);
    totals->energy_microjoules = sum_of(tally, energy_of, OF_SELECTED, now_ns);
    totals->energy_reason = reason_of(tally, energy_reason_of);
    sum_up_job_busy(tally, now_ns);
}
