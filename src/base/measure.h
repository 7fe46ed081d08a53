/* SPDX-License-Identifier: Apache-2.0 */
/*
 * measure.h - the metrics, and a value together with its source.
 *
 * Scopes: main is the job's first process, descendants is everything it started,
 * job is both together, host is the machine.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* The processes that a figure covers. */
enum member_group { GROUP_MAIN, GROUP_DESCENDANTS, GROUP_JOB, GROUP_COUNT };

/* The metrics; their names, units and help texts are in sample/metric.c. Each scope is a range
 * of them: main, descendants, job, host, in this order. */
enum metric {
    METRIC_MAIN_CPU,
    METRIC_MAIN_RSS,
    METRIC_MAIN_PRIVATE,
    METRIC_MAIN_SHARED,
    METRIC_MAIN_RSS_PEAK,
    METRIC_MAIN_RSS_BOUND,
    METRIC_MAIN_RSS_DISCOUNT,
    METRIC_MAIN_THREADS,
    METRIC_MAIN_THREADS_PEAK,
    METRIC_MAIN_GPU_MEMORY,

    METRIC_DESCENDANTS_CPU,
    METRIC_DESCENDANTS_RSS,
    METRIC_DESCENDANTS_PRIVATE,
    METRIC_DESCENDANTS_SHARED,
    METRIC_DESCENDANTS_RSS_PEAK,
    METRIC_DESCENDANTS_RSS_BOUND,
    METRIC_DESCENDANTS_RSS_DISCOUNT,
    METRIC_DESCENDANTS_THREADS,
    METRIC_DESCENDANTS_THREADS_PEAK,
    METRIC_DESCENDANTS_GPU_MEMORY,

    METRIC_JOB_CPU,
    METRIC_JOB_USER,
    METRIC_JOB_SYSTEM,
    METRIC_JOB_MAJOR_FAULTS,
    METRIC_JOB_MINOR_FAULTS,
    METRIC_JOB_VOLUNTARY_SWITCHES,
    METRIC_JOB_INVOLUNTARY_SWITCHES,
    METRIC_JOB_CPU_WAIT,
    METRIC_JOB_IO_WAIT,
    METRIC_JOB_CYCLES, /* these four: same order as in source/perf/events.h */
    METRIC_JOB_INSTRUCTIONS,
    METRIC_JOB_CACHE_MISSES,
    METRIC_JOB_BRANCH_MISSES,
    METRIC_JOB_RSS,
    METRIC_JOB_PRIVATE,
    METRIC_JOB_SHARED,
    METRIC_JOB_PSS,
    METRIC_JOB_SWAP,
    METRIC_JOB_RSS_PEAK,
    METRIC_JOB_RSS_BOUND,
    METRIC_JOB_RSS_DISCOUNT,
    METRIC_JOB_MEMORY_PEAK,
    METRIC_JOB_MEMORY_BOUND,
    METRIC_JOB_ANON,
    METRIC_JOB_PAGE_CACHE,
    METRIC_JOB_REFAULTED,
    METRIC_JOB_THREADS,
    METRIC_JOB_THREADS_PEAK,
    METRIC_JOB_PROCESSES,
    METRIC_JOB_PROCESSES_PEAK,
    METRIC_JOB_STARTED,
    METRIC_JOB_READ,
    METRIC_JOB_WRITTEN,
    METRIC_JOB_READ_CHARS,
    METRIC_JOB_WRITTEN_CHARS,
    METRIC_JOB_NETWORK_RECEIVED, /* these eight: same order as in job/network.h */
    METRIC_JOB_NETWORK_SENT,
    METRIC_JOB_LOOPBACK_RECEIVED,
    METRIC_JOB_LOOPBACK_SENT,
    METRIC_JOB_NETWORK_RECEIVED_BOUND,
    METRIC_JOB_NETWORK_SENT_BOUND,
    METRIC_JOB_LOOPBACK_RECEIVED_BOUND,
    METRIC_JOB_LOOPBACK_SENT_BOUND,
    METRIC_JOB_CONNECTIONS,
    METRIC_JOB_OOM_KILLS,
    METRIC_JOB_THROTTLED,
    METRIC_JOB_CPU_PRESSURE, /* these three: same order as in source/host/host.h */
    METRIC_JOB_MEMORY_PRESSURE,
    METRIC_JOB_IO_PRESSURE,
    METRIC_JOB_CPU_ENERGY,
    METRIC_JOB_CPU_ENERGY_LOW,
    METRIC_JOB_GPU_MEMORY,
    METRIC_JOB_GPU_BUSY,
    METRIC_JOB_GPU_UTILIZATION,

    METRIC_HOST_CPU,
    METRIC_JOB_END = METRIC_HOST_CPU, /* the metrics above are about the job */
    METRIC_HOST_CPU_USER,
    METRIC_HOST_CPU_SYSTEM,
    METRIC_HOST_CPU_IOWAIT,
    METRIC_HOST_CPU_STEAL,
    METRIC_HOST_MEMORY_USED,
    METRIC_HOST_MEMORY_AVAILABLE,
    METRIC_HOST_MEMORY_CACHED,
    METRIC_HOST_SWAP_USED,
    METRIC_HOST_DIRTY,
    METRIC_HOST_DISK_READ,
    METRIC_HOST_DISK_WRITTEN,
    METRIC_HOST_DISK_SPACE_USED,
    METRIC_HOST_DISK_SPACE_FREE,
    METRIC_HOST_NETWORK_RECEIVED,
    METRIC_HOST_NETWORK_SENT,
    METRIC_HOST_RDMA_RECEIVED,
    METRIC_HOST_RDMA_SENT,
    METRIC_HOST_NFS_READ,
    METRIC_HOST_NFS_WRITTEN,
    METRIC_HOST_CPU_PRESSURE,
    METRIC_HOST_MEMORY_PRESSURE,
    METRIC_HOST_IO_PRESSURE,
    METRIC_HOST_CPU_ENERGY,
    METRIC_HOST_GPU_MEMORY,
    METRIC_HOST_GPU_BUSY,
    METRIC_HOST_GPU_UTILIZATION,
    METRIC_HOST_GPU_ENERGY,
    METRIC_HOST_GPU_SM, /* from here: same order as enum gpu_work_kind */
    METRIC_HOST_GPU_WORK = METRIC_HOST_GPU_SM,
    METRIC_HOST_GPU_OCCUPANCY,
    METRIC_HOST_GPU_TENSOR,
    METRIC_HOST_GPU_FP64,
    METRIC_HOST_GPU_FP32,
    METRIC_HOST_GPU_FP16,
    METRIC_HOST_GPU_DRAM,
    METRIC_HOST_GPU_PCIE_SENT,
    METRIC_HOST_GPU_PCIE_RECEIVED,
    METRIC_HOST_GPU_NVLINK_SENT,
    METRIC_HOST_GPU_NVLINK_RECEIVED,

    METRIC_COUNT,
    METRIC_NONE = METRIC_COUNT,
};

/* The source of a metric's values in this run. It is chosen at the start; if it is lost, a
 * less accurate source may replace it. Strings are static. */
struct origin {
    const char *source; /* such as "procfs.statm"; NULL: not measured */
    const char *reason; /* why it is not measured, or NULL */
    bool is_exact;      /* a count kept by the kernel, not sampled */
};

struct measure {
    uint64_t value; /* for some gauges: the highest since the previous reading */
    /* The value at the time of the reading. Differs from `value` only for those gauges. */
    uint64_t now;
    struct origin origin;
};
