/* SPDX-License-Identifier: Apache-2.0 */
#include "job/gpu/gpu_tally.h"

#include <errno.h>
#include <stdlib.h>

#include "base/arithmetic.h"
#include "base/parse.h"
#include "base/unknown.h"

static const char none_selected[] = "none of this machine's GPUs is the job's";
static const char too_short[] = "the run was too short for the samples that drivers take";
static const char not_told[] = "the driver does not tell it";
static const char is_lost[] = "the driver has lost the device";

int gpu_tally_init(struct gpu_tally *tally, const struct gpu_unit *units, size_t count,
                   uint64_t start_ns)
{
    *tally = (struct gpu_tally){ .units = units, .start_ns = start_ns };
    gpu_totals_clear(&tally->totals);
    tally->list = calloc(count, sizeof(*tally->list));
    if (!tally->list)
        return -ENOMEM;
    tally->count = count;
    for (size_t i = 0; i < count; i++) {
        struct gpu_unit_tally *unit = &tally->list[i];

        gpu_share_begin(&unit->busy, start_ns);
        gpu_share_begin(&unit->job_busy, start_ns);
        gpu_share_begin(&unit->encoder, start_ns);
        gpu_share_begin(&unit->decoder, start_ns);
        gpu_device_view_clear(&unit->view);
    }
    return 0;
}

void gpu_tally_done(struct gpu_tally *tally)
{
    free(tally->list);
    free(tally->uses);
    free(tally->spare);
    *tally = (struct gpu_tally){ 0 };
}

/* ---- devices ------------------------------------------------------------ */

/* Mean share from the start to the last window. */
static uint64_t mean_of(const struct gpu_share *share, uint64_t start_ns)
{
    uint64_t span_ns = less(share->until_ns, start_ns);

    if (!is_known(share->last) || span_ns == 0)
        return UNKNOWN;
    return smaller((uint64_t)((double)share->total_ns / (double)span_ns * GPU_SHARE_WHOLE),
                   GPU_SHARE_WHOLE);
}

static void lose_device(struct gpu_device_view *view)
{
    for (int i = 0; i < GPU_MEASURE_COUNT; i++)
        view->value[i] = UNKNOWN;
    view->memory_reason = view->busy_reason = view->job_busy_reason = is_lost;
    view->was_lost = true;
}

void gpu_tally_device(struct gpu_tally *tally, size_t index, const struct gpu_reading *reading,
                      uint64_t now_ns)
{
    struct gpu_unit_tally *unit = &tally->list[index];
    struct gpu_device_view *view = &unit->view;

    if (!reading) {
        lose_device(view);
        unit->processes_reason = is_lost;
        return;
    }
    unit->processes_reason = reading->processes_reason;
    unit->process_memory_reason = reading->process_memory_reason;
    (void)gpu_share_advance(&unit->busy, reading->busy_ns, reading->busy_covered_ns, now_ns);
    (void)gpu_share_advance(&unit->encoder, reading->encoder_busy_ns,
                            reading->encoder_covered_ns, now_ns);
    (void)gpu_share_advance(&unit->decoder, reading->decoder_busy_ns,
                            reading->decoder_covered_ns, now_ns);
    view->value[GPU_MEMORY] = reading->memory_used_bytes;
    view->value[GPU_UTILIZATION] = unit->busy.last;
    view->value[GPU_ENCODER_UTILIZATION] = unit->encoder.last;
    view->value[GPU_DECODER_UTILIZATION] = unit->decoder.last;
    view->value[GPU_POWER] = reading->power_milliwatts;
    view->value[GPU_TEMPERATURE] = reading->temperature_celsius;
    view->value[GPU_CLOCK] = reading->clock_mhz;
    /* The first reading is where the counter starts: it says nothing yet. */
    view->value[GPU_ENERGY] = unit->has_reading ? reading->energy_microjoules : UNKNOWN;
    view->utilization_mean = mean_of(&unit->busy, tally->start_ns);
    view->utilization_max = unit->busy.max;
    raise_to(&view->energy_microjoules, view->value[GPU_ENERGY]);
    unit->has_reading = true;
    raise_to(&view->power_max_milliwatts, reading->power_milliwatts);
    raise_to(&view->temperature_max_celsius, reading->temperature_celsius);
    if (is_known(reading->throttle_reasons))
        view->throttle_reasons =
            (is_known(view->throttle_reasons) ? view->throttle_reasons : 0) |
            reading->throttle_reasons;
    view->memory_reason = is_known(reading->memory_used_bytes) ? NULL : not_told;
    view->busy_reason = reading->busy_reason ? reading->busy_reason : too_short;
    view->busy_source = reading->busy_source;
}

