/* SPDX-License-Identifier: Apache-2.0 */
#include "session/gpu_looks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/arithmetic.h"
#include "base/clock.h"
#include "base/unknown.h"
#include "sample/origins.h"

/* A driver that takes longer has stopped responding. */
#define SILENT_AFTER_NS (2 * NS_PER_SECOND)

static const char too_early[] = "the run ended before the drivers had reported their GPUs";
static const char is_mute[] = "the GPU driver does not respond";
static const char has_stopped[] = "the GPU driver stopped responding";

int gpu_looks_open(struct gpu_looks *looks, const struct gpu_call_options *options)
{
    int r;

    *looks = (struct gpu_looks){ .reason = origins_gpus_not_opened,
                                 .troubles = { .record_bytes = UNKNOWN } };
    gpu_totals_clear(&looks->totals);
    gpu_totals_clear(&looks->latest);
    r = gpu_call_open(&looks->call, options);
    looks->is_open = r == 0;
    return r;
}

void gpu_looks_close(struct gpu_looks *looks)
{
    if (looks->is_open)
        gpu_call_close(&looks->call);
    free(looks->units);
    free(looks->devices);
    *looks = (struct gpu_looks){ 0 };
}

void gpu_looks_add_ended(struct gpu_looks *looks, pid_t pid)
{
    if (gpu_looks_are_idle(looks) && looks->state == GPU_READY)
        (void)gpu_owners_add_ended(&looks->call.data->owners, pid,
                                   clock_now().monotonic_ns); /* or its use is nobody's */
}

/* What the first look finds was there before, and does not count. That is so of all processes of
 * a job that was attached to; descendants of one that we started are all new. */
void gpu_looks_note(struct gpu_looks *looks, const struct roster *roster)
{
    struct gpu_owners *owners = &looks->call.data->owners;

    if (gpu_looks_are_idle(looks) && (looks->state == GPU_READY || owners->tracker_pid == 0))
        gpu_owners_update(owners, roster, clock_now().monotonic_ns);
}

static int start(struct gpu_looks *looks, enum gpu_request request, const struct roster *roster)
{
    gpu_looks_note(looks, roster);
    if (looks->reason == origins_gpus_not_opened)
        looks->reason = too_early;
    return gpu_call_start(&looks->call, request);
}

int gpu_looks_start(struct gpu_looks *looks, enum gpu_look look, const struct roster *roster)
{
    return start(looks, look == GPU_LOOK_QUICK ? GPU_REQUEST_QUICK : GPU_REQUEST_SLOW, roster);
}

bool gpu_looks_are_idle(const struct gpu_looks *looks)
{
    return looks->call.called_ns == 0;
}

static void note_silence(struct gpu_looks *looks, uint64_t now_ns)
{
    uint64_t taken_ns = gpu_call_taken_ns(&looks->call, now_ns);

    if (taken_ns >= SILENT_AFTER_NS && taken_ns > looks->troubles.silent_for_ns) {
        looks->troubles.silent_for_ns = taken_ns;
        looks->troubles.silent_since_ns = looks->call.called_ns;
    }
}

static const char *why_none(const struct gpu_call_data *data)
{
    if (data->options.vendor_count == 0)
        return "disabled by SPOOR_DISABLE";
    if (data->watch.inventory.refusal_count > 0)
        return "the GPU driver cannot be used: see the warnings";
    if (data->watch.inventory.absent.code == ENXIO)
        return "this machine has no GPU, or its driver is not loaded";
    return data->error == -ENODEV ? "this machine has no GPU" : "out of memory";
}

/* The list of GPUs, after the first look. */
static int learn_units(struct gpu_looks *looks)
{
    const struct gpu_inventory *inventory = &looks->call.data->watch.inventory;

    looks->units = calloc(inventory->count, sizeof(*looks->units));
    looks->devices = calloc(inventory->count, sizeof(*looks->devices));
    if (!looks->units || !looks->devices)
        return -ENOMEM;
    looks->unit_count = inventory->count;
    memcpy(looks->units, inventory->units, inventory->count * sizeof(*looks->units));
    for (size_t i = 0; i < inventory->count; i++)
        gpu_device_view_init(&looks->devices[i], inventory->units[i].sources);
    looks->troubles.unmatched = inventory->unmatched;
    return 0;
}

