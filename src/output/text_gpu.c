/* SPDX-License-Identifier: Apache-2.0 */
#include "output/text_gpu.h"

#include <math.h>
#include <stdio.h>

#include "base/compiler.h"
#include "base/unknown.h"
#include "output/number.h"
#include "series/figure.h"

static double value_of(const struct report *report, const char *path)
{
    return figure_find(path, report->summary, report->origins).value;
}

static void memory_write(const struct report *report, struct page *page)
{
    double descendants = value_of(report, "gpu.memory.descendants_bytes");
    double all = value_of(report, "gpu.memory.system_bytes");
    struct buffer details = { 0 };

    buffer_add_text(&details, "peak");
    if (descendants > 0) {
        buffer_format(&details, "; main up to %s",
                      number_bytes(value_of(report, "gpu.memory.main_bytes")).text);
        buffer_format(page_item(&details), "descendants up to %s",
                      number_bytes(descendants).text);
    }
    if (!isnan(all))
        buffer_format(&details, "; %s by all", number_bytes(all).text);
    page_row(page, "GPU memory",
             number_bytes(value_of(report, "gpu.memory.combined_bytes")).text, details.text);
    buffer_done(&details);
}

static void use_write(const struct report *report, struct page *page)
{
    struct buffer details = { 0 };

    buffer_format(&details, "GPUs at work for the job on average, %s at most; %s for all",
                  number_short(value_of(report, "gpu.job_utilization.max_gpus")).text,
                  number_short(value_of(report, "gpu.utilization.mean_gpus")).text);
    page_row(page, "GPU use",
             number_short(value_of(report, "gpu.job_utilization.mean_gpus")).text,
             details.text);
    buffer_done(&details);
}

static double share(uint64_t millionths)
{
    return gpu_measure_value(GPU_UTILIZATION, millionths);
}

static void add_sensors(const struct gpu_device_view *device, struct buffer *details)
{
    double energy = gpu_measure_value(GPU_ENERGY, device->energy_microjoules);
    double power = gpu_measure_value(GPU_POWER, device->power_max_milliwatts);

    if (!isnan(energy))
        buffer_add_text(page_item(details), number_energy(energy).text);
    if (!isnan(power))
        buffer_format(page_item(details), "up to %s W", number_count(power).text);
    if (is_known(device->temperature_max_celsius))
        buffer_format(page_item(details), "%llu C",
                      (unsigned long long)device->temperature_max_celsius);
    if (is_known(device->throttle_reasons) && device->throttle_reasons != 0)
        buffer_format(page_item(details), "throttled%s%s",
                      device->throttle_reasons & GPU_THROTTLE_THERMAL ? " (heat)" : "",
                      device->throttle_reasons & GPU_THROTTLE_POWER ? " (power)" : "");
}

static void device_write(const struct report *report, struct page *page, size_t index)
{
    const struct gpu_device_view *device = &report->gpu->devices[index];
    const struct gpu_unit *unit = &report->gpu->units[index];
    struct buffer details = { 0 };
    char label[32];

    (void)snprintf(label, sizeof(label), "  GPU %s", gpu_place_text(unit->place, ':').text);
    if (unit->device.name[0])
        page_escape(page, unit->device.name, page_item(&details));
    if (is_known(unit->device.memory_total_bytes))
        buffer_format(&details, " with %s",
                      number_bytes((double)unit->device.memory_total_bytes).text);
    buffer_format(page_item(&details), "%s busy",
                  number_percent(share(device->utilization_mean)).text);
    buffer_format(&details, " (%s for the job)",
                  number_percent(share(device->job_utilization_mean)).text);
    add_sensors(device, &details);
    page_row(page, label,
             number_bytes(gpu_measure_value(GPU_MEMORY, device->job_memory_peak_bytes)).text,
             details.text);
    buffer_done(&details);
}

/* A GPU that the job is known not to have used is not worth a row. */
static bool was_used(const struct gpu_device_view *device)
{
    return device->job_memory_peak_bytes != 0 ||
           (is_known(device->job_utilization_max) && device->job_utilization_max != 0);
}

void text_gpu_write(const struct report *report, struct page *page)
{
    const struct gpu_view *view = report->gpu;
    bool has_used = false;

    if (view->count == 0)
        return;
    for (size_t i = 0; i < view->count; i++)
        has_used |= view->units[i].is_selected && was_used(&view->devices[i]);
    memory_write(report, page);
    if (!has_used)
        return;
    use_write(report, page);
    for (size_t i = 0; i < view->count; i++) {
        if (view->units[i].is_selected && was_used(&view->devices[i]))
            device_write(report, page, i);
    }
}