/* ---- sums over devices -------------------------------------------------- */

typedef uint64_t value_of(const struct gpu_unit_tally *unit, uint64_t now_ns);

static uint64_t memory_of(const struct gpu_unit_tally *unit, uint64_t now_ns)
{
    (void)now_ns;
    return unit->view.value[GPU_MEMORY];
}

static uint64_t energy_of(const struct gpu_unit_tally *unit, uint64_t now_ns)
{
    (void)now_ns;
    return unit->view.value[GPU_ENERGY];
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
        const char *reason = get(&tally->list[i]);

        has_selected |= tally->units[i].is_selected;
        if (tally->units[i].is_selected && reason)
            return reason;
    }
    return has_selected ? not_told : none_selected;
}

static const char *busy_reason_of(const struct gpu_unit_tally *unit)
{
    return unit->view.busy_reason;
}

static const char *no_reason(const struct gpu_unit_tally *unit)
{
    (void)unit;
    return NULL;
}

static void sum_up_job_busy(struct gpu_tally *tally, uint64_t now_ns)
{
    struct gpu_totals *totals = &tally->totals;
    bool is_unknown = false;

    totals->job_busy_reason = none_selected;
    for (size_t i = 0; i < tally->count; i++) {
        if (!tally->units[i].is_selected)
            continue;
        if (!totals->has_untold_busy)
            totals->job_busy_reason = tally->list[i].view.job_busy_reason;
        is_unknown |= tally->list[i].is_job_busy_unknown;
        totals->has_untold_busy |= tally->list[i].has_untold_busy;
        totals->is_busy_attributed |= tally->list[i].view.is_busy_attributed;
    }
    totals->levels.job_utilization =
        is_unknown ? UNKNOWN : sum_of(tally, job_utilization_of, OF_JOB, now_ns);
    totals->job_busy_ns = is_unknown ? UNKNOWN : sum_of(tally, job_busy_of, OF_JOB, now_ns);
}

static void sum_up(struct gpu_tally *tally, uint64_t now_ns)
{
    struct gpu_totals *totals = &tally->totals;

    totals->levels.host_memory_bytes = sum_of(tally, memory_of, OF_ALL, now_ns);
    totals->host_memory_reason = not_told;
    totals->levels.utilization = sum_of(tally, utilization_of, OF_SELECTED, now_ns);
    totals->busy_ns = sum_of(tally, busy_of, OF_SELECTED, now_ns);
    totals->busy_reason = reason_of(tally, busy_reason_of);
    totals->energy_microjoules = sum_of(tally, energy_of, OF_SELECTED, now_ns);
    totals->energy_reason = reason_of(tally, no_reason);
    sum_up_job_busy(tally, now_ns);
}

/* ---- processes ---------------------------------------------------------- */

/* Why a process of the job on it may be left out. */
static const char *memory_hidden_by(const struct gpu_unit_tally *unit)
{
    return unit->process_memory_reason ? unit->process_memory_reason : unit->processes_reason;
}

static const char *busy_hidden_by(const struct gpu_unit_tally *unit)
{
    return unit->processes_reason;
}