/* Once, after the first look: what the drivers have, or why there is nothing. */
static void learn(struct gpu_looks *looks)
{
    struct gpu_call_data *data = looks->call.data;

    memcpy(looks->troubles.refusals, data->watch.inventory.refusals,
           sizeof(looks->troubles.refusals));
    looks->troubles.refusal_count = data->watch.inventory.refusal_count;
    if (data->error == 0)
        data->error = learn_units(looks);
    looks->state = data->error < 0 ? GPU_NONE : GPU_READY;
    looks->reason = data->error < 0 ? why_none(data) : NULL;
}

bool gpu_looks_collect(struct gpu_looks *looks)
{
    const struct gpu_watch *watch = &looks->call.data->watch;
    const struct measure *latest = looks->latest.measures;

    if (looks->call.called_ns == 0 || !gpu_call_has_ended(&looks->call))
        return false;
    note_silence(looks, looks->call.data->ended_ns);
    looks->call.called_ns = 0;
    if (looks->state == GPU_PENDING)
        learn(looks);
    looks->cost_ns += looks->call.data->cost_ns;
    if (looks->state == GPU_NONE)
        return true;
    looks->latest = gpu_watch_totals(watch);
    looks->has_news = true;
    gpu_totals_renew(&looks->totals, &looks->latest);
    for (size_t i = 0; i < looks->unit_count; i++)
        gpu_device_view_renew(&looks->devices[i], &watch->account.list[i].view);
    looks->troubles.record_bytes = watch->record_bytes;
    looks->troubles.is_busy_mixed = looks->latest.is_busy_mixed;
    looks->found = (struct gpu_findings){
        .memory_bytes =
            latest[watch->owners->main_pid != 0 ? GPU_TOTAL_JOB_MEMORY : GPU_TOTAL_HOST_MEMORY]
                .value,
        .utilization = latest[GPU_TOTAL_UTILIZATION].value,
        .holds_context = watch->holds_context || looks->latest.is_memory_unreported,
    };
    return true;
}

void gpu_looks_begin_last(struct gpu_looks *looks, const struct roster *roster)
{
    (void)gpu_looks_collect(looks);
    if (looks->call.called_ns == 0 && !looks->is_last && looks->state == GPU_READY)
        looks->is_last = start(looks, GPU_REQUEST_LAST, roster) == 0;
}

void gpu_looks_finish(struct gpu_looks *looks, const struct roster *roster)
{
    while (looks->call.called_ns != 0 && gpu_call_wait(&looks->call))
        gpu_looks_begin_last(looks, roster);
}

/* ---- what is known --------------------------------------------------------- */

static void copy_devices(struct gpu_looks *looks, struct gpu_view *view)
{
    if (!view->devices && looks->unit_count > 0)
        view->devices = calloc(looks->unit_count, sizeof(*view->devices));
    if (!view->devices)
        return;
    view->units = looks->units;
    view->count = looks->unit_count;
    memcpy(view->devices, looks->devices, looks->unit_count * sizeof(*view->devices));
    for (size_t i = 0; i < looks->unit_count; i++) {
        struct gpu_figure *figures = looks->devices[i].figures;

        figures[GPU_MEMORY].measure.value = figures[GPU_MEMORY].measure.now;
        figures[GPU_JOB_MEMORY].measure.value = figures[GPU_JOB_MEMORY].measure.now;
    }
}

/* What the driver said since the last view is reported; what is now is not known. */
static void report_silence(struct gpu_looks *looks, struct gpu_view *view)
{
    bool has_responded = looks->state == GPU_READY;

    view->state = has_responded ? GPU_SILENT : GPU_PENDING;
    view->reason = has_responded ? has_stopped : is_mute;
    for (int i = 0; i < GPU_TOTAL_COUNT; i++) {
        struct measure *measure = &view->totals.measures[i];

        measure->now = UNKNOWN;
        if (i >= GPU_TOTAL_LEVELS || !looks->has_news)
            measure->value = UNKNOWN;
        if (i < GPU_TOTAL_LEVELS)
            looks->totals.measures[i].value = UNKNOWN;
    }
    for (size_t i = 0; view->devices && i < view->count; i++)
        gpu_device_view_explain(&view->devices[i], view->reason);
}

void gpu_looks_view(struct gpu_looks *looks, uint64_t now_ns, struct gpu_view *view)
{
    copy_devices(looks, view);
    view->state = looks->state;
    view->reason = looks->reason;
    view->totals = looks->totals;
    looks->totals = looks->latest;
    if (gpu_call_taken_ns(&looks->call, now_ns) >= SILENT_AFTER_NS &&
        !gpu_call_is_starved(&looks->call)) {
        note_silence(looks, now_ns);
        report_silence(looks, view);
    }
    looks->has_news = false;
}
