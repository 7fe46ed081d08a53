/* SPDX-License-Identifier: Apache-2.0 */
#include "job/gpu/gpu_account.h"

#include <errno.h>
#include <stdlib.h>

#include "base/amount.h"
#include "base/clock.h"
#include "base/compiler.h"
#include "base/reserve.h"

/* Samples read this long after a process left the device include all of its work. */
#define SAMPLES_LATE_NS NS_PER_SECOND

const char gpu_not_reported[] = "the driver does not report it";
static const char none_selected[] = "none of this machine's GPUs is assigned to the job";
static const char no_samples[] = "the driver had no samples of it when they were last read";
static const char not_read_anew[] = "the driver's counter was not read again in that time";
static const char is_lost[] = "the driver has lost the device";
static const char in_parts[] =
    "the GPU is partitioned (MIG): processes are reported for its parts only";

int gpu_account_init(struct gpu_account *account, const struct gpu_unit *units, size_t count,
                     uint64_t start_ns)
{
    *account = (struct gpu_account){ .units = units, .start_ns = start_ns };
    gpu_totals_clear(&account->totals);
    account->list = calloc(count, sizeof(*account->list));
    if (!account->list)
        return -ENOMEM;
    account->count = count;
    for (size_t i = 0; i < count; i++) {
        struct gpu_unit_account *unit = &account->list[i];

        gpu_share_begin(&unit->busy, start_ns);
        gpu_share_begin(&unit->job_busy, start_ns);
        gpu_share_begin(&unit->encoder, start_ns);
        gpu_share_begin(&unit->decoder, start_ns);
        gpu_device_view_init(&unit->view, units[i].sources);
        unit->memory_bytes = UNKNOWN;
        unit->charge_bytes = unit->charge_peak_bytes = unit->charge_risen_bytes = UNKNOWN;
        for (int kind = 0; kind < GPU_WORK_KINDS; kind++) {
            unit->work.counts[kind] = UNKNOWN;
            unit->view.figures[GPU_WORK + kind].measure.origin.reason = gpu_not_reported;
        }
        unit->has_parts =
            !units[i].device.is_part && i + 1 < count && units[i + 1].device.is_part;
    }
    return 0;
}

void gpu_account_done(struct gpu_account *account)
{
    free(account->list);
    free(account->uses);
    *account = (struct gpu_account){ 0 };
}

/* ---- devices ------------------------------------------------------------ */

/* Sets a figure of a device and raises its peak. `reason`: why the value is unknown. */
static void set(struct gpu_unit_account *unit, enum gpu_measure measure, uint64_t value,
                const char *reason)
{
    struct gpu_figure *figure = &unit->view.figures[measure];

    figure->measure.value = figure->measure.now = value;
    figure->measure.origin.reason = reason;
    raise_to(&figure->peak, value);
}

static void set_share(struct gpu_unit_account *unit, enum gpu_measure measure,
                      const struct gpu_share *share, uint64_t start_ns, const char *reason)
{
    set(unit, measure, share->last, reason);
    unit->view.figures[measure].peak = share->max;
    unit->view.figures[measure].mean = gpu_share_mean(share, start_ns);
}

static void lose_device(struct gpu_unit_account *unit)
{
    for (int i = 0; i < GPU_MEASURE_COUNT; i++)
        set(unit, (enum gpu_measure)i, UNKNOWN, is_lost);
    unit->view.was_lost = true;
    unit->memory_bytes = UNKNOWN;
    unit->processes_reason = is_lost;
}

static void add_throttle_reasons(struct gpu_device_view *view, uint64_t reasons)
{
    if (is_known(reasons))
        view->throttle_reasons = known_or_0(view->throttle_reasons) | reasons;
}

void gpu_account_energy(struct gpu_account *account, size_t index,
                        const struct gpu_energy *energy)
{
    struct gpu_unit_account *unit = &account->list[index];
    struct gpu_figure *figure = &unit->view.figures[GPU_ENERGY];

    set(unit, GPU_POWER, energy->milliwatts, NULL);
    /* Every device uses energy, so 0 means that the counter was read only once, at the
     * start. */
    set(unit, GPU_ENERGY, energy->microjoules > 0 ? energy->microjoules : UNKNOWN,
        is_known(energy->microjoules) ? not_read_anew : gpu_not_reported);
    if (is_known(figure->measure.value)) /* an estimate may have been too high */
        figure->peak = figure->measure.value;
    unit->view.is_energy_estimated = energy->is_estimated;
}