static void begin_list(struct gpu_tally *tally,
                       const char *(*hidden_by)(const struct gpu_unit_tally *unit))
{
    for (size_t i = 0; i < tally->count; i++) {
        struct gpu_unit_tally *unit = &tally->list[i];

        unit->listed_bytes = unit->job_bytes = 0;
        unit->job_covered_ns = UNKNOWN;
        unit->job_count = 0;
        unit->reason = hidden_by(unit);
        unit->is_unknown = unit->reason != NULL;
        unit->is_attributed = false;
    }
}

static void add_memory(struct gpu_unit_tally *unit, const struct gpu_row *row)
{
    uint64_t bytes = row->process.memory_bytes;

    if (is_known(bytes))
        unit->listed_bytes = sum_u64(unit->listed_bytes, bytes);
    if (!row->is_job)
        return;
    unit->job_count++;
    unit->is_attributed |= row->process.is_attributed;
    if (is_known(bytes)) {
        unit->job_bytes = sum_u64(unit->job_bytes, bytes);
    } else {
        unit->is_unknown = true;
        unit->reason = row->process.reason ? row->process.reason : not_told;
    }
}

static void end_memory(struct gpu_unit_tally *unit)
{
    struct gpu_device_view *view = &unit->view;

    /* What processes are told to hold is in use, also since the device was last read. */
    if (unit->listed_bytes > 0)
        raise_to(&view->value[GPU_MEMORY], unit->listed_bytes);
    view->value[GPU_JOB_MEMORY] = unit->is_unknown ? UNKNOWN : unit->job_bytes;
    view->memory_now_bytes = view->value[GPU_MEMORY];
    view->job_memory_now_bytes = view->value[GPU_JOB_MEMORY];
    raise_to(&view->memory_peak_bytes, view->memory_now_bytes);
    raise_to(&view->job_memory_peak_bytes, view->job_memory_now_bytes);
    unit->has_untold_memory |=
        unit->is_unknown && (unit->job_count > 0 || unit->process_memory_reason);
    if (unit->has_untold_memory && view->job_memory_peak_bytes == 0)
        view->job_memory_peak_bytes = UNKNOWN;
    if (unit->reason)
        view->job_memory_reason = unit->reason;
    view->is_attributed |= unit->is_attributed;
}

/* Main's part of the job's memory, on its GPUs; UNKNOWN: it is not told. */
static uint64_t main_memory(const struct gpu_tally *tally, const struct gpu_row *rows,
                            size_t count)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < count; i++) {
        if (rows[i].is_main && tally->units[rows[i].unit].is_selected)
            sum = sum_u64(sum, rows[i].process.memory_bytes);
    }
    return sum;
}

static void sum_up_memory(struct gpu_tally *tally, const struct gpu_row *rows, size_t count)
{
    struct gpu_levels *levels = &tally->totals.levels;
    const char *reason = none_selected;
    uint64_t job_bytes = UNKNOWN;
    bool is_unknown = false, is_hidden = false;

    for (size_t i = 0; i < tally->count; i++) {
        const struct gpu_unit_tally *unit = &tally->list[i];

        if (!tally->units[i].is_selected)
            continue;
        if (unit->is_unknown) {
            is_unknown = true;
            reason = unit->reason;
        }
        is_hidden |= memory_hidden_by(unit) != NULL;
        tally->totals.is_attributed |= unit->is_attributed;
        tally->totals.has_untold_memory |= unit->has_untold_memory;
        job_bytes = (is_known(job_bytes) ? job_bytes : 0) + unit->job_bytes;
    }
    levels->job_memory_bytes = is_unknown ? UNKNOWN : job_bytes;
    levels->main_memory_bytes =
        is_hidden || !is_known(job_bytes) ? UNKNOWN : main_memory(tally, rows, count);
    levels->descendants_memory_bytes =
        is_unknown || !is_known(job_bytes)
            ? UNKNOWN
            : less(levels->job_memory_bytes, levels->main_memory_bytes);
    if (is_unknown || !tally->totals.memory_reason)
        tally->totals.memory_reason = reason;
}

