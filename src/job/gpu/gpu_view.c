/* SPDX-License-Identifier: Apache-2.0 */
#include "job/gpu/gpu_view.h"

#include <math.h>
#include <stddef.h>

#include "base/amount.h"
#include "spoor/spoor.h"

#define SAMPLE(member) .sample_offset = offsetof(struct spoor_gpu_sample, member)

/* clang-format off */
static const struct gpu_measure_row rows[GPU_MEASURE_COUNT] = {
[GPU_MEMORY] =              { "memory_bytes",        "memory in use on the device by all processes, peak since the previous sample", 1, .otel = "hw.gpu.memory.usage", SAMPLE(memory_bytes) },
[GPU_JOB_MEMORY] =          { "job_memory_bytes",    "the part of it used by the job, peak since the previous sample", 1, .otel = "spoor.gpu.job_memory.usage", SAMPLE(job_memory_bytes) },
[GPU_UTILIZATION] =         { "utilization",         "share of time the device was busy, 0 to 1, over about the last second", 1e-6, .otel = "hw.gpu.utilization", SAMPLE(utilization) },
[GPU_JOB_UTILIZATION] =     { "job_utilization",     "the part of it spent on the job", 1e-6, .otel = "spoor.gpu.job_utilization", SAMPLE(job_utilization) },
[GPU_ENCODER_UTILIZATION] = { "encoder_utilization", "share of time the video encoder was busy", 1e-6, .otel = "hw.gpu.utilization", .attribute = "hw.gpu.task=encoder", SAMPLE(encoder_utilization) },
[GPU_DECODER_UTILIZATION] = { "decoder_utilization", "share of time the video decoder was busy", 1e-6, .otel = "hw.gpu.utilization", .attribute = "hw.gpu.task=decoder", SAMPLE(decoder_utilization) },
[GPU_POWER] =               { "power_watts",         "power draw of the device", 1e-3, .otel = "hw.power", .attribute = "hw.type=gpu", SAMPLE(power_watts) },
[GPU_TEMPERATURE] =         { "temperature_celsius", "temperature of the device", 1, .otel = "hw.temperature", .attribute = "hw.type=gpu", SAMPLE(temperature_celsius) },
[GPU_CLOCK] =               { "clock_hertz",         "clock rate of its compute cores", 1e6, .otel = "spoor.gpu.clock", SAMPLE(clock_hertz) },
[GPU_ENERGY] =              { "energy_joules",       "energy used by the device since the start of the run, estimated by its power since the last counter reading", 1e-6, .otel = "hw.energy", .attribute = "hw.type=gpu", .is_counter = true, SAMPLE(energy_joules) },
[GPU_WORK + GPU_WORK_SM] =              { "sm_active",             "share of its multiprocessors (SMs) that worked, 0 to 1, over about the last 10 s; of the whole device, as all work", 1e-6, .otel = "spoor.gpu.work", .attribute = "spoor.unit=sm", SAMPLE(sm_active) },
[GPU_WORK + GPU_WORK_OCCUPANCY] =       { "sm_occupancy",          "share of the warps that its SMs can hold", 1e-6, .otel = "spoor.gpu.work", .attribute = "spoor.unit=warps", SAMPLE(sm_occupancy) },
[GPU_WORK + GPU_WORK_TENSOR] =          { "tensor_active",         "share of time its tensor cores worked", 1e-6, .otel = "spoor.gpu.work", .attribute = "spoor.unit=tensor", SAMPLE(tensor_active) },
[GPU_WORK + GPU_WORK_FP64] =            { "fp64_active",           "share of time its FP64 units worked", 1e-6, .otel = "spoor.gpu.work", .attribute = "spoor.unit=fp64", SAMPLE(fp64_active) },
[GPU_WORK + GPU_WORK_FP32] =            { "fp32_active",           "share of time its FP32 units worked", 1e-6, .otel = "spoor.gpu.work", .attribute = "spoor.unit=fp32", SAMPLE(fp32_active) },
[GPU_WORK + GPU_WORK_FP16] =            { "fp16_active",           "share of time its FP16 units worked, without tensor cores", 1e-6, .otel = "spoor.gpu.work", .attribute = "spoor.unit=fp16", SAMPLE(fp16_active) },
[GPU_WORK + GPU_WORK_DRAM] =            { "dram_active",           "share of the bandwidth of its memory in use", 1e-6, .otel = "spoor.gpu.work", .attribute = "spoor.unit=dram", SAMPLE(dram_active) },
[GPU_WORK + GPU_WORK_PCIE_SENT] =       { "pcie_sent_bytes",       "bytes that it sent over PCIe while the job used it", 1, .otel = "spoor.gpu.pcie.io", .attribute = "network.io.direction=transmit", .is_counter = true, SAMPLE(pcie_sent_bytes) },
[GPU_WORK + GPU_WORK_PCIE_RECEIVED] =   { "pcie_received_bytes",   "bytes that it received over PCIe", 1, .otel = "spoor.gpu.pcie.io", .attribute = "network.io.direction=receive", .is_counter = true, SAMPLE(pcie_received_bytes) },
[GPU_WORK + GPU_WORK_NVLINK_SENT] =     { "nvlink_sent_bytes",     "bytes that it sent over NVLink, on AMD over XGMI", 1, .otel = "spoor.gpu.nvlink.io", .attribute = "network.io.direction=transmit", .is_counter = true, SAMPLE(nvlink_sent_bytes) },
[GPU_WORK + GPU_WORK_NVLINK_RECEIVED] = { "nvlink_received_bytes", "bytes that it received over NVLink, on AMD over XGMI", 1, .otel = "spoor.gpu.nvlink.io", .attribute = "network.io.direction=receive", .is_counter = true, SAMPLE(nvlink_received_bytes) },
};
/* clang-format on */

