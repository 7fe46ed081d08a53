/* SPDX-License-Identifier: Apache-2.0 */
#include "sample/origins.h"

#include <string.h>

#include "base/compiler.h"
#include "base/unknown.h"

#define GPUS_PENDING "GPUs are read only while a session is running"
#define NO_SWITCHES "known only at the end of a command started by spoor"
#define NOT_READABLE(file) "cannot read " file
#define DENIED \
    "permission denied: a process of another user, or of a set-uid or unreadable program"

const char origins_gpus_pending[] = GPUS_PENDING;
const char origins_gpus_not_opened[] = "the job ended before the GPU driver was opened";

/* clang-format off */
static const struct origin defaults[METRIC_COUNT] = {
/*                                  source                     why it may be missing                              exact */
[METRIC_MAIN_CPU] =               { "procfs.cpuclock",         "the process exited before it could be read",      true },
[METRIC_MAIN_RSS] =               { "procfs.statm",            "the process exited before it could be read",      false },
[METRIC_MAIN_PRIVATE] =           { "procfs.smaps_rollup",     "the process exited before it could be read",      false },
[METRIC_MAIN_SHARED] =            { "procfs.smaps_rollup",     "the process exited before it could be read",      false },
[METRIC_MAIN_RSS_PEAK] =          { "procfs.status.VmHWM",     "the process exited before it could be read",      false },
[METRIC_MAIN_RSS_BOUND] =         { "wait4.ru_maxrss",         "known only at the end of a job started by spoor", true },
[METRIC_MAIN_RSS_DISCOUNT] =      { "procfs.smaps",            "the process exited before it could be read",      false },
[METRIC_MAIN_THREADS] =           { "procfs.stat",             "the process exited before it could be read",      false },
[METRIC_MAIN_THREADS_PEAK] =      { "procfs.stat",             "the process exited before it could be read",      false },
[METRIC_MAIN_GPU_MEMORY] =        { NULL,                      GPUS_PENDING,                                      false },
[METRIC_DESCENDANTS_CPU] =        { "procfs.cpuclock",         "no process could be read",                        false },
[METRIC_DESCENDANTS_RSS] =        { "procfs.smaps_rollup",     "they exited before they could be read",           false },
[METRIC_DESCENDANTS_PRIVATE] =    { "procfs.smaps_rollup",     "they exited before they could be read",           false },
[METRIC_DESCENDANTS_SHARED] =     { "procfs.smaps_rollup",     "they exited before they could be read",           false },
[METRIC_DESCENDANTS_RSS_PEAK] =   { "procfs.status.VmHWM",     "they exited before they could be read",           false },
[METRIC_DESCENDANTS_RSS_BOUND] =  { "wait4.ru_maxrss",         "known only at the end of a job started by spoor", true },
[METRIC_DESCENDANTS_RSS_DISCOUNT] = { "procfs.smaps",          "they exited before they could be read",           false },
[METRIC_DESCENDANTS_THREADS] =    { "procfs.stat",             "they exited before they could be read",           false },
[METRIC_DESCENDANTS_THREADS_PEAK] = { "procfs.stat",           "they exited before they could be read",           false },
[METRIC_DESCENDANTS_GPU_MEMORY] = { NULL,                      GPUS_PENDING,                                      false },
[METRIC_JOB_CPU] =                { "procfs.cpuclock",         "no process could be read",                        false },
[METRIC_JOB_USER] =               { "procfs.stat",             "no process could be read",                        false },
[METRIC_JOB_SYSTEM] =             { "procfs.stat",             "no process could be read",                        false },
[METRIC_JOB_MAJOR_FAULTS] =       { "procfs.stat",             "no process could be read",                        false },
[METRIC_JOB_MINOR_FAULTS] =       { "procfs.stat",             "no process could be read",                        false },
[METRIC_JOB_VOLUNTARY_SWITCHES] = { "wait4",                   NO_SWITCHES,                                       false },
[METRIC_JOB_INVOLUNTARY_SWITCHES] = { "wait4",                   NO_SWITCHES,                                       false },
[METRIC_JOB_RSS] =                { "procfs.smaps_rollup",     "no process could be read before it exited",       false },
[METRIC_JOB_PRIVATE] =            { "procfs.smaps_rollup",     "no process could be read before it exited",       false },
[METRIC_JOB_SHARED] =             { "procfs.smaps_rollup",     "no process could be read before it exited",       false },
[METRIC_JOB_PSS] =                { "procfs.smaps_rollup",     "no process could be read before it exited",       false },
[METRIC_JOB_SWAP] =               { "procfs.status.VmSwap",    NOT_READABLE("/proc/PID/status"),                  false },
[METRIC_JOB_RSS_PEAK] =           { "procfs.status.VmHWM",     "no process could be read before it exited",       false },
[METRIC_JOB_RSS_BOUND] =          { "wait4.ru_maxrss",         "known only at the end of a job started by spoor", true },
[METRIC_JOB_RSS_DISCOUNT] =       { "procfs.smaps",            "no process could be read before it exited",       false },
[METRIC_JOB_MEMORY_PEAK] =        { "cgroup.memory.peak",      "requires a cgroup for the job alone",             true },
[METRIC_JOB_ANON] =               { "cgroup.memory.stat",      "requires a cgroup for the job alone",             false },
[METRIC_JOB_PAGE_CACHE] =         { "cgroup.memory.stat",      "requires a cgroup for the job alone",             false },
[METRIC_JOB_THREADS] =            { "procfs.stat",             "no process could be read",                        false },
[METRIC_JOB_THREADS_PEAK] =       { "cgroup.pids.peak",        "requires a cgroup for the job alone",             true },
[METRIC_JOB_PROCESSES] =          { "procfs.children",         "no process could be read",                        false },
[METRIC_JOB_PROCESSES_PEAK] =     { "perf.fork-ring",          "no source of process events is available",        false },
[METRIC_JOB_STARTED] =            { "procfs.children",         "no process could be read",                        false },
[METRIC_JOB_READ] =               { "procfs.io",               NOT_READABLE("/proc/PID/io"),                      false },
[METRIC_JOB_WRITTEN] =            { "procfs.io",               NOT_READABLE("/proc/PID/io"),                      false },
[METRIC_JOB_READ_CHARS] =         { "procfs.io",               NOT_READABLE("/proc/PID/io"),                      false },
[METRIC_JOB_WRITTEN_CHARS] =      { "procfs.io",               NOT_READABLE("/proc/PID/io"),                      false },
[METRIC_JOB_OOM_KILLS] =          { "cgroup.oom_kill",         "no readable cgroup has a memory controller",      true },
[METRIC_JOB_THROTTLED] =          { "cgroup.cpu.stat",         "no readable cgroup has a CPU controller",         true },
[METRIC_JOB_CPU_PRESSURE] =       { "host.procfs.pressure",    "this kernel has no pressure stall information",   true },
[METRIC_JOB_MEMORY_PRESSURE] =    { "host.procfs.pressure",    "this kernel has no pressure stall information",   true },
[METRIC_JOB_IO_PRESSURE] =        { "host.procfs.pressure",    "this kernel has no pressure stall information",   true },
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

static const enum metric sharing[] = {
    METRIC_MAIN_PRIVATE, METRIC_MAIN_SHARED, METRIC_DESCENDANTS_PRIVATE,
    METRIC_DESCENDANTS_SHARED, METRIC_JOB_PRIVATE, METRIC_JOB_SHARED, METRIC_JOB_PSS,
};

static const enum metric io[] = {
    METRIC_JOB_READ, METRIC_JOB_WRITTEN, METRIC_JOB_READ_CHARS, METRIC_JOB_WRITTEN_CHARS,
};
/* clang-format on */

void origins_init(struct origin origins[METRIC_COUNT])
{
    memcpy(origins, defaults, sizeof(defaults));
}

static void update_sharing(struct origin *origins, const struct job *job)
{
    const char *reason = NULL;

    if (job->detail.mode == SPOOR_DETAIL_NEVER)
        reason = "disabled by --detail never";
    else if (job->detail.is_denied)
        reason = DENIED;
    if (!reason)
        return;
    for (size_t i = 0; i < ARRAY_SIZE(sharing); i++)
        origins[sharing[i]].reason = reason;
    origins[METRIC_JOB_RSS].source = origins[METRIC_DESCENDANTS_RSS].source = "procfs.statm";
}

static const enum metric of_cgroup[] = {
    METRIC_JOB_MEMORY_PEAK,
    METRIC_JOB_ANON,
    METRIC_JOB_PAGE_CACHE,
    METRIC_JOB_THREADS_PEAK,
};

/* A cgroup that was left does not have the whole job any more. */
static void update_left(struct origin *origins, const struct job *job,
                        const struct job_reading *reading)
{
    const bool *has_left = job->escape.has_left;

    if (reading->left_memory_cgroup) {
        origins[METRIC_JOB_MEMORY_PEAK].is_exact = false;
        origins[METRIC_JOB_OOM_KILLS].is_exact = false;
        if (reading->memory.combined.total_bytes > reading->leaf.memory_peak_bytes)
            origins[METRIC_JOB_MEMORY_PEAK].source = origins[METRIC_JOB_RSS].source;
    }
    if (has_left[leaf_has(&job->leaf, LEAF_PIDS) ? LEAF_PIDS : LEAF_UNIFIED])
        origins[METRIC_JOB_THREADS_PEAK].is_exact = false;
    if (has_left[LEAF_UNIFIED])
        origins[METRIC_JOB_CPU_PRESSURE].is_exact =
            origins[METRIC_JOB_MEMORY_PRESSURE].is_exact =
                origins[METRIC_JOB_IO_PRESSURE].is_exact = false;
}

static void update_cgroup(struct origin *origins, const struct leaf *leaf,
                          const struct job_reading *reading)
{
    static const char *const peaks[2][2] = {
        { "cgroup.memory.peak", "cgroup.memory.max_usage_in_bytes" },
        { "cgroup.memory.current", "cgroup.memory.usage_in_bytes" },
    };

    for (size_t i = 0; i < ARRAY_SIZE(of_cgroup); i++) {
        if (leaf->reason)
            origins[of_cgroup[i]].reason = leaf->reason;
    }
    origins[METRIC_JOB_MEMORY_PEAK].source =
        peaks[reading->leaf.memory_peak_is_sampled][leaf_has(leaf, LEAF_MEMORY)];
    origins[METRIC_JOB_MEMORY_PEAK].is_exact = !reading->leaf.memory_peak_is_sampled;
    if (leaf_has(leaf, LEAF_UNIFIED)) {
        origins[METRIC_JOB_CPU_PRESSURE].source = "cgroup.cpu.pressure";
        origins[METRIC_JOB_MEMORY_PRESSURE].source = "cgroup.memory.pressure";
        origins[METRIC_JOB_IO_PRESSURE].source = "cgroup.io.pressure";
    }
}

static void update_births(struct origin *origins, const struct job *job)
{
    const struct births *births = &job->births;

    if (leaf_has(&job->leaf, LEAF_UNIFIED) || job->leaf.is_adopted)
        origins[METRIC_JOB_PROCESSES].source = origins[METRIC_JOB_STARTED].source =
            "cgroup.procs";
    else if (!job->lists_children)
        origins[METRIC_JOB_PROCESSES].source = origins[METRIC_JOB_STARTED].source =
            "procfs.stat";
    if (!births->source)
        return;
    origins[METRIC_JOB_PROCESSES_PEAK].source = births->source;
    origins[METRIC_JOB_STARTED].source = births->source;
    origins[METRIC_JOB_PROCESSES_PEAK].is_exact = births->is_exact;
    origins[METRIC_JOB_STARTED].is_exact = births->is_exact;
}

/* Process events have the threads of all scopes, a cgroup those of the job alone. */
static void update_threads(struct origin *origins, const struct job *job,
                           const struct job_reading *reading)
{
    static const enum metric peaks[] = {
        METRIC_MAIN_THREADS_PEAK,
        METRIC_DESCENDANTS_THREADS_PEAK,
        METRIC_JOB_THREADS_PEAK,
    };

    for (size_t i = 0; i < ARRAY_SIZE(peaks) && reading->has_thread_events; i++) {
        origins[peaks[i]].source = job->births.source;
        origins[peaks[i]].is_exact = job->births.is_exact;
    }
    if (!reading->has_thread_events && !is_known(reading->leaf.threads_peak))
        origins[METRIC_JOB_THREADS_PEAK] = origins[METRIC_JOB_THREADS];
}

static void update_cpu(struct origin *origins, const struct job *job,
                       const struct job_reading *reading)
{
    bool is_of_cgroup =
        reading->cpu.source == CPU_FROM_CGROUP && is_known(reading->leaf.user_ns);

    origins[METRIC_MAIN_CPU].source = job->has_clock ? "procfs.cpuclock" : "procfs.stat";
    origins[METRIC_JOB_CPU].source = reading->cpu_source;
    origins[METRIC_JOB_CPU].is_exact = reading->cpu.is_exact;
    origins[METRIC_DESCENDANTS_CPU].source = reading->cpu_source;
    origins[METRIC_DESCENDANTS_CPU].is_exact = reading->cpu.is_exact;
    if (is_of_cgroup)
        origins[METRIC_JOB_USER].source = reading->cpu_source;
    else
        origins[METRIC_JOB_USER].source = job->tracker_pid != 0 ? "wait4" : "procfs.stat";
    origins[METRIC_JOB_USER].is_exact =
        is_of_cgroup ? reading->cpu.is_exact
                     : reading->cpu.is_exact && reading->io_is_exact && job->main_has_ended;
    origins[METRIC_JOB_SYSTEM] = origins[METRIC_JOB_USER];
}

/* Page faults and context switches: all of them, if every process was waited for and has ended. Page
 * faults of a process that goes on are read from its stat file, context switches are not. */
static void update_events(struct origin *origins, const struct job *job,
                          const struct job_reading *reading)
{
    struct origin *faults = &origins[METRIC_JOB_MAJOR_FAULTS];
    struct origin *switches = &origins[METRIC_JOB_VOLUNTARY_SWITCHES];

    faults->source = job->tracker_pid != 0 ? "wait4" : "procfs.stat";
    faults->is_exact = reading->io_is_exact && job->main_has_ended;
    switches->is_exact = faults->is_exact && job->members.count == 0;
    origins[METRIC_JOB_MINOR_FAULTS] = *faults;
    origins[METRIC_JOB_INVOLUNTARY_SWITCHES] = *switches;
}

static void update_io(struct origin *origins, const struct job *job,
                      const struct job_reading *reading)
{
    for (size_t i = 0; i < ARRAY_SIZE(io); i++) {
        origins[io[i]].is_exact = reading->io_is_exact;
        if (reading->io_is_denied)
            origins[io[i]].reason = DENIED;
    }
    /* Pages are counted when they are dirtied, and more of them than are written: only none is sure. */
    origins[METRIC_JOB_WRITTEN].is_exact &= reading->usage.counter[USAGE_WRITTEN_BYTES] == 0;
    if (job->lost_chars)
        origins[METRIC_JOB_READ_CHARS].is_exact = origins[METRIC_JOB_WRITTEN_CHARS].is_exact =
            false;
}

/* Once the main process has ended, its peak is known from wait4, unless it may be a child's, or from
 * its exit record. */
static void update_main_peak(struct origin *origin, const struct job *job,
                             const struct job_reading *reading)
{
    bool has_record = job_records_hold(job) && is_known(job->births.main_peak_bytes);

    if (!job->main_has_ended || reading->discount.main > job->main_rss_peak_bytes / 100)
        return;
    if (job->main_peak_is_exact)
        *origin = (struct origin){ "wait4.ru_maxrss", NULL, true };
    else if (has_record && job->tracker_pid != 0)
        *origin = (struct origin){ "taskstats.hiwater_rss", NULL, true };
}

void origins_update(struct origin origins[METRIC_COUNT], const struct job *job,
                    const struct job_reading *reading)
{
    update_cpu(origins, job, reading);
    update_events(origins, job, reading);
    update_io(origins, job, reading);
    update_main_peak(&origins[METRIC_MAIN_RSS_PEAK], job, reading);
    update_sharing(origins, job);
    update_cgroup(origins, &job->leaf, reading);
    update_left(origins, job, reading);
    update_births(origins, job);
    update_threads(origins, job, reading);
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