void gpu_account_device(struct gpu_account *account, size_t index,
                        const struct gpu_reading *reading, uint64_t now_ns)
{
    struct gpu_unit_account *unit = &account->list[index];
    struct gpu_figure *figures = unit->view.figures;
    uint64_t start_ns = account->start_ns;

    if (!reading) {
        lose_device(unit);
        return;
    }
    unit->processes_reason = reading->processes_reason;
    unit->process_memory_reason = reading->process_memory_reason;
    unit->memory_bytes = reading->memory_used_bytes;
    figures[GPU_MEMORY].measure.origin.reason =
        is_known(reading->memory_used_bytes) ? NULL : gpu_not_reported;

    (void)gpu_share_advance(&unit->busy, reading->busy_ns, reading->busy_covered_ns, now_ns);
    (void)gpu_share_advance(&unit->encoder, reading->encoder_busy_ns,
                            reading->encoder_covered_ns, now_ns);
    (void)gpu_share_advance(&unit->decoder, reading->decoder_busy_ns,
                            reading->decoder_covered_ns, now_ns);
    set_share(unit, GPU_UTILIZATION, &unit->busy, start_ns,
              reading->busy_reason ? reading->busy_reason : no_samples);
    figures[GPU_UTILIZATION].measure.origin.source =
        reading->busy_source ? reading->busy_source
                             : account->units[index].sources->device_busy;
    set_share(unit, GPU_ENCODER_UTILIZATION, &unit->encoder, start_ns, NULL);
    set_share(unit, GPU_DECODER_UTILIZATION, &unit->decoder, start_ns, NULL);
    set(unit, GPU_TEMPERATURE, reading->temperature_celsius, NULL);
    set(unit, GPU_CLOCK, reading->clock_mhz, NULL);
    gpu_account_energy(account, index, &reading->energy);
    add_throttle_reasons(&unit->view, reading->throttle_reasons);
}

void gpu_account_device_memory(struct gpu_account *account, size_t index, uint64_t used_bytes)
{
    if (is_known(used_bytes))
        account->list[index].memory_bytes = used_bytes;
}

void gpu_account_peak(struct gpu_account *account, size_t unit, uint64_t peak_bytes)
{
    struct gpu_figure *figures = account->list[unit].view.figures;

    raise_to(&figures[GPU_JOB_MEMORY].peak, peak_bytes);
    raise_to(&figures[GPU_MEMORY].peak, figures[GPU_JOB_MEMORY].peak);
}

void gpu_account_charge(struct gpu_account *account, size_t index,
                        const struct cgroup_dmem *now, const struct cgroup_dmem *peak,
                        bool is_older)
{
    struct gpu_unit_account *unit = &account->list[index];
    uint64_t peak_bytes = peak->largest_bytes; /* regions may peak at different times */
    bool is_counted = is_known(now->bytes), has_peak = is_known(peak_bytes);
    bool has_risen =
        has_peak &&
        (is_known(unit->charge_peak_bytes) ? peak_bytes > unit->charge_peak_bytes : !is_older);

    unit->charge_bytes = now->bytes;
    unit->charge_risen_bytes = has_risen ? peak_bytes : UNKNOWN;
    raise_to(&unit->charge_peak_bytes, peak_bytes);
    unit->has_charge_peak |= has_risen;
    unit->has_charge_gap |= !is_counted || !has_peak;
    unit->view.is_job_memory_exact =
        unit->has_charge_peak && !unit->has_charge_gap && peak->bytes == peak_bytes;
    unit->view.figures[GPU_JOB_MEMORY].measure.origin.source =
        is_counted ? "cgroup.dmem" : account->units[index].sources->process_memory;
}

/* ---- work ----------------------------------------------------------------- */

/* Returns the amount of work at the last reading. It is not extrapolated: the job may have
 * stopped working since then. */
static uint64_t total_work(const struct gpu_unit_account *unit, int kind)
{
    return unit->work.covered_ns == 0 ? UNKNOWN : unit->work.counts[kind];
}

