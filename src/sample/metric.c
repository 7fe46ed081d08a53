/* SPDX-License-Identifier: Apache-2.0 */
#include "sample/metric.h"

#include <math.h>
#include <string.h>

#include "base/amount.h"
#include "base/compiler.h"
#include "text/find.h"

#define COUNTER SPOOR_COUNTER
#define GAUGE SPOOR_GAUGE

/* clang-format off */
static const struct metric_row rows[METRIC_COUNT] = {
/*                                  name                         help                                                                   rate                 kind        unit, and rare fields */
[METRIC_MAIN_CPU] =             { { "main_cpu_seconds",          "CPU time of the main process, without its children",                  "main_cpu_cores",    COUNTER }, .unit = UNIT_NANOSECONDS, .clock = CLOCK_JOB_CPU, .is_charted = true, .otel = "process.cpu.time" },
[METRIC_MAIN_RSS] =             { { "main_rss_bytes",            "resident memory of the main process",                                 NULL,                GAUGE   }, .unit = UNIT_BYTES, .is_charted = true, .otel = "process.memory.usage", .ends_with_job = true, .discount = METRIC_MAIN_RSS_DISCOUNT },
[METRIC_MAIN_PRIVATE] =         { { "main_private_bytes",        "the part of it that no other process maps",                           NULL,                GAUGE   }, .unit = UNIT_BYTES, .total = METRIC_MAIN_RSS },
[METRIC_MAIN_SHARED] =          { { "main_shared_bytes",         "the part of it that other processes map too",                         NULL,                GAUGE   }, .unit = UNIT_BYTES, .total = METRIC_MAIN_RSS, .discount = METRIC_MAIN_RSS_DISCOUNT },
[METRIC_MAIN_RSS_PEAK] =        { { "main_rss_peak_bytes",       "the kernel's high-water mark of the main process",                    NULL,                GAUGE   }, .unit = UNIT_BYTES },
[METRIC_MAIN_RSS_BOUND] =       { { "main_rss_bound_bytes",      "upper bound of that mark; known at the end",                          NULL,                GAUGE   }, .unit = UNIT_BYTES },
[METRIC_MAIN_RSS_DISCOUNT] =    { { "main_rss_discount_bytes",   "memory that the main process maps twice, or that was merged, so far", NULL,                GAUGE   }, .unit = UNIT_BYTES },
[METRIC_MAIN_THREADS] =         { { "main_threads",              "threads of the main process",                                         NULL,                GAUGE   }, .unit = UNIT_COUNT, .otel = "process.thread.count" },
[METRIC_MAIN_THREADS_PEAK] =    { { "main_threads_peak",         "the most threads of the main process at once, from process events",   NULL,                GAUGE   }, .unit = UNIT_COUNT },
[METRIC_MAIN_GPU_MEMORY] =      { { "main_gpu_memory_bytes",     "GPU memory of the main process, peak since the previous sample",      NULL,                GAUGE   }, .unit = UNIT_BYTES, .is_charted = true, .otel = "spoor.main.gpu.memory.usage" },

[METRIC_DESCENDANTS_CPU] =      { { "descendants_cpu_seconds",   "CPU time of the descendants of the main process",                     "descendants_cpu_cores", COUNTER }, .unit = UNIT_NANOSECONDS, .clock = CLOCK_JOB_CPU, .is_charted = true, .otel = "spoor.descendants.cpu.time" },
[METRIC_DESCENDANTS_RSS] =      { { "descendants_rss_bytes",     "resident memory of the descendants, shared pages counted once",       NULL,                GAUGE   }, .unit = UNIT_BYTES, .is_charted = true, .otel = "spoor.descendants.memory.usage", .ends_with_job = true, .discount = METRIC_DESCENDANTS_RSS_DISCOUNT },
[METRIC_DESCENDANTS_PRIVATE] =  { { "descendants_private_bytes", "the part of it that only one process maps",                           NULL,                GAUGE   }, .unit = UNIT_BYTES, .total = METRIC_DESCENDANTS_RSS, .discount = METRIC_DESCENDANTS_RSS_DISCOUNT },
[METRIC_DESCENDANTS_SHARED] =   { { "descendants_shared_bytes",  "the part of it that several processes map",                           NULL,                GAUGE   }, .unit = UNIT_BYTES, .total = METRIC_DESCENDANTS_RSS, .discount = METRIC_DESCENDANTS_RSS_DISCOUNT },
[METRIC_DESCENDANTS_RSS_PEAK] = { { "descendants_rss_peak_bytes", "the largest high-water mark of any descendant",                       NULL,                GAUGE   }, .unit = UNIT_BYTES },
[METRIC_DESCENDANTS_RSS_BOUND] = { { "descendants_rss_bound_bytes", "upper bound of their memory; known at the end",                       NULL,                GAUGE   }, .unit = UNIT_BYTES },
[METRIC_DESCENDANTS_RSS_DISCOUNT] = { { "descendants_rss_discount_bytes", "memory that a descendant maps twice, or that was merged, so far",     NULL,                GAUGE   }, .unit = UNIT_BYTES },
[METRIC_DESCENDANTS_THREADS] =  { { "descendants_threads",       "threads of the descendants",                                          NULL,                GAUGE   }, .unit = UNIT_COUNT, .otel = "spoor.descendants.thread.count" },
[METRIC_DESCENDANTS_THREADS_PEAK] = { { "descendants_threads_peak", "the most threads of the descendants at once, from process events",  NULL,                GAUGE   }, .unit = UNIT_COUNT },
[METRIC_DESCENDANTS_GPU_MEMORY] = { { "descendants_gpu_memory_bytes", "GPU memory of the descendants, peak since the previous sample",       NULL,                GAUGE   }, .unit = UNIT_BYTES, .is_charted = true, .otel = "spoor.descendants.gpu.memory.usage" },

[METRIC_JOB_CPU] =              { { "job_cpu_seconds",           "CPU time of the job",                                                 "job_cpu_cores",     COUNTER }, .unit = UNIT_NANOSECONDS, .clock = CLOCK_JOB_CPU, .is_charted = true, .otel = "spoor.job.cpu.time" },
[METRIC_JOB_USER] =             { { "job_user_seconds",          "the part of it spent in user space",                                  NULL,                COUNTER }, .unit = UNIT_NANOSECONDS, .otel = "spoor.job.cpu.mode.time", .attribute = "cpu.mode=user" },
[METRIC_JOB_SYSTEM] =           { { "job_system_seconds",        "the part of it spent in the kernel",                                  NULL,                COUNTER }, .unit = UNIT_NANOSECONDS, .otel = "spoor.job.cpu.mode.time", .attribute = "cpu.mode=system" },
[METRIC_JOB_MAJOR_FAULTS] =     { { "job_major_page_faults",     "page faults of the job that had to read from storage",                NULL,                COUNTER }, .unit = UNIT_COUNT, .is_charted = true, .may_fall = true, .otel = "spoor.job.paging.faults", .attribute = "system.paging.fault.type=major" },
[METRIC_JOB_MINOR_FAULTS] =     { { "job_minor_page_faults",     "page faults of the job that needed no read from storage",             NULL,                COUNTER }, .unit = UNIT_COUNT, .otel = "spoor.job.paging.faults", .attribute = "system.paging.fault.type=minor" },
[METRIC_JOB_VOLUNTARY_SWITCHES] = { { "job_voluntary_context_switches", "times a thread of the job gave up its CPU to wait; known at the end", NULL,                COUNTER }, .unit = UNIT_COUNT, .otel = "spoor.job.context_switches", .attribute = "process.context_switch.type=voluntary" },
[METRIC_JOB_INVOLUNTARY_SWITCHES] = { { "job_involuntary_context_switches", "times a thread of the job was preempted; known at the end",           NULL,                COUNTER }, .unit = UNIT_COUNT, .otel = "spoor.job.context_switches", .attribute = "process.context_switch.type=involuntary" },
[METRIC_JOB_CPU_WAIT] =         { { "job_cpu_wait_seconds",      "time that threads of the job were ready to run, but had no CPU",       NULL,                COUNTER }, .unit = UNIT_NANOSECONDS, .may_fall = true, .otel = "spoor.job.cpu.wait.time" },
[METRIC_JOB_IO_WAIT] =          { { "job_io_wait_seconds",       "time that threads of the job waited for storage; known at the end",    NULL,                COUNTER }, .unit = UNIT_NANOSECONDS, .otel = "spoor.job.disk.wait.time" },
[METRIC_JOB_CYCLES] =           { { "job_cycles",                "CPU cycles in user space, with --counters",                           NULL,                COUNTER }, .unit = UNIT_COUNT, .may_fall = true, .otel = "spoor.job.cpu.cycles" },
[METRIC_JOB_INSTRUCTIONS] =     { { "job_instructions",          "instructions in user space, with --counters",                         NULL,                COUNTER }, .unit = UNIT_COUNT, .may_fall = true, .otel = "spoor.job.cpu.instructions" },
[METRIC_JOB_CACHE_MISSES] =     { { "job_cache_misses",          "misses of the last cache in user space, with --counters",             NULL,                COUNTER }, .unit = UNIT_COUNT, .may_fall = true, .otel = "spoor.job.cpu.cache.misses" },
[METRIC_JOB_BRANCH_MISSES] =    { { "job_branch_misses",         "mispredicted branches in user space, with --counters",                NULL,                COUNTER }, .unit = UNIT_COUNT, .may_fall = true, .otel = "spoor.job.cpu.branch.misses" },
[METRIC_JOB_RSS] =              { { "job_rss_bytes",             "resident memory of the job, shared pages counted once",               NULL,                GAUGE   }, .unit = UNIT_BYTES, .is_charted = true, .otel = "spoor.job.memory.usage", .ends_with_job = true, .discount = METRIC_JOB_RSS_DISCOUNT },
[METRIC_JOB_PRIVATE] =          { { "job_private_bytes",         "the part of it that only one process maps",                           NULL,                GAUGE   }, .unit = UNIT_BYTES, .is_charted = true, .otel = "spoor.job.memory.private", .ends_with_job = true, .total = METRIC_JOB_RSS, .discount = METRIC_JOB_RSS_DISCOUNT },
[METRIC_JOB_SHARED] =           { { "job_shared_bytes",          "the part of it that several processes map",                           NULL,                GAUGE   }, .unit = UNIT_BYTES, .is_charted = true, .otel = "spoor.job.memory.shared", .ends_with_job = true, .total = METRIC_JOB_RSS, .discount = METRIC_JOB_RSS_DISCOUNT },
[METRIC_JOB_PSS] =              { { "job_pss_bytes",             "memory of the job; a page that n processes map counts 1/n for each",  NULL,                GAUGE   }, .unit = UNIT_BYTES, .otel = "spoor.job.memory.pss", .discount = METRIC_JOB_RSS_DISCOUNT },
[METRIC_JOB_SWAP] =             { { "job_swap_bytes",            "memory of the job that is swapped out",                               NULL,                GAUGE   }, .unit = UNIT_BYTES, .is_charted = true, .otel = "spoor.job.memory.swap", .ends_with_job = true },
[METRIC_JOB_RSS_PEAK] =         { { "job_rss_peak_bytes",        "the largest high-water mark of any process of the job",               NULL,                GAUGE   }, .unit = UNIT_BYTES, .otel = "spoor.job.memory.process_peak" },
[METRIC_JOB_RSS_BOUND] =        { { "job_rss_bound_bytes",       "upper bound of the job's memory; known at the end",                   NULL,                GAUGE   }, .unit = UNIT_BYTES },
[METRIC_JOB_RSS_DISCOUNT] =     { { "job_rss_discount_bytes",    "memory that one process maps twice, or that was merged, seen so far", NULL,                GAUGE   }, .unit = UNIT_BYTES },
[METRIC_JOB_MEMORY_PEAK] =      { { "job_memory_peak_bytes",     "the kernel's peak of the job's cgroup, including page cache",         NULL,                GAUGE   }, .unit = UNIT_BYTES, .otel = "spoor.job.memory.cgroup_peak" },
[METRIC_JOB_MEMORY_BOUND] =     { { "job_memory_bound_bytes",    "upper bound of that peak, if it is not certain",                      NULL,                GAUGE   }, .unit = UNIT_BYTES },
[METRIC_JOB_ANON] =             { { "job_anon_bytes",            "memory of the job's cgroup that is not backed by files",              NULL,                GAUGE   }, .unit = UNIT_BYTES, .is_charted = true, .otel = "spoor.job.memory.anonymous", .ends_with_job = true },
[METRIC_JOB_PAGE_CACHE] =       { { "job_page_cache_bytes",      "page cache of the job's cgroup",                                      NULL,                GAUGE   }, .unit = UNIT_BYTES, .is_charted = true, .otel = "spoor.job.memory.page_cache", .ends_with_job = true },
[METRIC_JOB_REFAULTED] =        { { "job_refaulted_bytes",       "page cache that the job read again after it had been evicted",        NULL,                COUNTER }, .unit = UNIT_BYTES, .otel = "spoor.job.memory.refaulted" },
[METRIC_JOB_THREADS] =          { { "job_threads",               "threads of the job",                                                  NULL,                GAUGE   }, .unit = UNIT_COUNT, .is_charted = true, .otel = "spoor.job.thread.count", .ends_with_job = true },
[METRIC_JOB_THREADS_PEAK] =     { { "job_threads_peak",          "the most threads of the job at once, from events or its cgroup",        NULL,                GAUGE   }, .unit = UNIT_COUNT, .otel = "spoor.job.thread.peak" },
[METRIC_JOB_PROCESSES] =        { { "job_processes",             "processes of the job",                                                NULL,                GAUGE   }, .unit = UNIT_COUNT, .is_charted = true, .otel = "spoor.job.process.count", .ends_with_job = true },
[METRIC_JOB_PROCESSES_PEAK] =   { { "job_processes_peak",        "the most processes of the job at once, from process events",          NULL,                GAUGE   }, .unit = UNIT_COUNT, .otel = "spoor.job.process.peak" },
[METRIC_JOB_STARTED] =          { { "job_started_processes",     "processes of the job seen so far",                                    NULL,                COUNTER }, .unit = UNIT_COUNT, .is_charted = true, .may_fall = true, .otel = "spoor.job.process.started" },
[METRIC_JOB_READ] =             { { "job_read_bytes",            "bytes read from storage",                                             "job_read_bytes_per_second", COUNTER }, .unit = UNIT_BYTES, .is_charted = true, .may_fall = true, .otel = "spoor.job.disk.io", .attribute = "disk.io.direction=read" },
[METRIC_JOB_WRITTEN] =          { { "job_written_bytes",         "bytes written to storage",                                            "job_written_bytes_per_second", COUNTER }, .unit = UNIT_BYTES, .is_charted = true, .may_fall = true, .otel = "spoor.job.disk.io", .attribute = "disk.io.direction=write" },
[METRIC_JOB_READ_CHARS] =       { { "job_read_chars_bytes",      "bytes returned by read calls: from files, cache and pipes",           NULL,                COUNTER }, .unit = UNIT_BYTES, .otel = "spoor.job.file.io", .attribute = "disk.io.direction=read" },
[METRIC_JOB_WRITTEN_CHARS] =    { { "job_written_chars_bytes",   "bytes accepted by write calls",                                       NULL,                COUNTER }, .unit = UNIT_BYTES, .otel = "spoor.job.file.io", .attribute = "disk.io.direction=write" },
[METRIC_JOB_NETWORK_RECEIVED] = { { "job_network_received_bytes", "bytes received by TCP connections of the job with other machines", "job_network_received_bytes_per_second", COUNTER }, .unit = UNIT_BYTES, .is_charted = true, .otel = "spoor.job.network.io", .attribute = "network.io.direction=receive" },
[METRIC_JOB_NETWORK_SENT] = { { "job_network_sent_bytes", "bytes sent by them", "job_network_sent_bytes_per_second", COUNTER }, .unit = UNIT_BYTES, .is_charted = true, .otel = "spoor.job.network.io", .attribute = "network.io.direction=transmit" },
[METRIC_JOB_LOOPBACK_RECEIVED] = { { "job_loopback_received_bytes", "bytes received by TCP connections of the job within this machine", "job_loopback_received_bytes_per_second", COUNTER }, .unit = UNIT_BYTES, .is_charted = true, .otel = "spoor.job.loopback.io", .attribute = "network.io.direction=receive" },
[METRIC_JOB_LOOPBACK_SENT] = { { "job_loopback_sent_bytes", "bytes sent by them", "job_loopback_sent_bytes_per_second", COUNTER }, .unit = UNIT_BYTES, .is_charted = true, .otel = "spoor.job.loopback.io", .attribute = "network.io.direction=transmit" },
[METRIC_JOB_NETWORK_RECEIVED_BOUND] = { { "job_network_received_bound_bytes", "upper bound of `job_network_received_bytes`; known at the end", NULL, GAUGE }, .unit = UNIT_BYTES },
[METRIC_JOB_NETWORK_SENT_BOUND] = { { "job_network_sent_bound_bytes", "upper bound of `job_network_sent_bytes`; known at the end", NULL, GAUGE }, .unit = UNIT_BYTES },
[METRIC_JOB_LOOPBACK_RECEIVED_BOUND] = { { "job_loopback_received_bound_bytes", "upper bound of `job_loopback_received_bytes`; known at the end", NULL, GAUGE }, .unit = UNIT_BYTES },
[METRIC_JOB_LOOPBACK_SENT_BOUND] = { { "job_loopback_sent_bound_bytes", "upper bound of `job_loopback_sent_bytes`; known at the end", NULL, GAUGE }, .unit = UNIT_BYTES },
[METRIC_JOB_CONNECTIONS] = { { "job_network_connections", "TCP connections of the job seen so far", NULL, COUNTER }, .unit = UNIT_COUNT, .otel = "spoor.job.network.connections" },
[METRIC_JOB_OOM_KILLS] =        { { "job_oom_kills",             "processes in the job's cgroup killed by the out-of-memory killer",    NULL,                COUNTER }, .unit = UNIT_COUNT, .otel = "spoor.job.oom_kills" },
[METRIC_JOB_THROTTLED] =        { { "job_throttled_seconds",     "time the job's cgroup was throttled by its CPU quota",                NULL,                COUNTER }, .unit = UNIT_NANOSECONDS, .is_charted = true, .otel = "spoor.job.cpu.throttled.time" },
[METRIC_JOB_CPU_PRESSURE] =     { { "job_cpu_pressure_seconds",  "time some process of the job waited for a CPU",                       NULL,                COUNTER }, .unit = UNIT_NANOSECONDS, .is_charted = true, .otel = "spoor.job.pressure.time", .attribute = "spoor.resource=cpu" },
[METRIC_JOB_MEMORY_PRESSURE] =  { { "job_memory_pressure_seconds", "time some process of the job waited for memory",                      NULL,                COUNTER }, .unit = UNIT_NANOSECONDS, .is_charted = true, .otel = "spoor.job.pressure.time", .attribute = "spoor.resource=memory" },
[METRIC_JOB_IO_PRESSURE] =      { { "job_io_pressure_seconds",   "time some process of the job waited for I/O",                         NULL,                COUNTER }, .unit = UNIT_NANOSECONDS, .is_charted = true, .otel = "spoor.job.pressure.time", .attribute = "spoor.resource=io" },
[METRIC_JOB_CPU_ENERGY] =       { { "job_cpu_energy_joules",     "the job's share of the energy of the CPUs, by CPU time",               "job_cpu_power_watts", COUNTER }, .unit = UNIT_MICROJOULES, .is_charted = true, .otel = "spoor.job.cpu.energy" },
[METRIC_JOB_CPU_ENERGY_LOW] =   { { "job_cpu_energy_low_joules", "the same without the energy that the CPUs use at rest",                NULL,                COUNTER }, .unit = UNIT_MICROJOULES, .may_fall = true, .otel = "spoor.job.cpu.energy.low" },
[METRIC_JOB_GPU_MEMORY] =       { { "job_gpu_memory_bytes",      "GPU memory of the job, peak since the previous sample",               NULL,                GAUGE   }, .unit = UNIT_BYTES, .is_charted = true, .otel = "spoor.job.gpu.memory.usage" },
[METRIC_JOB_GPU_BUSY] =         { { "job_gpu_seconds",           "time the job's GPUs were busy for the job, summed over GPUs",         NULL,                COUNTER }, .unit = UNIT_NANOSECONDS, .starts_at_zero = true, .otel = "spoor.job.gpu.time" },
[METRIC_JOB_GPU_UTILIZATION] =  { { "job_gpu_utilization_gpus",  "GPUs busy for the job: mean over about a second, peak since the previous sample", NULL,                GAUGE   }, .unit = UNIT_MILLIONTHS, .is_charted = true, .otel = "spoor.job.gpu.utilization" },

[METRIC_HOST_CPU] =             { { "host_cpu_seconds",          "busy CPU time of the machine",                                        "host_cpu_cores",    COUNTER }, .unit = UNIT_NANOSECONDS, .clock = CLOCK_HOST_CPU, .is_charted = true, .otel = "spoor.host.cpu.time" },
[METRIC_HOST_CPU_USER] =        { { "host_cpu_user_seconds",     "the part of it spent in user space, including niced processes",       NULL,                COUNTER }, .unit = UNIT_NANOSECONDS, .clock = CLOCK_HOST_CPU, .otel = "system.cpu.time", .attribute = "cpu.mode=user" },
[METRIC_HOST_CPU_SYSTEM] =      { { "host_cpu_system_seconds",   "the part of it spent in the kernel, including interrupts",            NULL,                COUNTER }, .unit = UNIT_NANOSECONDS, .clock = CLOCK_HOST_CPU, .otel = "system.cpu.time", .attribute = "cpu.mode=system" },
[METRIC_HOST_CPU_IOWAIT] =      { { "host_cpu_iowait_seconds",   "idle CPU time with I/O outstanding",                                  NULL,                COUNTER }, .unit = UNIT_NANOSECONDS, .clock = CLOCK_HOST_CPU, .is_charted = true, .otel = "system.cpu.time", .attribute = "cpu.mode=iowait" },
[METRIC_HOST_CPU_STEAL] =       { { "host_cpu_steal_seconds",    "time the hypervisor gave to other guests",                            NULL,                COUNTER }, .unit = UNIT_NANOSECONDS, .clock = CLOCK_HOST_CPU, .is_charted = true, .otel = "system.cpu.time", .attribute = "cpu.mode=steal" },
[METRIC_HOST_MEMORY_USED] =     { { "host_memory_used_bytes",    "memory of the machine that is not available to programs",             NULL,                GAUGE   }, .unit = UNIT_BYTES, .is_charted = true, .otel = "system.memory.usage", .attribute = "system.memory.state=used" },
[METRIC_HOST_MEMORY_AVAILABLE] = { { "host_memory_available_bytes", "memory still available to programs without swapping",                 NULL,                GAUGE   }, .unit = UNIT_BYTES, .otel = "spoor.host.memory.available" },
[METRIC_HOST_MEMORY_CACHED] =   { { "host_memory_cached_bytes",  "page cache, buffers and reclaimable kernel memory",                   NULL,                GAUGE   }, .unit = UNIT_BYTES, .is_charted = true, .otel = "system.memory.usage", .attribute = "system.memory.state=cached" },
[METRIC_HOST_SWAP_USED] =       { { "host_swap_used_bytes",      "swap space in use",                                                   NULL,                GAUGE   }, .unit = UNIT_BYTES, .is_charted = true, .otel = "system.paging.usage", .attribute = "system.paging.state=used" },
[METRIC_HOST_DIRTY] =           { { "host_dirty_bytes",          "memory of the machine that is still to be written to storage",        NULL,                GAUGE   }, .unit = UNIT_BYTES, .otel = "spoor.host.memory.dirty" },
[METRIC_HOST_DISK_READ] =       { { "host_disk_read_bytes",      "bytes read from the machine's disks",                                 "host_disk_read_bytes_per_second", COUNTER }, .unit = UNIT_BYTES, .is_charted = true, .otel = "system.disk.io", .attribute = "disk.io.direction=read" },
[METRIC_HOST_DISK_WRITTEN] =    { { "host_disk_written_bytes",   "bytes written to the machine's disks",                                "host_disk_written_bytes_per_second", COUNTER }, .unit = UNIT_BYTES, .is_charted = true, .otel = "system.disk.io", .attribute = "disk.io.direction=write" },
[METRIC_HOST_DISK_SPACE_USED] = { { "host_disk_space_used_bytes", "space in use on the mounted disks",                                   NULL,                GAUGE   }, .unit = UNIT_BYTES, .otel = "system.filesystem.usage", .attribute = "system.filesystem.state=used" },
[METRIC_HOST_DISK_SPACE_FREE] = { { "host_disk_space_free_bytes", "space left for ordinary users on the mounted disks",                  NULL,                GAUGE   }, .unit = UNIT_BYTES, .otel = "system.filesystem.usage", .attribute = "system.filesystem.state=free" },
[METRIC_HOST_NETWORK_RECEIVED] = { { "host_network_received_bytes", "bytes received by all network interfaces except loopback",            "host_network_received_bytes_per_second", COUNTER }, .unit = UNIT_BYTES, .is_charted = true, .otel = "system.network.io", .attribute = "network.io.direction=receive" },
[METRIC_HOST_NETWORK_SENT] =    { { "host_network_sent_bytes",   "bytes sent by all network interfaces except loopback",                "host_network_sent_bytes_per_second", COUNTER }, .unit = UNIT_BYTES, .is_charted = true, .otel = "system.network.io", .attribute = "network.io.direction=transmit" },
[METRIC_HOST_RDMA_RECEIVED] = { { "host_rdma_received_bytes", "bytes received by all RDMA ports (InfiniBand, RoCE) since the first reading", "host_rdma_received_bytes_per_second", COUNTER }, .unit = UNIT_BYTES, .starts_at_zero = true, .is_charted = true, .otel = "spoor.host.rdma.io", .attribute = "network.io.direction=receive" },
[METRIC_HOST_RDMA_SENT] = { { "host_rdma_sent_bytes", "bytes sent by them", "host_rdma_sent_bytes_per_second", COUNTER }, .unit = UNIT_BYTES, .starts_at_zero = true, .is_charted = true, .otel = "spoor.host.rdma.io", .attribute = "network.io.direction=transmit" },
[METRIC_HOST_NFS_READ] = { { "host_nfs_read_bytes", "bytes read from NFS servers since the first reading", "host_nfs_read_bytes_per_second", COUNTER }, .unit = UNIT_BYTES, .starts_at_zero = true, .is_charted = true, .otel = "spoor.host.nfs.io", .attribute = "disk.io.direction=read" },
[METRIC_HOST_NFS_WRITTEN] = { { "host_nfs_written_bytes", "bytes written to NFS servers", "host_nfs_written_bytes_per_second", COUNTER }, .unit = UNIT_BYTES, .starts_at_zero = true, .is_charted = true, .otel = "spoor.host.nfs.io", .attribute = "disk.io.direction=write" },
[METRIC_HOST_CPU_PRESSURE] =    { { "host_cpu_pressure_seconds", "time some process of the machine waited for a CPU",                   NULL,                COUNTER }, .unit = UNIT_NANOSECONDS, .is_charted = true, .otel = "spoor.host.pressure.time", .attribute = "spoor.resource=cpu" },
[METRIC_HOST_MEMORY_PRESSURE] = { { "host_memory_pressure_seconds", "time some process of the machine waited for memory",                  NULL,                COUNTER }, .unit = UNIT_NANOSECONDS, .is_charted = true, .otel = "spoor.host.pressure.time", .attribute = "spoor.resource=memory" },
[METRIC_HOST_IO_PRESSURE] =     { { "host_io_pressure_seconds",  "time some process of the machine waited for I/O",                     NULL,                COUNTER }, .unit = UNIT_NANOSECONDS, .is_charted = true, .otel = "spoor.host.pressure.time", .attribute = "spoor.resource=io" },
[METRIC_HOST_CPU_ENERGY] =      { { "host_cpu_energy_joules",    "energy of all CPU packages since the first reading",                   "host_cpu_power_watts", COUNTER }, .unit = UNIT_MICROJOULES, .is_charted = true, .otel = "spoor.host.cpu.energy" },
[METRIC_HOST_GPU_MEMORY] =      { { "host_gpu_memory_bytes",     "memory in use on all GPUs by all processes, peak since the previous sample", NULL,                GAUGE   }, .unit = UNIT_BYTES, .is_charted = true, .otel = "spoor.host.gpu.memory.usage" },
[METRIC_HOST_GPU_BUSY] =        { { "host_gpu_seconds",          "time the job's GPUs were busy for any process, summed over GPUs",     NULL,                COUNTER }, .unit = UNIT_NANOSECONDS, .starts_at_zero = true, .otel = "spoor.host.gpu.time" },
[METRIC_HOST_GPU_UTILIZATION] = { { "host_gpu_utilization_gpus", "the job's GPUs busy for any process: mean over about a second, peak since the previous sample", NULL,                GAUGE   }, .unit = UNIT_MILLIONTHS, .is_charted = true, .otel = "spoor.host.gpu.utilization" },
[METRIC_HOST_GPU_ENERGY] =      { { "host_gpu_energy_joules",    "energy used by the job's GPUs, estimated by power since the last counter reading", NULL,                COUNTER }, .unit = UNIT_MICROJOULES, .starts_at_zero = true, .may_fall = true, .is_charted = true, .otel = "spoor.host.gpu.energy" },
[METRIC_HOST_GPU_SM] = { { "host_gpu_sm_seconds", "time that multiprocessors (SMs) of the job's GPUs worked for any process while the job used them, as a share of all SMs", NULL, COUNTER }, .unit = UNIT_NANOSECONDS, .starts_at_zero = true, .otel = "spoor.host.gpu.work.time", .attribute = "spoor.unit=sm" },
[METRIC_HOST_GPU_OCCUPANCY] = { { "host_gpu_occupancy_seconds", "the same of their warps, as a share of all warps that they can hold", NULL, COUNTER }, .unit = UNIT_NANOSECONDS, .starts_at_zero = true, .otel = "spoor.host.gpu.work.time", .attribute = "spoor.unit=warps" },
[METRIC_HOST_GPU_TENSOR] = { { "host_gpu_tensor_seconds", "the same of their tensor cores", NULL, COUNTER }, .unit = UNIT_NANOSECONDS, .starts_at_zero = true, .otel = "spoor.host.gpu.work.time", .attribute = "spoor.unit=tensor" },
[METRIC_HOST_GPU_FP64] = { { "host_gpu_fp64_seconds", "the same of their FP64 units", NULL, COUNTER }, .unit = UNIT_NANOSECONDS, .starts_at_zero = true, .otel = "spoor.host.gpu.work.time", .attribute = "spoor.unit=fp64" },
[METRIC_HOST_GPU_FP32] = { { "host_gpu_fp32_seconds", "the same of their FP32 units", NULL, COUNTER }, .unit = UNIT_NANOSECONDS, .starts_at_zero = true, .otel = "spoor.host.gpu.work.time", .attribute = "spoor.unit=fp32" },
[METRIC_HOST_GPU_FP16] = { { "host_gpu_fp16_seconds", "the same of their FP16 units, without tensor cores", NULL, COUNTER }, .unit = UNIT_NANOSECONDS, .starts_at_zero = true, .otel = "spoor.host.gpu.work.time", .attribute = "spoor.unit=fp16" },
[METRIC_HOST_GPU_DRAM] = { { "host_gpu_dram_seconds", "the same of the bandwidth of their memory", NULL, COUNTER }, .unit = UNIT_NANOSECONDS, .starts_at_zero = true, .otel = "spoor.host.gpu.work.time", .attribute = "spoor.unit=dram" },
[METRIC_HOST_GPU_PCIE_SENT] = { { "host_gpu_pcie_sent_bytes", "bytes that the job's GPUs sent over PCIe while the job used them", NULL, COUNTER }, .unit = UNIT_BYTES, .starts_at_zero = true, .otel = "spoor.host.gpu.pcie.io", .attribute = "network.io.direction=transmit" },
[METRIC_HOST_GPU_PCIE_RECEIVED] = { { "host_gpu_pcie_received_bytes", "bytes that they received over PCIe", NULL, COUNTER }, .unit = UNIT_BYTES, .starts_at_zero = true, .otel = "spoor.host.gpu.pcie.io", .attribute = "network.io.direction=receive" },
[METRIC_HOST_GPU_NVLINK_SENT] = { { "host_gpu_nvlink_sent_bytes", "bytes that they sent over NVLink, on AMD over XGMI", NULL, COUNTER }, .unit = UNIT_BYTES, .starts_at_zero = true, .otel = "spoor.host.gpu.nvlink.io", .attribute = "network.io.direction=transmit" },
[METRIC_HOST_GPU_NVLINK_RECEIVED] = { { "host_gpu_nvlink_received_bytes", "bytes that they received over NVLink, on AMD over XGMI", NULL, COUNTER }, .unit = UNIT_BYTES, .starts_at_zero = true, .otel = "spoor.host.gpu.nvlink.io", .attribute = "network.io.direction=receive" },
};
/* clang-format on */

const struct metric_row *metric_row(enum metric metric)
{
    return &rows[metric];
}

struct name_unit name_unit(const char *name)
{
    static const struct name_unit units[] = {
        { "seconds", "s" },   { "bytes", "By" }, { "joules", "J" },    { "watts", "W" },
        { "celsius", "Cel" }, { "hertz", "Hz" }, { "cores", "{cpu}" },
    };
    const char *end = strrchr(name, '_');
    const struct name_unit *found = end ? FIND_ROW(units, suffix, end + 1) : NULL;

    return found ? *found : (struct name_unit){ NULL, "1" };
}

double metric_value(enum metric metric, uint64_t raw)
{
    static const double divisors[] = {
        [UNIT_NANOSECONDS] = 1e9, [UNIT_BYTES] = 1,         [UNIT_COUNT] = 1,
        [UNIT_MILLIONTHS] = 1e6,  [UNIT_MICROJOULES] = 1e6,
    };

    return is_known(raw) ? (double)raw / divisors[rows[metric].unit] : (double)NAN;
}

size_t spoor_metric_count(void)
{
    return METRIC_COUNT;
}

const struct spoor_metric *spoor_metric_get(size_t index)
{
    return index < METRIC_COUNT ? &rows[index].published : NULL;
}
