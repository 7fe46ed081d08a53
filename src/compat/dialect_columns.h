/* SPDX-License-Identifier: Apache-2.0 */
/* dialect_columns.h - macros for the column tables of the dialects: raw values, units,
 * shared columns. */
#pragma once

#include "base/clock.h"
#include "output/dialect.h"

/* Offsets in a sample. */
#define AT(member) offsetof(struct sample, member)
#define VALUE(metric) AT(value[metric])
#define MOMENT(metric) AT(moment[metric])
#define HOST(member) AT(host.member)

/* The size of a unit in raw units: nanoseconds, bytes, millionths. */
#define SECONDS NS_PER_SECOND
#define TICKS (NS_PER_SECOND / 100) /* USER_HZ of Linux */
#define BYTES 1
#define KIB 1024
#define MIB 1048576
#define GIB 1073741824
#define GB 1000000000
#define GPUS 1000000

#define ALL COLUMN_ALL_DECIMALS
#define INTEGER COLUMN_INTEGER
#define FIXED COLUMN_FIXED
#define ZERO COLUMN_ZERO

/* clang-format off */

/* Columns that several tables have. The memory of a job is its PSS, or its RSS if the PSS is
 * unknown. If the job has ended, the last value is used; if it was never read, the peak. */
#define TIME(decimals, flags) \
    { "timestamp", COLUMN_LEVEL, SECONDS, decimals, flags, .plus = { AT(realtime_ns) } }
#define PID { "pid", COLUMN_PID, 1, 0, INTEGER, .plus = { 0 } }
#define CHILDREN(name, flags) \
    { name, COLUMN_CHILDREN, 1, 0, INTEGER | (flags), .plus = { 0 }, .read_as = { METRIC_JOB_PROCESSES } }
#define JOB_TIME(name, kind, per, decimals, flags, metric)                  \
    { name, kind, per, decimals, flags,                                    \
      .plus = { VALUE(METRIC_JOB_CPU), VALUE(METRIC_JOB_USER), VALUE(METRIC_JOB_SYSTEM) }, \
      .read_as = { METRIC_JOB_CPU, metric } }
#define JOB_UTIME(name, per, decimals, flags) JOB_TIME(name, COLUMN_PART, per, decimals, flags, METRIC_JOB_USER)
#define JOB_STIME(name, per, decimals, flags) JOB_TIME(name, COLUMN_REST, per, decimals, flags, METRIC_JOB_SYSTEM)
#define JOB_CPU(flags) \
    { "cpu_usage", COLUMN_CORES, 1, 4, flags, .plus = { VALUE(METRIC_JOB_CPU) }, .clock = CLOCK_JOB_CPU }
#define JOB_MEMORY(name, per, decimals, flags)                             \
    { name, COLUMN_FIRST, per, decimals, flags,                            \
      .plus = { MOMENT(METRIC_JOB_PSS), MOMENT(METRIC_JOB_RSS), VALUE(METRIC_JOB_PSS), VALUE(METRIC_JOB_RSS) }, \
      .fallback = VALUE(METRIC_JOB_RSS_PEAK), .read_as = { METRIC_JOB_RSS, METRIC_JOB_PSS } }
#define JOB_BYTES(name, flags, metric) \
    { name, COLUMN_GROWTH, BYTES, 0, INTEGER | (flags), .plus = { VALUE(metric) }, .read_as = { metric } }

#define PROCESSES { "processes", COLUMN_LEVEL, 1, 0, INTEGER, .plus = { HOST(process_count) } }
/* HOST_STIME and HOST_CPU exclude the time of interrupts, which is a part of cpu.system_ns. */
#define HOST_UTIME(name, per, decimals, flags) \
    { name, COLUMN_GROWTH, per, decimals, flags, .plus = { HOST(cpu.user_ns) },           \
      .read_as = { METRIC_HOST_CPU, METRIC_HOST_CPU_USER } }
#define HOST_STIME(name, per, decimals, flags)                             \
    { name, COLUMN_GROWTH, per, decimals, flags, .plus = { HOST(cpu.system_ns) },         \
      .minus = { HOST(cpu.interrupt_ns) }, .read_as = { METRIC_HOST_CPU, METRIC_HOST_CPU_SYSTEM } }