static void set_work(struct gpu_unit_account *unit, int kind, const struct gpu_work *work)
{
    uint64_t span_ns = sub_floor0(work->covered_ns, unit->work.covered_ns);
    uint64_t count = work->counts[kind];
    uint64_t value = count;

    if (is_known(count) && span_ns > 0)
        unit->work_rates[kind] =
            (double)sub_floor0(count, known_or_0(unit->work.counts[kind])) / (double)span_ns;
    if (is_known(count) && kind < GPU_WORK_SHARES)
        value = work->covered_ns > 0 && (span_ns > 0 || unit->present_count > 0)
                    ? (uint64_t)(unit->work_rates[kind] * GPU_SHARE_WHOLE)
                    : UNKNOWN; /* not read yet, or no longer read */
    set(unit, (enum gpu_measure)(GPU_WORK + kind), value, work->reason);
}

void gpu_account_work(struct gpu_account *account, size_t index, const struct gpu_work *work,
                      uint64_t now_ns)
{
    struct gpu_unit_account *unit = &account->list[index];
    double elapsed = (double)larger(sub_floor0(now_ns, account->start_ns), 1);
    bool is_new = work->covered_ns != unit->work.covered_ns || unit->present_count == 0;

    for (int i = 0; i < GPU_WORK_KINDS; i++)
        set_work(unit, i, work);
    unit->work = *work;
    for (int i = 0; i < GPU_WORK_SHARES; i++) {
        uint64_t total_ns = total_work(unit, i);

        if (is_new && is_known(total_ns)) /* otherwise keep the previous mean */
            unit->view.figures[GPU_WORK + i].mean =
                (uint64_t)((double)total_ns / elapsed * GPU_SHARE_WHOLE);
    }
}

/* ---- whether the job's busy time is known --------------------------------- */

/* Whether a process of the job is or was on the device, and no window covers that time yet. */
static bool is_awaited(const struct gpu_unit_account *unit)
{
    const struct gpu_share *share = &unit->job_busy;

    return (share->was_idle || !is_known(share->last)) && unit->job_seen_ns > share->until_ns;
}

/* Whether a process of the job has not reported its busy time, but may do so later. */
static bool is_busy_unreported(const struct gpu_unit_account *unit)
{
    return unit->unreported_count > 0 || is_awaited(unit);
}

/* Like is_busy_unreported(), but including exited processes. If true, a figure of 0 was not
 * measured. */
static bool has_unreported_busy(const struct gpu_unit_account *unit)
{
    return unit->lost_reason || is_busy_unreported(unit);
}

static bool is_job_busy_unknown(const struct gpu_unit_account *unit)
{
    return unit->processes_reason || unit->unreported_reason || is_awaited(unit);
}

/* Returns why the busy time is unknown now, or why its value of 0 was not measured. */
static const char *job_busy_reason(const struct gpu_unit_account *unit)
{
    if (unit->processes_reason)
        return unit->processes_reason;
    if (unit->unreported_reason)
        return unit->unreported_reason;
    if (unit->lost_reason)
        return unit->lost_reason;
    return unit->has_parts ? in_parts : no_samples;
}

static void note_presence(struct gpu_unit_account *unit, uint64_t now_ns)
{
    if (unit->present_count > 0)
        unit->job_seen_ns = now_ns;
}

static void show_job_busy(struct gpu_unit_account *unit, uint64_t start_ns)
{
    struct gpu_figure *figure = &unit->view.figures[GPU_JOB_UTILIZATION];

    set_share(unit, GPU_JOB_UTILIZATION, &unit->job_busy, start_ns, job_busy_reason(unit));
    if (is_job_busy_unknown(unit))
        figure->measure.value = figure->measure.now = UNKNOWN;
    if (unit->job_busy.total_ns == 0 && has_unreported_busy(unit))
        figure->mean = figure->peak = UNKNOWN;
}

/* ---- memory of processes ------------------------------------------------ */

/* Returns why a process of the job may be missing from the list of the device's processes. */
static const char *memory_hidden_by(const struct gpu_unit_account *unit)
{
    return unit->process_memory_reason ? unit->process_memory_reason : unit->processes_reason;
}

static bool is_memory_unreported(const struct gpu_unit_account *unit)
{
    return !is_known(unit->job_memory.value) &&
           (unit->job_count > 0 || unit->process_memory_reason);
}

