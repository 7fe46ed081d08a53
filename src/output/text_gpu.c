/* SPDX-License-Identifier: Apache-2.0 */
#include "output/text_parts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/amount.h"
#include "base/compiler.h"
#include "text/number.h"

struct gpu_label gpu_label(const struct record_gpu *gpu)
{
    struct gpu_label label;
    int used = snprintf(label.text, sizeof(label.text), "GPU %llu",
                        (unsigned long long)gpu->index); /* both fit */

    if (is_known(gpu->part))
        (void)snprintf(label.text + used, sizeof(label.text) - (size_t)used, ":%llu",
                       (unsigned long long)gpu->part);
    return label;
}

static const char *name_of(const struct record_gpu *gpu)
{
    return gpu->name ? gpu->name : "GPU";
}

/* Whether a GPU counts: a part counts if its whole GPU is not assigned to the job. */
static bool counts(const struct record_gpu *gpus, size_t index)
{
    size_t whole = index;

    while (whole > 0 && gpus[whole].is_part)
        whole--;
    return gpus[index].is_selected && (whole == index || !gpus[whole].is_selected);
}

/* Adds "8 x NVIDIA H200, Tesla V100": adjacent GPUs with the same name are counted together. */
static void add_models(const struct record *record, const struct page *page,
                       struct buffer *list)
{
    const char *latest = NULL;
    size_t count = 0;

    for (size_t i = 0; i <= record->gpu_count; i++) {
        const char *name = i < record->gpu_count ? name_of(&record->gpus[i]) : NULL;

        if (name && !counts(record->gpus, i))
            continue;
        if (latest && (!name || strcmp(name, latest) != 0)) {
            (void)page_item(list);
            if (count > 1)
                buffer_format(list, "%zu x ", count);
            page_escape(page, latest, list);
            count = 0;
        }
        latest = name;
        count++;
    }
}

static void memory_write(const struct record *record, struct page *page, bool has_used)
{
    double descendants = record_value(record, "gpu.memory.descendants_bytes");
    double all = record_value(record, "gpu.memory.system_bytes");
    CLEANUP(buffer_done) struct buffer details = { 0 };

    buffer_add_text(&details, "peak");
    if (descendants > 0) {
        buffer_format(&details, "; main %s",
                      number_bytes(record_value(record, "gpu.memory.main_bytes")).text);
        buffer_format(page_item(&details), "descendants %s", number_bytes(descendants).text);
    }
    if (!isnan(all))
        buffer_format(&details, "; %s in use by all", number_bytes(all).text);
    if (!has_used) {
        CLEANUP(buffer_done) struct buffer models = { 0 };

        add_models(record, page, &models);
        buffer_format(&details, "; %s not used", buffer_text(&models));
    }
    page_row(page, "GPU memory",
             number_bytes(record_value(record, "gpu.memory.combined_bytes")).text,
             details.text);
}

static void use_write(const struct record *record, struct page *page)
{
    double of_job = record_value(record, "gpu.job_utilization.mean_gpus");
    double of_all = record_value(record, "gpu.utilization.mean_gpus");

    if (isnan(of_job) && !isnan(of_all))
        page_row_format(page, "GPU use", number_short(of_all).text,
                        "GPUs busy with all work on average, %s at peak",
                        number_short(record_value(record, "gpu.utilization.max_gpus")).text);
    else
        page_row_format(page, "GPU use", number_short(of_job).text,
                        "GPUs busy with the job on average, %s at peak; %s with all work",
                        number_short(record_value(record, "gpu.job_utilization.max_gpus")).text,
                        number_short(of_all).text);
}

/* The report mentions a GPU that is busy for at least NOTABLE_BUSY of the time while less than
 * NOTABLE_SM of its SMs work. */
#define NOTABLE_BUSY 0.5
#define NOTABLE_SM 0.3
/* Tensor cores count as idle if their share of the time is below IDLE and their share of the
 * work of the SMs is below TENSOR_OF_SM. */
#define IDLE 0.005
#define TENSOR_OF_SM 0.1
/* Replaces a share of 0, to be shown as less than the smallest percentage. */
#define NO_WORK 1e-9

static double mean_of_counted(const struct record *record, enum record_gpu_measure measure)
{
    double sum = 0;
    size_t count = 0;

    for (size_t i = 0; i < record->gpu_count; i++) {
        const struct spoor_figure *measures = record->gpus[i].measures;

        if (isnan(measures[RECORD_GPU_WORK + GPU_WORK_SM].value))
            continue;
        sum += measures[measure].value;
        count++;
    }
    return count > 0 ? sum / (double)count : (double)NAN;
}