void gpu_tally_memory(struct gpu_tally *tally, const struct gpu_row *rows, size_t count,
                      uint64_t now_ns)
{
    begin_list(tally, memory_hidden_by);
    for (size_t i = 0; i < count; i++)
        add_memory(&tally->list[rows[i].unit], &rows[i]);
    for (size_t i = 0; i < tally->count; i++)
        end_memory(&tally->list[i]);
    sum_up_memory(tally, rows, count);
    sum_up(tally, now_ns);
}

/* ---- busy time ---------------------------------------------------------- */

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
    struct gpu_use *uses, *spare;

    if (count <= tally->use_capacity)
        return 0;
    uses = realloc(tally->uses, 2 * count * sizeof(*uses));
    if (!uses)
        return -ENOMEM;
    tally->uses = uses;
    spare = realloc(tally->spare, 2 * count * sizeof(*spare));
    if (!spare)
        return -ENOMEM;
    tally->spare = spare;
    tally->use_capacity = 2 * count;
    return 0;
}

static void add_busy(struct gpu_tally *tally, const struct gpu_row *row, size_t *use_count)
{
    struct gpu_unit_tally *unit = &tally->list[row->unit];
    struct gpu_use use = { row->unit, row->process.pid, row->process.busy_ns };
    const struct gpu_use *before = find_use(tally, &use);

    unit->job_count++;
    if (!is_known(use.busy_ns)) {
        unit->is_unknown = true;
        unit->reason = row->process.reason ? row->process.reason : not_told;
        if (before) /* it may be told again */
            tally->spare[(*use_count)++] = *before;
        return;
    }
    unit->job_busy_ns += less(use.busy_ns, before ? before->busy_ns : 0);
    unit->job_covered_ns = row->process.busy_covered_ns;
    unit->view.is_busy_attributed |= row->process.is_busy_attributed;
    tally->spare[(*use_count)++] = use;
}

static void end_busy(struct gpu_tally *tally, struct gpu_unit_tally *unit, uint64_t now_ns)
{
    struct gpu_device_view *view = &unit->view;

    if (!unit->is_unknown && unit->job_count == 0)
        gpu_share_idle(&unit->job_busy, now_ns);
    else if (!unit->is_unknown)
        (void)gpu_share_advance(&unit->job_busy, unit->job_busy_ns, unit->job_covered_ns,
                                now_ns);
    view->value[GPU_JOB_UTILIZATION] = unit->is_unknown ? UNKNOWN : unit->job_busy.last;
    view->job_utilization_mean = mean_of(&unit->job_busy, tally->start_ns);
    view->job_utilization_max = unit->job_busy.max;
    if (unit->is_unknown || !view->job_busy_reason)
        view->job_busy_reason = unit->is_unknown ? unit->reason : too_short;
    unit->is_job_busy_unknown = unit->is_unknown;
    unit->has_untold_busy |= unit->is_unknown && unit->job_count > 0;
    if (unit->has_untold_busy && unit->job_busy.total_ns == 0)
        view->job_utilization_mean = view->job_utilization_max = UNKNOWN;
}

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
    begin_list(tally, busy_hidden_by);
    for (size_t i = 0; i < count; i++) {
        if (rows[i].is_job)
            add_busy(tally, &rows[i], &use_count);
    }
    for (size_t i = 0; i < tally->count; i++) {
        note_others(tally, i, rows, count);
        end_busy(tally, &tally->list[i], now_ns);
    }
    before = tally->uses;
    tally->uses = tally->spare;
    tally->spare = before;
    tally->use_count = use_count;
    if (use_count > 0)
        qsort(tally->uses, use_count, sizeof(*tally->uses), compare_uses);
    return 0;
}

void gpu_tally_account(struct gpu_tally *tally, size_t unit, uint64_t peak_bytes)
{
    struct gpu_device_view *view = &tally->list[unit].view;

    raise_to(&view->job_memory_peak_bytes, peak_bytes);
    raise_to(&view->memory_peak_bytes, view->job_memory_peak_bytes);
}