static void begin_memory(struct gpu_unit_account *unit)
{
    const char *reason = memory_hidden_by(unit);

    unit->listed_bytes = 0;
    unit->job_count = unit->present_count = 0;
    unit->job_memory =
        (struct measure){ .value = reason ? UNKNOWN : 0, .origin.reason = reason };
}

static void add_memory(struct gpu_unit_account *unit, const struct gpu_row *row)
{
    uint64_t bytes = row->process.memory_bytes;

    if (is_known(bytes))
        unit->listed_bytes = sum_u64(unit->listed_bytes, bytes);
    if (!row->is_job)
        return;
    unit->job_count++;
    unit->present_count += !row->process.has_ended;
    /* UNKNOWN if the memory of one process is unknown. */
    unit->job_memory.value = sum_u64(unit->job_memory.value, bytes);
    if (!is_known(bytes))
        unit->job_memory.origin.reason =
            row->process.reason ? row->process.reason : gpu_not_reported;
}

/* The sums of the parts of a GPU. */
struct parts {
    uint64_t used_bytes;
    struct measure job_memory;
};

/* Returns the memory in use. Memory held by processes and by parts is in use, even if the
 * device's own figure, which was read earlier, is lower. UNKNOWN: the device reports no
 * memory. */
static uint64_t used_bytes(const struct gpu_unit_account *unit, const struct parts *parts)
{
    if (!is_known(unit->memory_bytes))
        return UNKNOWN;
    return larger(unit->memory_bytes, larger(unit->listed_bytes, parts->used_bytes));
}

static void end_memory(struct gpu_unit_account *unit, const struct parts *parts)
{
    struct gpu_figure *memory = &unit->view.figures[GPU_MEMORY];
    struct gpu_figure *job_memory = &unit->view.figures[GPU_JOB_MEMORY];
    uint64_t job_bytes;

    if (is_known(unit->charge_bytes)) {
        unit->job_memory = (struct measure){ .value = unit->charge_bytes };
        raise_to(&unit->listed_bytes, unit->charge_bytes);
    }
    job_bytes = sum_u64(unit->job_memory.value, parts->job_memory.value);
    if (!unit->job_memory.origin.reason)
        unit->job_memory.origin.reason = parts->job_memory.origin.reason;
    set(unit, GPU_MEMORY, used_bytes(unit, parts), memory->measure.origin.reason);
    set(unit, GPU_JOB_MEMORY, job_bytes,
        unit->job_memory.origin.reason ? unit->job_memory.origin.reason
                                       : job_memory->measure.origin.reason);
    unit->has_unreported_memory |=
        !is_known(parts->job_memory.value) || is_memory_unreported(unit);
    if (unit->has_unreported_memory && job_memory->peak == 0)
        job_memory->peak = UNKNOWN;
    unit->view.has_had_job |= unit->job_count > 0;
}

static void add_part(struct parts *parts, const struct gpu_unit_account *unit)
{
    const struct gpu_figure *figures = unit->view.figures;

    parts->used_bytes += known_or_0(figures[GPU_MEMORY].measure.value);
    parts->job_memory.value =
        sum_u64(parts->job_memory.value, figures[GPU_JOB_MEMORY].measure.value);
    if (unit->job_memory.origin.reason)
        parts->job_memory.origin.reason = unit->job_memory.origin.reason;
}

/* Completes the units. Processes of a split GPU use its parts, which follow the GPU in the
 * list. */
static void end_units(struct gpu_account *account, uint64_t now_ns)
{
    static const struct parts none;
    struct parts parts = none;

    for (size_t i = account->count; i-- > 0;) {
        struct gpu_unit_account *unit = &account->list[i];
        bool is_part = account->units[i].device.is_part;

        end_memory(unit, is_part ? &none : &parts);
        note_presence(unit, now_ns);
        show_job_busy(unit, account->start_ns);
        if (is_part)
            add_part(&parts, unit);
        else
            parts = none;
    }
}

/* ---- busy time of processes --------------------------------------------- */

/* Finds the use of a process, or adds one; NULL: out of memory. A new use starts at 0: the
 * vendor counts since it was opened. */
static struct gpu_use *find_use(struct gpu_account *account, size_t unit, pid_t pid)
{
    for (size_t i = 0; i < account->use_count; i++) {
        if (account->uses[i].unit == unit && account->uses[i].pid == pid)
            return &account->uses[i];
    }
    if (reserve(&account->uses, &account->use_capacity, account->use_count + 1,
                sizeof(*account->uses)) < 0)
        return NULL;
    account->uses[account->use_count] = (struct gpu_use){ .unit = unit, .pid = pid };
    return &account->uses[account->use_count++];
}

