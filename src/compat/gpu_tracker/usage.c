/* SPDX-License-Identifier: Apache-2.0 */
#include "compat/gpu_tracker/usage.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/compiler.h"

const struct usage_unit usage_memory_units[] = {
    { "bytes", 1 },        { "gigabytes", 1e-9 },  { "kilobytes", 1e-3 },
    { "megabytes", 1e-6 }, { "terabytes", 1e-12 }, { 0 },
};

const struct usage_unit usage_time_units[] = {
    { "days", 1.0 / 86400 },
    { "hours", 1.0 / 3600 },
    { "minutes", 1.0 / 60 },
    { "seconds", 1 },
    { 0 },
};

const struct usage_unit *usage_unit_find(const struct usage_unit *units, const char *name)
{
    for (; units->name; units++) {
        if (strcmp(units->name, name) == 0)
            return units;
    }
    return NULL;
}

enum kind { RAM, GPU_RAM, COUNT };

static const struct {
    enum kind kind;
    const char *path;
    size_t place;
} rows[] = {
#define ROW(kind, path, member)                             \
    {                                                       \
        kind, path, offsetof(struct resource_usage, member) \
    }
    ROW(RAM, "memory.system_peak_bytes", max_ram.system),
    ROW(RAM, "memory.main.total_rss_bytes", max_ram.main.total_rss),
    ROW(RAM, "memory.main.private_rss_bytes", max_ram.main.private_rss),
    ROW(RAM, "memory.main.shared_rss_bytes", max_ram.main.shared_rss),
    ROW(RAM, "memory.descendants.total_rss_bytes", max_ram.descendants.total_rss),
    ROW(RAM, "memory.descendants.private_rss_bytes", max_ram.descendants.private_rss),
    ROW(RAM, "memory.descendants.shared_rss_bytes", max_ram.descendants.shared_rss),
    ROW(RAM, "memory.combined.total_rss_bytes", max_ram.combined.total_rss),
    ROW(RAM, "memory.combined.private_rss_bytes", max_ram.combined.private_rss),
    ROW(RAM, "memory.combined.shared_rss_bytes", max_ram.combined.shared_rss),
    ROW(GPU_RAM, "gpu.memory.system_bytes", max_gpu_ram.system),
    ROW(GPU_RAM, "gpu.memory.main_bytes", max_gpu_ram.main),
    ROW(GPU_RAM, "gpu.memory.descendants_bytes", max_gpu_ram.descendants),
    ROW(GPU_RAM, "gpu.memory.combined_bytes", max_gpu_ram.combined),
    ROW(COUNT, "cpu.threads.main", cpu.main_thread_count),
    ROW(COUNT, "cpu.threads.descendants", cpu.descendants_thread_count),
    ROW(COUNT, "cpu.threads.combined", cpu.combined_thread_count),
#undef ROW
};

static double or_zero(double value)
{
    return isnan(value) ? 0 : value;
}

/* The mean may come from a better source than the maximum, and is never above it. */
static struct unit_percentages percentages(double max_units, double mean_units, uint64_t count)
{
    double mean_sum = 100 * or_zero(mean_units);
    double max_sum = fmax(100 * or_zero(max_units), mean_sum);
    double divisor = count > 0 ? (double)count : 1;

    return (struct unit_percentages){ max_sum, max_sum / divisor, mean_sum,
                                      mean_sum / divisor };
}

/* The machine's CPU time comes in steps of 10 ms, too coarse for a short run: it is not above what
 * there is, and not below what the job had of it. */
static struct unit_percentages bounded(struct unit_percentages system,
                                       const struct unit_percentages *job, uint64_t count)
{
    double all = 100 * (double)count;
    double max_sum = fmax(fmin(system.max_sum, all), job->max_sum);
    double mean_sum = fmax(fmin(system.mean_sum, all), job->mean_sum);

    return percentages(max_sum / 100, mean_sum / 100, count);
}

static void set_row(struct resource_usage *usage, size_t i, const struct usage_facts *facts,
                    double value)
{
    void *place = (char *)usage + rows[i].place;

    value = or_zero(value);
    switch (rows[i].kind) {
    case RAM:
        *(double *)place = value * facts->ram_unit->coefficient;
        break;
    case GPU_RAM:
        *(double *)place = value * facts->gpu_ram_unit->coefficient;
        break;
    case COUNT:
        *(uint64_t *)place = (uint64_t)value;
        break;
    }
}

struct resource_usage usage_of(const struct usage_facts *facts, const struct usage_run *run,
                               usage_figure *figure, void *data)
{
    uint64_t cores = facts->expected_core_count;
    double seconds = run->elapsed_seconds;
    struct resource_usage usage = {
        .max_ram.unit = facts->ram_unit->name,
        .max_ram.system_capacity = facts->ram_bytes * facts->ram_unit->coefficient,
        .max_gpu_ram.unit = facts->gpu_ram_unit->name,
        .max_gpu_ram.system_capacity = facts->gpu_ram_bytes * facts->gpu_ram_unit->coefficient,
        .cpu.system_core_count = facts->core_count,
        .cpu.expected_core_count = cores,
        .cpu.system = percentages(figure(data, "cpu.system.max_cores"),
                                  figure(data, "cpu.system.mean_cores"), facts->core_count),
        .cpu.main = percentages(figure(data, "cpu.main.max_cores"),
                                run->main_cpu_seconds / seconds, cores),
        .cpu.descendants = percentages(figure(data, "cpu.descendants.max_cores"),
                                       run->descendants_cpu_seconds / seconds, cores),
        .cpu.combined = percentages(figure(data, "cpu.max_cores"),
                                    run->combined_cpu_seconds / seconds, cores),
        .gpu.system_gpu_count = facts->gpu_count,
        .gpu.expected_gpu_count = facts->expected_gpu_count,
        .gpu.percentages =
            percentages(figure(data, "gpu.utilization.max_gpus"),
                        figure(data, "gpu.utilization.mean_gpus"), facts->expected_gpu_count),
        .compute_time.unit = facts->time_unit->name,
        .compute_time.time = seconds * facts->time_unit->coefficient,
    };

    usage.cpu.system = bounded(usage.cpu.system, &usage.cpu.combined, facts->core_count);
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        set_row(&usage, i, facts, figure(data, rows[i].path));
    return usage;
}
