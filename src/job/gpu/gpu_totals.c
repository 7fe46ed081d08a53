/* SPDX-License-Identifier: Apache-2.0 */
#include "job/gpu/gpu_totals.h"

#include "base/unknown.h"

void gpu_totals_clear(struct gpu_totals *totals)
{
    *totals = (struct gpu_totals){ 0 };
    gpu_totals_forget_levels(totals);
    gpu_totals_forget_counters(totals);
}

void gpu_totals_forget_levels(struct gpu_totals *totals)
{
    totals->levels = (struct gpu_levels)GPU_LEVELS_UNKNOWN;
}

void gpu_totals_forget_counters(struct gpu_totals *totals)
{
    totals->busy_ns = totals->job_busy_ns = totals->energy_microjoules = UNKNOWN;
}

void gpu_device_view_clear(struct gpu_device_view *view)
{
    *view = (struct gpu_device_view){
        .memory_now_bytes = UNKNOWN,
        .job_memory_now_bytes = UNKNOWN,
        .memory_peak_bytes = UNKNOWN,
        .job_memory_peak_bytes = UNKNOWN,
        .utilization_mean = UNKNOWN,
        .utilization_max = UNKNOWN,
        .job_utilization_mean = UNKNOWN,
        .job_utilization_max = UNKNOWN,
        .energy_microjoules = UNKNOWN,
        .power_max_milliwatts = UNKNOWN,
        .temperature_max_celsius = UNKNOWN,
        .throttle_reasons = UNKNOWN,
    };
    for (int i = 0; i < GPU_MEASURE_COUNT; i++)
        view->value[i] = UNKNOWN;
}

void gpu_device_view_explain(struct gpu_device_view *view, const char *reason)
{
    view->memory_reason = view->job_memory_reason = reason;
    view->busy_reason = view->job_busy_reason = reason;
    view->energy_reason = reason;
}

void gpu_totals_renew(struct gpu_totals *totals, const struct gpu_totals *newer)
{
    struct gpu_levels before = totals->levels;
    struct gpu_levels *levels = &totals->levels;
    bool was_memory_unreported = totals->is_memory_unreported,
         was_busy_unreported = totals->is_busy_unreported;

    *totals = *newer;
    totals->is_memory_unreported |= was_memory_unreported;
    totals->is_busy_unreported |= was_busy_unreported;
    raise_to(&levels->main_memory_bytes, before.main_memory_bytes);
    raise_to(&levels->descendants_memory_bytes, before.descendants_memory_bytes);
    raise_to(&levels->job_memory_bytes, before.job_memory_bytes);
    raise_to(&levels->host_memory_bytes, before.host_memory_bytes);
    raise_to(&levels->utilization, before.utilization);
    raise_to(&levels->job_utilization, before.job_utilization);
}

void gpu_device_view_renew(struct gpu_device_view *view, const struct gpu_device_view *newer)
{
    uint64_t memory_bytes = view->value[GPU_MEMORY];
    uint64_t job_memory_bytes = view->value[GPU_JOB_MEMORY];

    *view = *newer;
    raise_to(&view->value[GPU_MEMORY], memory_bytes);
    raise_to(&view->value[GPU_JOB_MEMORY], job_memory_bytes);
}
