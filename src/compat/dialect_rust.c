/* SPDX-License-Identifier: Apache-2.0 */
/* dialect_rust.c - the CSV of the Rust program resource-tracker: unquoted, numbers with a fixed number
 * of decimals. */
#include "compat/dialect_columns.h"

/* clang-format off */
static const struct column host[] = {
    TIME(0, INTEGER),
    PROCESSES,
    HOST_UTIME(SECONDS, 3, FIXED),
    HOST_STIME(SECONDS, 3, FIXED),
    { "cpu_usage", COLUMN_CORES, 1, 4, FIXED, .plus = { HOST(cpu.user_ns), HOST(cpu.system_ns), HOST(cpu.steal_ns) }, .clock = CLOCK_HOST_CPU },
    LEVEL("memory_free_mib", MIB, 0, INTEGER, memory.free_bytes),
    { "memory_used_mib", COLUMN_LEVEL, MIB, 0, INTEGER, .plus = { HOST(memory.total_bytes) }, .minus = { HOST(memory.available_bytes) } },
    LEVEL("memory_buffers_mib", MIB, 0, INTEGER, memory.buffers_bytes),
    { "memory_cached_mib", COLUMN_LEVEL, MIB, 0, INTEGER, .plus = { HOST(memory.page_cache_bytes), HOST(memory.reclaimable_bytes) } },
    LEVEL("memory_active_mib", MIB, 0, INTEGER, memory.active_bytes),
    LEVEL("memory_inactive_mib", MIB, 0, INTEGER, memory.inactive_bytes),
    HOST_IO,
    SPACE(GB, 6, FIXED),
    NETWORK,
    GPU("gpu_vram_mib", 4, FIXED | COLUMN_NO_GPU_ZERO, METRIC_HOST_GPU_UTILIZATION, METRIC_HOST_GPU_MEMORY, COLUMN_GPUS),
};

static const struct column job[] = {
    PID,
    CHILDREN(0),
    JOB_UTIME(SECONDS, 4, FIXED),
    JOB_STIME(SECONDS, 4, FIXED),
    JOB_CPU(FIXED),
    JOB_MEMORY("memory_mib", MIB, 0, INTEGER),
    JOB_BYTES("disk_read_bytes", METRIC_JOB_READ),
    JOB_BYTES("disk_write_bytes", METRIC_JOB_WRITTEN),
    JOB_GPU_USAGE("gpu_usage", 4, FIXED),
    JOB_GPU_MEMORY("gpu_vram_mib", 4, FIXED),
    JOB_GPU_COUNT("gpu_utilized", FIXED),
};

_Static_assert(ARRAY_SIZE(host) + ARRAY_SIZE(job) == 32, "as the predecessor");

const struct dialect dialect_resource_tracker_rs = {
    .name = "resource-tracker-rs",
    .csv = &csv_safe,
    .json_row = dialect_rust_json_row,
    .tables = {
        { "combined", { { host, 1, "" },
                        { host + 1, ARRAY_SIZE(host) - 1, "system_" },
                        { job, ARRAY_SIZE(job), "process_" } } },
    },
};