#define HOST_CPU                                                           \
    { "cpu_usage", COLUMN_CORES, 1, 4, ZERO, .plus = { HOST(cpu.user_ns), HOST(cpu.system_ns) }, \
      .minus = { HOST(cpu.interrupt_ns) }, .clock = CLOCK_HOST_CPU }
#define LEVEL(name, per, decimals, flags, member) \
    { name, COLUMN_LEVEL, per, decimals, flags, .plus = { HOST(member) } }
#define MEMORY_USED(name, per, decimals, flags)                            \
    { name, COLUMN_LEVEL, per, decimals, flags, .plus = { HOST(memory.total_bytes) },     \
      .minus = { HOST(memory.available_bytes) }, .read_as = { METRIC_HOST_MEMORY_USED } }
#define MEMORY_CACHED(name, per, decimals, flags)                          \
    { name, COLUMN_LEVEL, per, decimals, flags,                            \
      .plus = { HOST(memory.page_cache_bytes), HOST(memory.reclaimable_bytes) },          \
      .read_as = { METRIC_HOST_MEMORY_CACHED } }
#define HOST_BYTES(name, member, metric) \
    { name, COLUMN_GROWTH, BYTES, 0, INTEGER, .plus = { HOST(member) }, .read_as = { metric } }
#define SPACE(per, decimals, flags)                                        \
    LEVEL("disk_space_total_gb", per, decimals, flags, space.total_bytes), \
    { "disk_space_used_gb", COLUMN_LEVEL, per, decimals, flags,            \
      .plus = { HOST(space.total_bytes) }, .minus = { HOST(space.free_bytes) } },           \
    LEVEL("disk_space_free_gb", per, decimals, flags, space.free_bytes)
#define HOST_IO                                                            \
    HOST_BYTES("disk_read_bytes", disk.in, METRIC_HOST_DISK_READ),          \
    HOST_BYTES("disk_write_bytes", disk.out, METRIC_HOST_DISK_WRITTEN)
#define NETWORK                                                            \
    HOST_BYTES("net_recv_bytes", network.in, METRIC_HOST_NETWORK_RECEIVED),  \
    HOST_BYTES("net_sent_bytes", network.out, METRIC_HOST_NETWORK_SENT)

/* The three columns about GPUs. `kind` selects which GPUs gpu_utilized counts. */
#define GPU(vram, decimals, flags, utilization, memory, kind)              \
    { "gpu_usage", COLUMN_LEVEL, GPUS, decimals, flags, .plus = { MOMENT(utilization) },   \
      .read_as = { utilization } },                                        \
    { vram, COLUMN_LEVEL, MIB, decimals, flags, .plus = { MOMENT(memory) }, .read_as = { memory } }, \
    { "gpu_utilized", kind, 1, 0, INTEGER | (flags), .plus = { 0 } }

/* The GPU usage of the job or, without a job, of the machine. */
#define JOB_GPU_USAGE(name, decimals, flags)                               \
    { name, COLUMN_LEVEL, GPUS, decimals, flags, .plus = { MOMENT(METRIC_JOB_GPU_UTILIZATION) }, \
      .fallback = MOMENT(METRIC_HOST_GPU_UTILIZATION), .read_as = { METRIC_JOB_GPU_UTILIZATION } }
#define JOB_GPU_MEMORY(name, decimals, flags)                              \
    { name, COLUMN_LEVEL, MIB, decimals, flags, .plus = { MOMENT(METRIC_JOB_GPU_MEMORY) }, \
      .fallback = MOMENT(METRIC_HOST_GPU_MEMORY), .read_as = { METRIC_JOB_GPU_MEMORY } }
#define JOB_GPU_COUNT(name, flags)                                         \
    { name, COLUMN_JOB_GPUS, 1, 0, INTEGER | (flags), .plus = { 0 },       \
      .fallback = MOMENT(METRIC_HOST_GPU_UTILIZATION) }

/* clang-format on */
