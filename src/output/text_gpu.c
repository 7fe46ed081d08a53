/* SPDX-License-Identifier: Apache-2.0 */
#include "output/text_gpu.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "base/unknown.h"
#include "series/figure.h"
#include "text/number.h"

static double value_of(const struct report *report, const char *path)
{
    return figure_find(path, report->summary, report->origins).value;
}

/* One of those that count: a part does where its whole GPU is not the job's. */
static bool counts(const struct gpu_view *view, size_t index)
{
    size_t whole = index;

    while (whole > 0 && view->units[whole].device.is_part)
        whole--;
    return view->units[index].is_selected &&
           (whole == index || !view->units[whole].is_selected);
}

/* "8 x NVIDIA H200, Tesla V100": those of one name that stand together. */
static void add_models(const struct gpu_view *view, const struct page *page,
                       struct buffer *list)
{
    const struct gpu_unit *latest = NULL;
    size_t count = 0;

    for (size_t i = 0; i <= view->count; i++) {
        const struct gpu_unit *unit = i < view->count ? &view->units[i] : NULL;

        if (unit && !counts(view, i))
            continue;
        if (latest && (!unit || strcmp(unit->device.name, latest->device.name) != 0)) {
            (void)page_item(list);
            if (count > 1)
                buffer_format(list, "%zu x ", count);
            page_escape(page, latest->device.name[0] ? latest->device.name : "GPU", list);
            count = 0;
        }
        latest = unit;
        count++;
    }
}

static void memory_write(const struct report *report, struct page *page, bool has_used)
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
    if (!has_used) {
        struct buffer models = { 0 };

        add_models(report->gpu, page, &models);
        buffer_format(&details, "; its %s not used", models.text ? models.text : "");
        buffer_done(&models);
    }
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

/* "throttled (heat, power)". */
static void add_throttled(uint64_t reasons, struct buffer *details)
{
    static const struct {
        uint64_t bit;
        const char *name;
    } names[] = {
        { GPU_THROTTLE_THERMAL, "heat" },
        { GPU_THROTTLE_POWER, "power" },
        { GPU_THROTTLE_HARDWARE, "hardware" },
    };
    struct buffer list = { 0 };

    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        if (reasons & names[i].bit)
            buffer_add_text(page_item(&list), names[i].name);
    }
    buffer_format(details, "throttled (%s)", list.text ? list.text : "n/a");
    buffer_done(&list);
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
        add_throttled(device->throttle_reasons, page_item(details));
}

static void device_write(const struct report *report, struct page *page, size_t index)
{
    const struct gpu_device_view *device = &report->gpu->devices[index];
    const struct gpu_unit *unit = &report->gpu->units[index];
    struct buffer details = { 0 };
    char label[32];

    (void)snprintf(label, sizeof(label), "  GPU %s", gpu_place_text(unit->place, ':').text);
    page_escape(page, unit->device.name[0] ? unit->device.name : "GPU", &details);
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

bool text_gpu_has_used(const struct gpu_view *view)
{
    for (size_t i = 0; i < view->count; i++) {
        if (view->units[i].is_selected && was_used(&view->devices[i]))
            return true;
    }
    return false;
}

static bool has_any(const struct gpu_view *view)
{
    for (size_t i = 0; i < view->count; i++) {
        if (view->units[i].is_selected)
            return true;
    }
    return false;
}

void text_gpu_write(const struct report *report, struct page *page)
{
    const struct gpu_view *view = report->gpu;
    bool has_used = text_gpu_has_used(view);

    if (!has_any(view))
        return;
    memory_write(report, page, has_used);
    if (!has_used)
        return;
    use_write(report, page);
    for (size_t i = 0; i < view->count; i++) {
        if (view->units[i].is_selected && was_used(&view->devices[i]))
            device_write(report, page, i);
    }
}
