/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage.h - a run's figures in the shape and units of gpu-tracker.
 *
 * Pure: figures in base units go in, numbers in the user's units come out. This interface
 * has no place for "not known", so such figures are 0; what they are is for the caller to say.
 */
#ifndef COMPAT_GPU_TRACKER_USAGE_H
#define COMPAT_GPU_TRACKER_USAGE_H

#include <stdint.h>

/* A unit is its name and what one base unit (byte, second) is in it. */
struct usage_unit {
    const char *name;
    double coefficient;
};

/* By name, in alphabetical order, ended by a row without a name. */
extern const struct usage_unit usage_memory_units[];
extern const struct usage_unit usage_time_units[];

/* NULL: unknown unit. */
const struct usage_unit *usage_unit_find(const struct usage_unit *units, const char *name);

/* What does not change while the job runs. Amounts are in base units. */
struct usage_facts {
    const struct usage_unit *ram_unit, *gpu_ram_unit, *time_unit;
    uint64_t core_count, expected_core_count;
    double ram_bytes;
    uint64_t gpu_count, expected_gpu_count;
    double gpu_ram_bytes; /* of all GPUs */
};

struct rss_values {
    double total_rss, private_rss, shared_rss;
};

/* Of one core or GPU, summed over all; "hardware" is that over the number expected. */
struct unit_percentages {
    double max_sum, max_hardware, mean_sum, mean_hardware;
};

struct resource_usage {
    struct {
        const char *unit;
        double system_capacity, system;
        struct rss_values main, descendants, combined;
    } max_ram;
    struct {
        const char *unit;
        double system_capacity, system, main, descendants, combined;
    } max_gpu_ram;
    struct {
        uint64_t system_core_count, expected_core_count;
        struct unit_percentages system, main, descendants, combined;
        uint64_t main_thread_count, descendants_thread_count, combined_thread_count;
    } cpu;
    struct {
        uint64_t system_gpu_count, expected_gpu_count;
        struct unit_percentages percentages;
    } gpu;
    struct {
        const char *unit;
        double time;
    } compute_time;
};

/* What was measured, beyond the figures. */
struct usage_run {
    double elapsed_seconds;
    double main_cpu_seconds, descendants_cpu_seconds, combined_cpu_seconds; /* NaN: not known */
};

/* A figure of the run by its path, as spoor_session_figure(); NaN: not known. */
typedef double usage_figure(void *data, const char *path);

struct resource_usage usage_of(const struct usage_facts *facts, const struct usage_run *run,
                               usage_figure *figure, void *data);

#endif
