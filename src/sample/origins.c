/* SPDX-License-Identifier: Apache-2.0 */
#include "sample/origins.h"

#include <stddef.h>
#include <string.h>

#include "base/amount.h"
#include "base/compiler.h"

#define NOT_READABLE(file) "cannot read " file
#define NO_RDMA "no RDMA port has counters, or the run was shorter than 0.1 s"
#define AT(field) offsetof(struct host_reading, field)

const char origins_gpus_pending[] = "GPUs are read only while a session is running";
const char origins_gpus_not_opened[] = "the job ended before the GPU driver was opened";
const char origins_gpus_unwanted[] = "--gpus none: GPUs are not looked at";

/* clang-format off */
static const struct {
    enum metric metric;
    size_t value; /* offset in struct host_reading */
    struct origin origin; /* includes the reason if the value is missing */
} of_host[] = {
{ METRIC_HOST_CPU,                AT(cpu.user_ns),                     { "host.procfs.stat",       NOT_READABLE("/proc/stat"), true } },
{ METRIC_HOST_CPU_USER,           AT(cpu.user_ns),                     { "host.procfs.stat",       NOT_READABLE("/proc/stat"), true } },
{ METRIC_HOST_CPU_SYSTEM,         AT(cpu.system_ns),                   { "host.procfs.stat",       NOT_READABLE("/proc/stat"), true } },
{ METRIC_HOST_CPU_IOWAIT,         AT(cpu.iowait_ns),                   { "host.procfs.stat",       NOT_READABLE("/proc/stat"), true } },
{ METRIC_HOST_CPU_STEAL,          AT(cpu.steal_ns),                    { "host.procfs.stat",       NOT_READABLE("/proc/stat"), true } },
{ METRIC_HOST_MEMORY_USED,        AT(memory.total_bytes),              { "host.procfs.meminfo",    NOT_READABLE("/proc/meminfo"), false } },
{ METRIC_HOST_MEMORY_AVAILABLE,   AT(memory.available_bytes),          { "host.procfs.meminfo",    NOT_READABLE("/proc/meminfo"), false } },
{ METRIC_HOST_MEMORY_CACHED,      AT(memory.cached_bytes),             { "host.procfs.meminfo",    NOT_READABLE("/proc/meminfo"), false } },
{ METRIC_HOST_SWAP_USED,          AT(memory.swap_used_bytes),          { "host.procfs.meminfo",    NOT_READABLE("/proc/meminfo"), false } },
{ METRIC_HOST_DIRTY,              AT(memory.dirty_bytes),              { "host.procfs.meminfo",    NOT_READABLE("/proc/meminfo"), false } },
{ METRIC_HOST_DISK_READ,          AT(disk.in),                         { "host.procfs.diskstats",  "no disk is listed in /proc/diskstats", true } },
{ METRIC_HOST_DISK_WRITTEN,       AT(disk.out),                        { "host.procfs.diskstats",  "no disk is listed in /proc/diskstats", true } },
{ METRIC_HOST_DISK_SPACE_USED,    AT(space.used_bytes),                { "host.statvfs",           "no disk is mounted", false } },
{ METRIC_HOST_DISK_SPACE_FREE,    AT(space.free_bytes),                { "host.statvfs",           "no disk is mounted", false } },
{ METRIC_HOST_NETWORK_RECEIVED,   AT(network.in),                      { "host.procfs.net.dev",    "no network interface except loopback", true } },
{ METRIC_HOST_NETWORK_SENT,       AT(network.out),                     { "host.procfs.net.dev",    "no network interface except loopback", true } },
{ METRIC_HOST_RDMA_RECEIVED,      AT(rdma.in),                         { "host.sysfs.infiniband",  NO_RDMA, true } },
{ METRIC_HOST_RDMA_SENT,          AT(rdma.out),                        { "host.sysfs.infiniband",  NO_RDMA, true } },
{ METRIC_HOST_NFS_READ,           AT(nfs.in),                          { "host.procfs.mountstats", "no NFS file system is mounted", true } },
{ METRIC_HOST_NFS_WRITTEN,        AT(nfs.out),                         { "host.procfs.mountstats", "no NFS file system is mounted", true } },
{ METRIC_HOST_CPU_PRESSURE,       AT(pressure_ns[PRESSURE_CPU]),       { "host.procfs.pressure",   "this kernel has no pressure stall information", true } },
{ METRIC_HOST_MEMORY_PRESSURE,    AT(pressure_ns[PRESSURE_MEMORY]),    { "host.procfs.pressure",   "this kernel has no pressure stall information", true } },
{ METRIC_HOST_IO_PRESSURE,        AT(pressure_ns[PRESSURE_IO]),        { "host.procfs.pressure",   "this kernel has no pressure stall information", true } },
};
/* clang-format on */

void origins_init(struct origin origins[METRIC_COUNT])
{
    const struct gpu_view pending = { .state = GPU_PENDING, .reason = origins_gpus_pending };

    memset(origins, 0, METRIC_COUNT * sizeof(*origins));
    for (size_t i = 0; i < ARRAY_SIZE(of_host); i++)
        origins[of_host[i].metric] = of_host[i].origin;
    origins_update_gpus(origins, &pending);
}

void origins_host_values(const struct host_reading *host, uint64_t value[METRIC_COUNT])
{
    for (size_t i = 0; i < ARRAY_SIZE(of_host); i++)
        value[of_host[i].metric] = raw_at(host, of_host[i].value);
    value[METRIC_HOST_CPU] = sum_u64(host->cpu.user_ns, host->cpu.system_ns);
    value[METRIC_HOST_MEMORY_USED] =
        sub_known(host->memory.total_bytes, host->memory.available_bytes);
}

void origins_update_gpus(struct origin origins[METRIC_COUNT], const struct gpu_view *view)
{
    bool is_ready = view->state == GPU_READY;

    for (int i = 0; i < GPU_TOTAL_COUNT; i++) {
        const struct origin *from = &view->totals.measures[i].origin;
        const char *reason = is_ready ? from->reason : view->reason;
        struct origin *origin = &origins[gpu_total_metric((enum gpu_total)i)];

        if (from->source && *from->source)
            origin->source = from->source;
        if (reason)
            origin->reason = reason;
        origin->is_exact = is_ready && from->is_exact;
    }
    /* The energy lacks what GPUs used while a driver did not respond. */
    origins[METRIC_HOST_GPU_ENERGY].is_exact = is_ready && !view->totals.is_energy_estimated;
}
