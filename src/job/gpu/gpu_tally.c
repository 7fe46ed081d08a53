/* SPDX-License-Identifier: Apache-2.0 */
#include "job/gpu/gpu_tally.h"

#include <errno.h>
#include <stdlib.h>

#include "base/arithmetic.h"
#include "base/parse.h"
#include "base/unknown.h"
#include "job/gpu/gpu_job_busy.h"
#include "job/gpu/gpu_sum.h"

const char gpu_none_selected[] = "none of this machine's GPUs is assigned to the job";
const char gpu_no_samples[] = "the driver had no samples of it when they were last read";
const char gpu_not_told[] = "the driver does not report it";
static const char not_read_anew[] = "the driver's counter was not read again in that time";
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
        unit->memory_bytes = UNKNOWN;
        unit->has_parts =
            !units[i].device.is_part && i + 1 < count && units[i + 1].device.is_part;
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

static void lose_device(struct gpu_device_view *view)
{
    for (int i = 0; i < GPU_MEASURE_COUNT; i++)
        view->value[i] = UNKNOWN;
    gpu_device_view_explain(view, is_lost);
    view->was_lost = true;
}

void gpu_tally_device(struct gpu_tally *tally, size_t index, const struct gpu_reading *reading,
                      uint64_t now_ns)
{
    struct gpu_unit_tally *unit = &tally->list[index];
    struct gpu_device_view *view = &unit->view;

    if (!reading) {
        lose_device(view);
        unit->memory_bytes = UNKNOWN;
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
    unit->memory_bytes = reading->memory_used_bytes;
    view->value[GPU_UTILIZATION] = unit->busy.last;
    view->value[GPU_ENCODER_UTILIZATION] = unit->encoder.last;
    view->value[GPU_DECODER_UTILIZATION] = unit->decoder.last;
    view->value[GPU_POWER] = reading->power_milliwatts;
    view->value[GPU_TEMPERATURE] = reading->temperature_celsius;
    view->value[GPU_CLOCK] = reading->clock_mhz;
    /* No device uses no energy: at 0 the counter was read once, which is where it starts. */
    view->value[GPU_ENERGY] =
        reading->energy_microjoules > 0 ? reading->energy_microjoules : UNKNOWN;
    view->utilization_mean = gpu_share_mean(&unit->busy, tally->start_ns);
    view->utilization_max = unit->busy.max;
    raise_to(&view->energy_microjoules, view->value[GPU_ENERGY]);
    raise_to(&view->power_max_milliwatts, reading->power_milliwatts);
    raise_to(&view->temperature_max_celsius, reading->temperature_celsius);
    if (is_known(reading->throttle_reasons))
        view->throttle_reasons =
            (is_known(view->throttle_reasons) ? view->throttle_reasons : 0) |
            reading->throttle_reasons;
    view->memory_reason = is_known(reading->memory_used_bytes) ? NULL : gpu_not_told;
    view->energy_reason = is_known(reading->energy_microjoules) ? not_read_anew : gpu_not_told;
    view->busy_reason = reading->busy_reason ? reading->busy_reason : gpu_no_samples;
    view->busy_source = reading->busy_source;
}

void gpu_tally_device_memory(struct gpu_tally *tally, size_t index, uint64_t used_bytes)
{
    if (is_known(used_bytes))
        tally->list[index].memory_bytes = used_bytes;
}

/* ---- processes ---------------------------------------------------------- */

/* Why a process of the job on it may be left out. */
static const char *memory_hidden_by(const struct gpu_unit_tally *unit)
{
    return unit->process_memory_reason ? unit->process_memory_reason : unit->processes_reason;
}

/* The job may have memory that is not told. */
static bool is_unreported(const struct gpu_unit_tally *unit)
{
    return unit->is_unknown && (unit->job_count > 0 || unit->process_memory_reason);
}

static void begin_list(struct gpu_tally *tally)
{
    for (size_t i = 0; i < tally->count; i++) {
        struct gpu_unit_tally *unit = &tally->list[i];

        unit->listed_bytes = unit->job_bytes = 0;
        unit->job_count = unit->present_count = 0;
        unit->reason = memory_hidden_by(unit);
        unit->is_unknown = unit->reason != NULL;
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
    unit->present_count += !row->process.has_ended;
    if (is_known(bytes)) {
        unit->job_bytes = sum_u64(unit->job_bytes, bytes);
    } else {
        unit->is_unknown = true;
        unit->reason = row->process.reason ? row->process.reason : gpu_not_told;
    }
}

/* What the parts of a GPU have together. */
struct parts {
    uint64_t used_bytes, job_bytes;
    const char *reason;
};

/* What processes are told to hold is in use, and what parts have, also since the device was last
 * read. One that tells no memory has none that could be compared with others'. */
static uint64_t used_bytes(const struct gpu_unit_tally *unit, const struct parts *parts)
{
    if (!is_known(unit->memory_bytes))
        return UNKNOWN;
    return larger(unit->memory_bytes, larger(unit->listed_bytes, parts->used_bytes));
}

static void end_memory(struct gpu_unit_tally *unit, const struct parts *parts)
{
    struct gpu_device_view *view = &unit->view;
    uint64_t job_bytes = sum_u64(unit->job_bytes, parts->job_bytes);

    if (!unit->reason)
        unit->reason = parts->reason;
    view->value[GPU_MEMORY] = used_bytes(unit, parts);
    view->value[GPU_JOB_MEMORY] = unit->is_unknown ? UNKNOWN : job_bytes;
    view->memory_now_bytes = view->value[GPU_MEMORY];
    view->job_memory_now_bytes = view->value[GPU_JOB_MEMORY];
    raise_to(&view->memory_peak_bytes, view->memory_now_bytes);
    raise_to(&view->job_memory_peak_bytes, view->job_memory_now_bytes);
    unit->has_unreported_memory |= !is_known(job_bytes) || is_unreported(unit);
    if (unit->has_unreported_memory && view->job_memory_peak_bytes == 0)
        view->job_memory_peak_bytes = UNKNOWN;
    if (unit->reason)
        view->job_memory_reason = unit->reason;
    view->has_had_job |= unit->job_count > 0;
}

static void add_part(struct parts *parts, const struct gpu_unit_tally *unit)
{
    uint64_t bytes = unit->view.value[GPU_MEMORY];

    parts->used_bytes += is_known(bytes) ? bytes : 0;
    parts->job_bytes = sum_u64(parts->job_bytes, unit->view.value[GPU_JOB_MEMORY]);
    if (unit->reason)
        parts->reason = unit->reason;
}

/* Processes of a GPU that is split use its parts, which come after it. */
static void end_lists(struct gpu_tally *tally, uint64_t now_ns)
{
    static const struct parts none;
    struct parts parts = none;

    for (size_t i = tally->count; i-- > 0;) {
        struct gpu_unit_tally *unit = &tally->list[i];
        bool is_part = tally->units[i].device.is_part;

        end_memory(unit, is_part ? &none : &parts);
        gpu_job_busy_note(unit, now_ns);
        gpu_job_busy_show(unit, tally->start_ns);
        if (is_part)
            add_part(&parts, unit);
        else
            parts = none;
    }
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
    const char *reason = NULL;
    uint64_t job_bytes = UNKNOWN;
    bool is_unknown = false, is_hidden = false;

    tally->totals.is_memory_unreported = false;
    for (size_t i = 0; i < tally->count; i++) {
        const struct gpu_unit_tally *unit = &tally->list[i];

        if (!tally->units[i].is_selected)
            continue;
        if (unit->is_unknown) {
            is_unknown = true;
            reason = unit->reason;
        }
        is_hidden |= memory_hidden_by(unit) != NULL;
        tally->totals.is_memory_unreported |= is_unreported(unit);
        tally->totals.has_unreported_memory |= unit->has_unreported_memory;
        job_bytes = (is_known(job_bytes) ? job_bytes : 0) + unit->job_bytes;
    }
    levels->job_memory_bytes = is_unknown ? UNKNOWN : job_bytes;
    levels->main_memory_bytes =
        is_hidden || !is_known(job_bytes) ? UNKNOWN : main_memory(tally, rows, count);
    levels->descendants_memory_bytes =
        is_unknown || !is_known(job_bytes)
            ? UNKNOWN
            : sub_floor0(levels->job_memory_bytes, levels->main_memory_bytes);
    if (!is_known(job_bytes))
        tally->totals.memory_reason = gpu_none_selected;
    else if (is_unknown)
        tally->totals.memory_reason = reason;
}

void gpu_tally_memory(struct gpu_tally *tally, const struct gpu_row *rows, size_t count,
                      uint64_t now_ns)
{
    begin_list(tally);
    for (size_t i = 0; i < count; i++)
        add_memory(&tally->list[rows[i].unit], &rows[i]);
    end_lists(tally, now_ns);
    sum_up_memory(tally, rows, count);
    gpu_sum_up(tally, now_ns);
}

/* ---- accounts ----------------------------------------------------------- */

void gpu_tally_account(struct gpu_tally *tally, size_t unit, uint64_t peak_bytes)
{
    struct gpu_device_view *view = &tally->list[unit].view;

    raise_to(&view->job_memory_peak_bytes, peak_bytes);
    raise_to(&view->memory_peak_bytes, view->job_memory_peak_bytes);
}