static const struct {
    enum metric metric;
    enum gpu_measure measure;
} total_rows[GPU_TOTAL_WORK] = {
    [GPU_TOTAL_MAIN_MEMORY] = { METRIC_MAIN_GPU_MEMORY, GPU_JOB_MEMORY },
    [GPU_TOTAL_DESCENDANTS_MEMORY] = { METRIC_DESCENDANTS_GPU_MEMORY, GPU_JOB_MEMORY },
    [GPU_TOTAL_JOB_MEMORY] = { METRIC_JOB_GPU_MEMORY, GPU_JOB_MEMORY },
    [GPU_TOTAL_HOST_MEMORY] = { METRIC_HOST_GPU_MEMORY, GPU_MEMORY },
    [GPU_TOTAL_UTILIZATION] = { METRIC_HOST_GPU_UTILIZATION, GPU_UTILIZATION },
    [GPU_TOTAL_JOB_UTILIZATION] = { METRIC_JOB_GPU_UTILIZATION, GPU_JOB_UTILIZATION },
    [GPU_TOTAL_BUSY] = { METRIC_HOST_GPU_BUSY, GPU_UTILIZATION },
    [GPU_TOTAL_JOB_BUSY] = { METRIC_JOB_GPU_BUSY, GPU_JOB_UTILIZATION },
    [GPU_TOTAL_ENERGY] = { METRIC_HOST_GPU_ENERGY, GPU_ENERGY },
};

enum metric gpu_total_metric(enum gpu_total total)
{
    return total < GPU_TOTAL_WORK
               ? total_rows[total].metric
               : (enum metric)(METRIC_HOST_GPU_WORK + total - GPU_TOTAL_WORK);
}

enum gpu_measure gpu_total_measure(enum gpu_total total)
{
    return total < GPU_TOTAL_WORK ? total_rows[total].measure
                                  : (enum gpu_measure)(GPU_WORK + total - GPU_TOTAL_WORK);
}

static const struct measure unknown = { .value = UNKNOWN, .now = UNKNOWN };

const struct gpu_measure_row *gpu_measure_row(enum gpu_measure measure)
{
    return &rows[measure];
}

double gpu_measure_value(enum gpu_measure measure, uint64_t raw)
{
    return is_known(raw) ? (double)raw * rows[measure].scale : (double)NAN;
}

void gpu_device_view_init(struct gpu_device_view *view, const struct gpu_sources *sources)
{
    *view = (struct gpu_device_view){ .throttle_reasons = UNKNOWN };
    for (int i = 0; i < GPU_MEASURE_COUNT; i++) {
        view->figures[i] =
            (struct gpu_figure){ .measure = unknown, .peak = UNKNOWN, .mean = UNKNOWN };
        view->figures[i].measure.origin.source =
            i >= GPU_WORK && sources->work ? sources->work : sources->device;
    }
    view->figures[GPU_JOB_MEMORY].measure.origin.source = sources->process_memory;
    view->figures[GPU_UTILIZATION].measure.origin.source = sources->device_busy;
    view->figures[GPU_JOB_UTILIZATION].measure.origin.source = sources->process_busy;
}

void gpu_device_view_renew(struct gpu_device_view *view, const struct gpu_device_view *newer)
{
    uint64_t memory_bytes = view->figures[GPU_MEMORY].measure.value;
    uint64_t job_memory_bytes = view->figures[GPU_JOB_MEMORY].measure.value;

    *view = *newer;
    raise_to(&view->figures[GPU_MEMORY].measure.value, memory_bytes);
    raise_to(&view->figures[GPU_JOB_MEMORY].measure.value, job_memory_bytes);
}

void gpu_totals_clear(struct gpu_totals *totals)
{
    *totals = (struct gpu_totals){ 0 };
    for (int i = 0; i < GPU_TOTAL_COUNT; i++)
        totals->measures[i] = unknown;
}

void gpu_totals_renew(struct gpu_totals *totals, const struct gpu_totals *newer)
{
    struct gpu_totals before = *totals;

    *totals = *newer;
    totals->is_memory_unreported |= before.is_memory_unreported;
    totals->is_busy_unreported |= before.is_busy_unreported;
    for (int i = 0; i < GPU_TOTAL_LEVELS; i++)
        raise_to(&totals->measures[i].value, before.measures[i].value);
}

struct gpu_columns gpu_columns_of(const struct gpu_view *view)
{
    struct gpu_columns columns = { 0 };

    for (size_t i = 0; i < view->count && columns.count < GPU_COLUMNS_MAX; i++) {
        if (view->units[i].is_selected)
            columns.places[columns.count++] = view->units[i].place;
    }
    return columns;
}

const struct gpu_unit *gpu_view_find(const struct gpu_view *view, struct gpu_place place)
{
    for (size_t i = 0; i < view->count; i++) {
        const struct gpu_place *at = &view->units[i].place;

        if (at->index == place.index && at->part == place.part)
            return &view->units[i];
    }
    return NULL;
}

void gpu_columns_read(const struct gpu_view *view, struct gpu_place place,
                      double ret[GPU_MEASURE_COUNT])
{
    const struct gpu_unit *unit = view->state == GPU_READY ? gpu_view_find(view, place) : NULL;
    const struct gpu_device_view *device = unit ? &view->devices[unit - view->units] : NULL;

    for (int i = 0; i < GPU_MEASURE_COUNT; i++)
        ret[i] = gpu_measure_value((enum gpu_measure)i,
                                   device ? device->figures[i].measure.value : UNKNOWN);
}