/* Drops processes that are no longer listed: their PIDs may be reused. */
static void forget_unlisted(struct gpu_account *account)
{
    size_t kept = 0;

    for (size_t i = 0; i < account->use_count; i++) {
        if (account->uses[i].is_listed)
            account->uses[kept++] = account->uses[i];
    }
    account->use_count = kept;
}

static void begin_busy(struct gpu_unit_account *unit)
{
    unit->job_covered_ns = UNKNOWN;
    unit->job_count = unit->present_count = 0;
    unit->listed_unreported_count = unit->found_count = 0;
    unit->listed_reason = unit->processes_reason;
}

static void add_busy(struct gpu_account *account, const struct gpu_row *row)
{
    struct gpu_unit_account *unit = &account->list[row->unit];
    struct gpu_use *use = find_use(account, row->unit, row->process.pid);

    unit->job_count++;
    unit->present_count += !row->process.has_ended;
    if (!use)
        return;
    unit->found_count += use->is_unreported;
    use->is_listed = true;
    use->is_unreported = !is_known(row->process.busy_ns);
    if (use->is_unreported) { /* the process may be reported again later */
        unit->listed_unreported_count++;
        unit->listed_reason = row->process.reason ? row->process.reason : gpu_not_reported;
        return;
    }
    unit->job_busy_ns += sub_floor0(row->process.busy_ns, use->busy_ns);
    unit->job_covered_ns = row->process.busy_covered_ns;
    use->busy_ns = row->process.busy_ns;
    if (row->process.is_busy_attributed)
        unit->view.figures[GPU_JOB_UTILIZATION].measure.origin.source = "attributed";
}

/* Whether the job's busy time is 0; called if no process of the job is listed. If a process was
 * on the device, the samples of that time must have arrived, unless none are expected. On a
 * split GPU, the parts report processes. */
static bool is_idle(const struct gpu_unit_account *unit)
{
    if (unit->has_parts && !is_known(unit->job_busy.last))
        return false;
    return !is_awaited(unit) || unit->lost_reason ||
           sub_floor0(unit->busy.until_ns, unit->job_seen_ns) >= SAMPLES_LATE_NS;
}

static void end_busy(struct gpu_unit_account *unit, uint64_t now_ns)
{
    if (unit->found_count < unit->unreported_count)
        unit->lost_reason = unit->unreported_reason;
    unit->unreported_count = unit->listed_unreported_count;
    unit->unreported_reason = unit->listed_reason;
    note_presence(unit, now_ns);
    if (unit->listed_reason)
        return;
    if (unit->job_count > 0)
        (void)gpu_share_advance(&unit->job_busy, unit->job_busy_ns, unit->job_covered_ns,
                                now_ns);
    else if (is_idle(unit))
        gpu_share_idle(&unit->job_busy, now_ns);
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

/* Checks whether a GPU that the job shares with other processes was busy. */
static void note_others(struct gpu_account *account, size_t index, const struct gpu_row *rows,
                        size_t count)
{
    const struct gpu_unit_account *unit = &account->list[index];

    if (account->units[index].sources->names_one && account->units[index].is_selected &&
        unit->job_count > 0 && is_known(unit->busy.last) && unit->busy.last > 0 &&
        has_others(rows, count, index))
        account->totals.is_busy_mixed = true;
}

void gpu_account_busy(struct gpu_account *account, const struct gpu_row *rows, size_t count,
                      uint64_t now_ns)
{
    for (size_t i = 0; i < account->use_count; i++)
        account->uses[i].is_listed = false;
    for (size_t i = 0; i < account->count; i++)
        begin_busy(&account->list[i]);
    for (size_t i = 0; i < count; i++) {
        if (rows[i].is_job)
            add_busy(account, &rows[i]);
    }
    forget_unlisted(account);
    for (size_t i = 0; i < account->count; i++) {
        note_others(account, i, rows, count);
        end_busy(&account->list[i], now_ns);
    }
}

/* ---- totals ------------------------------------------------------------- */

static void set_total(struct gpu_account *account, enum gpu_total total, uint64_t value)
{
    account->totals.measures[total].value = account->totals.measures[total].now = value;
}

/* Main's part of the job's memory on the job's GPUs; UNKNOWN: not reported. */
static uint64_t main_memory(const struct gpu_account *account, const struct gpu_row *rows,
                            size_t count)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < count; i++) {
        if (rows[i].is_main && account->units[rows[i].unit].is_selected)
            sum = sum_u64(sum, rows[i].process.memory_bytes);
    }
    return sum;
}

