/* SPDX-License-Identifier: Apache-2.0 */
#include "sample/origins.h"

#include <string.h>

#include "base/compiler.h"
#include "base/unknown.h"

#define GPUS_PENDING "GPUs are read only while a session is running"
#define NOT_READABLE(file) "cannot read " file

const char origins_gpus_pending[] = GPUS_PENDING;
const char origins_gpus_not_opened[] = "the job ended before the GPU driver was opened";

/* clang-format off */
static const struct origin defaults[METRIC_COUNT] = {
/*                                  source                     why it may be missing                              exact */
[METRIC_MAIN_GPU_MEMORY] =        { NULL,                      GPUS_PENDING,                                      false },
[METRIC_DESCENDANTS_GPU_MEMORY] = { NULL,                      GPUS_PENDING,                                      false },
[METRIC_JOB_GPU_MEMORY] =         { NULL,                      GPUS_PENDING,                                      false },
[METRIC_JOB_GPU_BUSY] =           { NULL,                      GPUS_PENDING,                                      false },
[METRIC_JOB_GPU_UTILIZATION] =    { NULL,                      GPUS_PENDING,                                      false },

[METRIC_HOST_CPU] =               { "host.procfs.stat",        NOT_READABLE("/proc/stat"),                        true },
[METRIC_HOST_CPU_USER] =          { "host.procfs.stat",        NOT_READABLE("/proc/stat"),                        true },
[METRIC_HOST_CPU_SYSTEM] =        { "host.procfs.stat",        NOT_READABLE("/proc/stat"),                        true },
[METRIC_HOST_CPU_IOWAIT] =        { "host.procfs.stat",        NOT_READABLE("/proc/stat"),                        true },
[METRIC_HOST_CPU_STEAL] =         { "host.procfs.stat",        NOT_READABLE("/proc/stat"),                        true },
[METRIC_HOST_MEMORY_USED] =       { "host.procfs.meminfo",     NOT_READABLE("/proc/meminfo"),                     false },
[METRIC_HOST_MEMORY_AVAILABLE] =  { "host.procfs.meminfo",     NOT_READABLE("/proc/meminfo"),                     false },
[METRIC_HOST_MEMORY_CACHED] =     { "host.procfs.meminfo",     NOT_READABLE("/proc/meminfo"),                     false },
[METRIC_HOST_SWAP_USED] =         { "host.procfs.meminfo",     NOT_READABLE("/proc/meminfo"),                     false },
[METRIC_HOST_DIRTY] =             { "host.procfs.meminfo",     NOT_READABLE("/proc/meminfo"),                     false },
[METRIC_HOST_DISK_READ] =         { "host.procfs.diskstats",   "no disk is listed in /proc/diskstats",            true },
[METRIC_HOST_DISK_WRITTEN] =      { "host.procfs.diskstats",   "no disk is listed in /proc/diskstats",            true },
[METRIC_HOST_DISK_SPACE_USED] =   { "host.statvfs",            "no disk is mounted",                              false },
[METRIC_HOST_DISK_SPACE_FREE] =   { "host.statvfs",            "no disk is mounted",                              false },
[METRIC_HOST_NETWORK_RECEIVED] =  { "host.procfs.net.dev",     "no network interface except loopback",            true },
[METRIC_HOST_NETWORK_SENT] =      { "host.procfs.net.dev",     "no network interface except loopback",            true },
[METRIC_HOST_CPU_PRESSURE] =      { "host.procfs.pressure",    "this kernel has no pressure stall information",   true },
[METRIC_HOST_MEMORY_PRESSURE] =   { "host.procfs.pressure",    "this kernel has no pressure stall information",   true },
[METRIC_HOST_IO_PRESSURE] =       { "host.procfs.pressure",    "this kernel has no pressure stall information",   true },
[METRIC_HOST_GPU_MEMORY] =        { NULL,                      GPUS_PENDING,                                      false },
[METRIC_HOST_GPU_BUSY] =          { NULL,                      GPUS_PENDING,                                      false },
[METRIC_HOST_GPU_UTILIZATION] =   { NULL,                      GPUS_PENDING,                                      false },
[METRIC_HOST_GPU_ENERGY] =        { NULL,                      GPUS_PENDING,                                      true },
};
/* clang-format on */

void origins_init(struct origin origins[METRIC_COUNT])
{
    memcpy(origins, defaults, sizeof(defaults));
}

static void set_origin(struct origin *origin, const char *source, const char *reason)
{
    if (*source)
        origin->source = source;
    if (reason)
        origin->reason = reason;
}

/* The one source of all of the job's GPUs that tell their utilisation, else `several`. */
static const char *busy_source(const struct gpu_view *view, const char *several)
{
    const char *source = NULL;

    for (size_t i = 0; i < view->count && view->devices; i++) {
        const char *next = view->devices[i].busy_source;

        if (!view->units[i].is_selected || !is_known(view->devices[i].utilization_max))
            continue;
        if (!next || (source && strcmp(source, next) != 0))
            return several;
        source = next;
    }
    return source ? source : several;
}

void origins_update_gpus(struct origin origins[METRIC_COUNT], const struct gpu_view *view)
{
    const struct gpu_totals *totals = &view->totals;
    static const struct gpu_origin_names none;
    const struct gpu_origin_names *names = view->sources ? view->sources : &none;
    bool is_ready = view->state == GPU_READY;
    const char *device_busy = busy_source(view, names->device_busy);
    const struct {
        enum metric metric;
        const char *source;
        const char *reason;
    } updates[] = {
        { METRIC_MAIN_GPU_MEMORY, names->process_memory, totals->memory_reason },
        { METRIC_DESCENDANTS_GPU_MEMORY, names->process_memory, totals->memory_reason },
        { METRIC_JOB_GPU_MEMORY, names->process_memory, totals->memory_reason },
        { METRIC_JOB_GPU_BUSY, names->process_busy, totals->job_busy_reason },
        { METRIC_JOB_GPU_UTILIZATION, names->process_busy, totals->job_busy_reason },
        { METRIC_HOST_GPU_MEMORY, names->device, totals->host_memory_reason },
        { METRIC_HOST_GPU_BUSY, device_busy, totals->busy_reason },
        { METRIC_HOST_GPU_UTILIZATION, device_busy, totals->busy_reason },
        { METRIC_HOST_GPU_ENERGY, names->device, totals->energy_reason },
    };

    /* What was used while a driver does not answer is missing. */
    origins[METRIC_HOST_GPU_ENERGY].is_exact = is_ready;
    for (size_t i = 0; i < ARRAY_SIZE(updates); i++) {
        const char *source = updates[i].source;

        if ((totals->is_attributed && source == names->process_memory) ||
            (totals->is_busy_attributed && source == names->process_busy))
            source = "attributed";
        set_origin(&origins[updates[i].metric], source,
                   is_ready ? updates[i].reason : view->reason);
    }
}