static void work_write(const struct record *record, struct page *page)
{
    double sm = mean_of_counted(record, RECORD_GPU_WORK + GPU_WORK_SM);
    double busy = mean_of_counted(record, RECORD_GPU_UTILIZATION_MEAN);
    double tensor = mean_of_counted(record, RECORD_GPU_WORK + GPU_WORK_TENSOR);
    double dram = mean_of_counted(record, RECORD_GPU_WORK + GPU_WORK_DRAM);
    CLEANUP(buffer_done) struct buffer details = { 0 };

    if (isnan(sm))
        return;
    buffer_add_text(&details, "of the SMs worked");
    if (busy >= NOTABLE_BUSY && sm < NOTABLE_SM * busy)
        buffer_format(&details, ", though busy %s of the time", number_percent(busy).text);
    if (tensor < IDLE && tensor < TENSOR_OF_SM * sm)
        buffer_add_text(&details, "; the tensor cores were idle");
    else if (!isnan(tensor))
        buffer_format(&details, "; tensor cores %s", number_percent(tensor).text);
    if (!isnan(dram))
        buffer_format(page_item(&details), "memory bandwidth %s", number_percent(dram).text);
    page_row(page, "GPU work", number_percent(fmax(sm, NO_WORK)).text, details.text);
}

/* Adds "throttled (heat, power)". */
static void add_throttled(const char *const *throttled, struct buffer *details)
{
    static const struct {
        const char *reason, *name;
    } names[] = { { "thermal", "heat" }, { "power", "power" }, { "hardware", "hardware" } };
    CLEANUP(buffer_done) struct buffer list = { 0 };

    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        for (const char *const *reason = throttled; *reason; reason++) {
            if (strcmp(*reason, names[i].reason) == 0)
                buffer_add_text(page_item(&list), names[i].name);
        }
    }
    buffer_format(details, "throttled (%s)", list.text ? list.text : "n/a");
}

static void add_sensors(const struct record_gpu *gpu, struct buffer *details)
{
    double energy = gpu->measures[RECORD_GPU_ENERGY].value;
    double power = gpu->measures[RECORD_GPU_POWER_MAX].value;
    double temperature = gpu->measures[RECORD_GPU_TEMPERATURE_MAX].value;

    if (!isnan(energy))
        buffer_add_text(page_item(details), number_energy(energy).text);
    if (!isnan(power))
        buffer_format(page_item(details), "up to %s W", number_count(power).text);
    if (!isnan(temperature))
        buffer_format(page_item(details), "%s C", number_count(temperature).text);
    if (gpu->throttled && gpu->throttled[0])
        add_throttled(gpu->throttled, page_item(details));
}

static void device_write(const struct record_gpu *gpu, struct page *page)
{
    double busy = gpu->measures[RECORD_GPU_UTILIZATION_MEAN].value;
    double job_busy = gpu->measures[RECORD_GPU_JOB_UTILIZATION_MEAN].value;
    CLEANUP(buffer_done) struct buffer details = { 0 };
    char label[64];

    (void)snprintf(label, sizeof(label), "  %s", gpu_label(gpu).text); /* fits */
    page_escape(page, name_of(gpu), &details);
    if (is_known(gpu->memory_bytes))
        buffer_format(&details, " with %s", number_bytes((double)gpu->memory_bytes).text);
    buffer_format(page_item(&details), "%s busy", number_percent(busy).text);
    if (!isnan(job_busy) || isnan(busy))
        buffer_format(&details, " (%s for the job)", number_percent(job_busy).text);
    add_sensors(gpu, &details);
    page_row(page, label, number_bytes(gpu->measures[RECORD_GPU_JOB_MEMORY].value).text,
             details.text);
}

/* A GPU that the job certainly did not use has no row. */
static bool was_used(const struct record_gpu *gpu)
{
    return gpu->is_selected && (!(gpu->measures[RECORD_GPU_JOB_MEMORY].value <= 0) ||
                                gpu->measures[RECORD_GPU_JOB_UTILIZATION_MAX].value > 0);
}

/* A GPU without a name and without figures has no row. */
static bool is_described(const struct record_gpu *gpu)
{
    bool is_known_at_all = gpu->name;

    for (size_t i = 0; i < RECORD_GPU_MEASURES; i++)
        is_known_at_all |= !isnan(gpu->measures[i].value);
    return is_known_at_all;
}

bool text_gpu_has_used(const struct record *record)
{
    for (size_t i = 0; i < record->gpu_count; i++) {
        if (was_used(&record->gpus[i]))
            return true;
    }
    return false;
}

static bool has_any(const struct record *record)
{
    for (size_t i = 0; i < record->gpu_count; i++) {
        if (record->gpus[i].is_selected)
            return true;
    }
    return false;
}

void text_gpu_write(const struct record *record, struct page *page)
{
    bool has_used = text_gpu_has_used(record);

    if (!has_any(record))
        return;
    memory_write(record, page, has_used);
    if (!has_used)
        return;
    use_write(record, page);
    work_write(record, page);
    for (size_t i = 0; i < record->gpu_count; i++) {
        if (was_used(&record->gpus[i]) && is_described(&record->gpus[i]))
            device_write(&record->gpus[i], page);
    }
}