static void total_memory(struct gpu_account *account, const struct gpu_row *rows, size_t count)
{
    struct gpu_totals *totals = &account->totals;
    bool has_selected = false, is_hidden = false;
    const char *reason = none_selected;
    uint64_t job_bytes = 0, main_bytes;

    totals->is_memory_unreported = false;
    for (size_t i = 0; i < account->count; i++) {
        const struct gpu_unit_account *unit = &account->list[i];

        if (!account->units[i].is_selected)
            continue;
        has_selected = true;
        if (!is_known(unit->job_memory.value))
            reason = unit->job_memory.origin.reason;
        is_hidden |= memory_hidden_by(unit) != NULL;
        totals->is_memory_unreported |= is_memory_unreported(unit);
        totals->has_unreported_memory |= unit->has_unreported_memory;
        job_bytes = sum_u64(job_bytes, unit->job_memory.value);
    }
    job_bytes = has_selected ? job_bytes : UNKNOWN;
    main_bytes = is_hidden || !has_selected ? UNKNOWN : main_memory(account, rows, count);
    set_total(account, GPU_TOTAL_JOB_MEMORY, job_bytes);
    set_total(account, GPU_TOTAL_MAIN_MEMORY, main_bytes);
    set_total(account, GPU_TOTAL_DESCENDANTS_MEMORY, sub_known(job_bytes, main_bytes));
    if (is_known(job_bytes))
        return; /* keep the last reason, for a peak of 0 that was not measured */
    totals->measures[GPU_TOTAL_JOB_MEMORY].origin.reason =
        totals->measures[GPU_TOTAL_MAIN_MEMORY].origin.reason =
            totals->measures[GPU_TOTAL_DESCENDANTS_MEMORY].origin.reason = reason;
}

static void raise_level(struct gpu_figure *figure, uint64_t bytes)
{
    if (!is_known(figure->measure.value))
        return;
    raise_to(&figure->measure.value, bytes);
    raise_to(&figure->peak, bytes);
}

/* Raises memory to peaks that the kernel counted since the last look. Several GPUs may peak at
 * different times, so only the peak of a job on one GPU is exact. */
static void raise_to_charges(struct gpu_account *account)
{
    struct measure *job = &account->totals.measures[GPU_TOTAL_JOB_MEMORY];
    struct measure *host = &account->totals.measures[GPU_TOTAL_HOST_MEMORY];
    size_t selected = 0, exact = 0, used = 0;

    for (size_t i = 0; i < account->count; i++) {
        struct gpu_device_view *view = &account->list[i].view;
        uint64_t bytes = account->list[i].charge_risen_bytes;

        raise_level(&view->figures[GPU_JOB_MEMORY], bytes);
        raise_level(&view->figures[GPU_MEMORY], bytes);
        if (is_known(host->value))
            raise_to(&host->value, bytes);
        if (!account->units[i].is_selected)
            continue;
        if (is_known(job->value))
            raise_to(&job->value, bytes);
        selected++;
        exact += view->is_job_memory_exact;
        used += view->figures[GPU_JOB_MEMORY].peak > 0;
    }
    job->origin.is_exact = selected > 0 && exact == selected && used <= 1;
}

static uint64_t value_of(const struct gpu_unit_account *unit, enum gpu_total total,
                         uint64_t now_ns)
{
    switch ((int)total) { /* the memory of the job is summed up by total_memory() */
    case GPU_TOTAL_HOST_MEMORY:
        return unit->view.figures[GPU_MEMORY].measure.value;
    case GPU_TOTAL_UTILIZATION:
        return unit->busy.last;
    case GPU_TOTAL_BUSY:
        return gpu_share_total_ns(&unit->busy, now_ns);
    case GPU_TOTAL_JOB_UTILIZATION:
        return unit->job_busy.last;
    case GPU_TOTAL_JOB_BUSY:
        return gpu_share_total_ns(&unit->job_busy, now_ns);
    case GPU_TOTAL_ENERGY:
        return unit->view.figures[GPU_ENERGY]
            .peak; /* if the device is lost or asleep: the last value */
    default:
        return total_work(unit, (int)total - GPU_TOTAL_WORK);
    }
}

