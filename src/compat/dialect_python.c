/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dialect_python.c - three generations of the Python package resource-tracker.
 *
 * Numbers are written as Python writes them: counts without a decimal point, and a rate or an
 * increase of exactly zero as 0, not 0.0, because max(0, 0.0) is the integer 0 in Python.
 */
#include "compat/dialect_columns.h"

#define HOST_GPU(vram, decimals)                                         \
    GPU(vram, decimals, COLUMN_NO_GPU_ZERO, METRIC_HOST_GPU_UTILIZATION, \
        METRIC_HOST_GPU_MEMORY, COLUMN_GPUS)
#define JOB_GPU(vram, decimals)                                                \
    GPU(vram, decimals, COLUMN_NO_GPU_ZERO | ZERO, METRIC_JOB_GPU_UTILIZATION, \
        METRIC_JOB_GPU_MEMORY, COLUMN_JOB_GPUS)

/* clang-format off */

/* ---- 0.5 ------------------------------------------------------------------------ */

static const struct column process[] = {
    TIME(3, 0),
    PID,
    CHILDREN("children", COLUMN_ZERO_NONE),
    JOB_UTIME("utime", SECONDS, 6, ZERO),
    JOB_STIME("stime", SECONDS, 6, ZERO),
    JOB_CPU(ZERO),
    JOB_MEMORY("memory_mib", MIB, 4, 0),
    JOB_BYTES("disk_read_bytes", 0, METRIC_JOB_READ),
    JOB_BYTES("disk_write_bytes", 0, METRIC_JOB_WRITTEN),
    JOB_GPU("gpu_vram_mib", 4),
};

static const struct column system_[] = {
    TIME(3, 0),
    PROCESSES,
    HOST_UTIME("utime", SECONDS, 6, ZERO),
    HOST_STIME("stime", SECONDS, 6, ZERO),
    HOST_CPU,
    LEVEL("memory_free_mib", MIB, 4, 0, memory.free_bytes),
    MEMORY_USED("memory_used_mib", MIB, 4, 0),
    LEVEL("memory_buffers_mib", MIB, 4, 0, memory.buffers_bytes),
    MEMORY_CACHED("memory_cached_mib", MIB, 4, 0),
    LEVEL("memory_active_mib", MIB, 4, 0, memory.active_bytes),
    LEVEL("memory_inactive_mib", MIB, 4, 0, memory.inactive_bytes),
    HOST_IO,
    SPACE(GB, 2, 0),
    NETWORK,
    HOST_GPU("gpu_vram_mib", 4),
};

_Static_assert(ARRAY_SIZE(process) == 12 && ARRAY_SIZE(system_) == 21, "as the predecessor");

const struct dialect dialect_resource_tracker = {
    .name = "resource-tracker",
    .csv = &csv_quoted,
    .none = "",
    .tables = {
        { "process", { { process, ARRAY_SIZE(process), "" } } },
        { "system", { { system_, ARRAY_SIZE(system_), "" } } },
        { "combined", { { system_, 1, "" },
                        { system_ + 1, ARRAY_SIZE(system_) - 1, "system_" },
                        { process + 1, ARRAY_SIZE(process) - 1, "process_" } } },
    },
};

/* ---- 0.3 and 0.1: ticks, kB, all decimals ------------------------------------------- */

#define OLD_PROCESS(memory)                          \
    TIME(ALL, 0),                                    \
    PID,                                             \
    CHILDREN("children", 0),                                     \
    JOB_UTIME("utime", TICKS, 0, INTEGER),                    \
    JOB_STIME("stime", TICKS, 0, INTEGER),                    \
    JOB_CPU(ZERO),                                   \
    JOB_MEMORY(memory, KIB, 0, INTEGER),             \
    JOB_BYTES("read_bytes", 0, METRIC_JOB_READ),        \
    JOB_BYTES("write_bytes", 0, METRIC_JOB_WRITTEN),    \
    JOB_GPU("gpu_vram", ALL)

#define OLD_SYSTEM(active, active_bytes_, inactive, inactive_bytes_)\
    TIME(ALL, 0),                                                               \
    PROCESSES,                                                                  \
    HOST_UTIME("utime", TICKS, 0, INTEGER),                                              \
    HOST_STIME("stime", TICKS, 0, INTEGER),                                              \
    HOST_CPU,                                                                   \
    LEVEL("memory_free", KIB, 0, INTEGER, memory.free_bytes),                   \
    { "memory_used", COLUMN_LEVEL, KIB, 0, INTEGER, .plus = { HOST(memory.total_bytes) },  \
      .minus = { HOST(memory.free_bytes), HOST(memory.buffers_bytes), HOST(memory.page_cache_bytes) },   \
      .read_as = { METRIC_HOST_MEMORY_USED } },                                 \
    LEVEL("memory_buffers", KIB, 0, INTEGER, memory.buffers_bytes),             \
    { "memory_cached", COLUMN_LEVEL, KIB, 0, INTEGER, .plus = { HOST(memory.page_cache_bytes) }, \
      .read_as = { METRIC_HOST_MEMORY_CACHED } },                               \
    LEVEL(active, KIB, 0, INTEGER, memory.active_bytes_),                        \
    LEVEL(inactive, KIB, 0, INTEGER, memory.inactive_bytes_),                    \
    HOST_IO,                                                                    \
    SPACE(GIB, 2, 0),                                                           \
    NETWORK,                                                                    \
    HOST_GPU("gpu_vram", ALL)

static const struct column process_0_3[] = { OLD_PROCESS("memory") };
static const struct column system_0_3[] = {
    OLD_SYSTEM("memory_active", active_bytes, "memory_inactive", inactive_bytes)
};

const struct dialect dialect_resource_tracker_0_3 = {
    .name = "resource-tracker-0.3",
    .csv = &csv_quoted,
    .none = "",
    .tables = {
        { "process", { { process_0_3, ARRAY_SIZE(process_0_3), "" } } },
        { "system", { { system_0_3, ARRAY_SIZE(system_0_3), "" } } },
    },
};

static const struct column process_0_1[] = { OLD_PROCESS("pss") };
static const struct column system_0_1[] = {
    OLD_SYSTEM("memory_active_anon", active_anon_bytes, "memory_inactive_anon", inactive_anon_bytes)
};

const struct dialect dialect_resource_tracker_0_1 = {
    .name = "resource-tracker-0.1",
    .csv = &csv_quoted_crlf,
    .none = "",
    .tables = {
        { "process", { { process_0_1, ARRAY_SIZE(process_0_1), "" } } },
        { "system", { { system_0_1, ARRAY_SIZE(system_0_1), "" } } },
    },
};