/* Figures of the job are summed over whole GPUs and parts: a process uses one or the other.
 * Figures of a device are taken from its parts only if the whole GPU does not report them. */
static uint64_t sum_of(const struct gpu_account *account, enum gpu_total total, uint64_t now_ns)
{
    bool is_of_job = total == GPU_TOTAL_JOB_BUSY || total == GPU_TOTAL_JOB_UTILIZATION;
    bool has_whole = false;
    uint64_t sum = UNKNOWN;

    for (size_t i = 0; i < account->count; i++) {
        const struct gpu_unit *unit = &account->units[i];
        uint64_t value = total == GPU_TOTAL_HOST_MEMORY || unit->is_selected
                             ? value_of(&account->list[i], total, now_ns)
                             : UNKNOWN;

        if (!unit->device.is_part)
            has_whole = is_known(value) && !is_of_job;
        else if (has_whole)
            continue;
        if (is_known(value))
            sum = sum_u64(known_or_0(sum), value);
    }
    return sum;
}

/* Returns why a figure of a GPU is unknown, or why the job's value is 0 by default instead of
 * measured; NULL: the figure is known. */
static const char *reason_of(const struct gpu_unit_account *unit, enum gpu_measure measure)
{
    if (measure == GPU_JOB_UTILIZATION && !is_job_busy_unknown(unit) &&
        !has_unreported_busy(unit) && (is_known(unit->job_busy.last) || unit->has_parts))
        return NULL;
    return unit->view.figures[measure].measure.origin.reason;
}

/* Returns the first reason among the job's GPUs. */
static const char *first_reason(const struct gpu_account *account, enum gpu_measure measure)
{
    bool has_selected = false;

    for (size_t i = 0; i < account->count; i++) {
        const char *reason =
            account->units[i].is_selected ? reason_of(&account->list[i], measure) : NULL;

        has_selected |= account->units[i].is_selected;
        if (reason)
            return reason;
    }
    return has_selected ? gpu_not_reported : none_selected;
}

/* Records which busy times are unreported and whether energy is estimated. Returns whether the
 * job's busy time is unknown on one of its GPUs. */
static bool note_unreported_busy(struct gpu_account *account)
{
    struct gpu_totals *totals = &account->totals;
    bool is_unknown = false;

    totals->is_busy_unreported = totals->has_unreported_busy = false;
    totals->is_energy_estimated = false;
    for (size_t i = 0; i < account->count; i++) {
        if (!account->units[i].is_selected)
            continue;
        is_unknown |= is_job_busy_unknown(&account->list[i]);
        totals->is_energy_estimated |= account->list[i].view.is_energy_estimated;
        totals->is_busy_unreported |= is_busy_unreported(&account->list[i]);
        totals->has_unreported_busy |= has_unreported_busy(&account->list[i]);
    }
    return is_unknown;
}

static void total_others(struct gpu_account *account, uint64_t now_ns)
{
    bool is_job_unknown = note_unreported_busy(account);

    for (enum gpu_total i = GPU_TOTAL_HOST_MEMORY; i < GPU_TOTAL_COUNT; i++) {
        enum gpu_measure measure = gpu_total_measure(i);
        bool is_unknown = measure == GPU_JOB_UTILIZATION && is_job_unknown;

        set_total(account, i, is_unknown ? UNKNOWN : sum_of(account, i, now_ns));
        account->totals.measures[i].origin.reason =
            i == GPU_TOTAL_HOST_MEMORY ? gpu_not_reported : first_reason(account, measure);
    }
}

void gpu_account_memory(struct gpu_account *account, const struct gpu_row *rows, size_t count,
                        uint64_t now_ns)
{
    for (size_t i = 0; i < account->count; i++)
        begin_memory(&account->list[i]);
    for (size_t i = 0; i < count; i++)
        add_memory(&account->list[rows[i].unit], &rows[i]);
    end_units(account, now_ns);
    total_memory(account, rows, count);
    total_others(account, now_ns);
    raise_to_charges(account);
}
