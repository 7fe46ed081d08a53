/* SPDX-License-Identifier: Apache-2.0 */
#include "sample/sampler.h"

#include <string.h>
#include <unistd.h>

#include "base/arithmetic.h"
#include "base/parse.h"
#include "sample/origins.h"

/* The kernel counts the machine's time in ticks of 10 ms, in several columns. */
#define HOST_CPU_ERROR_NS (30 * NS_PER_MS)

static struct untracked_scope untracked_scope(const struct job_options *options)
{
    if (options->adopted)
        return (struct untracked_scope){ METRIC_MAIN_CPU, METRIC_JOB_CPU,
                                         "a cgroup has no main process" };
    if (options->pid == 0)
        return (struct untracked_scope){ METRIC_MAIN_CPU, METRIC_HOST_CPU,
                                         "no job is tracked" };
    if (options->is_main_only)
        return (struct untracked_scope){ METRIC_DESCENDANTS_CPU, METRIC_JOB_CPU,
                                         "descendants are not tracked" };
    return (struct untracked_scope){ METRIC_NONE, METRIC_NONE, NULL };
}

int sampler_init(struct sampler *sampler, const struct root *root,
                 const struct job_options *options, struct instant now)
{
    struct job_options job = *options;
    int r;

    sampler->untracked = untracked_scope(options);
    /* Without a job, what limits us would limit one that we started. */
    if (options->adopted)
        sampler->cgroups = *options->cgroups;
    sampler->has_cgroups =
        options->adopted ||
        cgroups_read(root, options->pid != 0 ? options->pid : getpid(), &sampler->cgroups) == 0;
    job.cgroups = sampler->has_cgroups ? &sampler->cgroups : NULL;
    sampler->root = root;
    sampler->has_started = false;
    /* The cgroups the job starts in; it may get one of its own below them now. */
    cgroup_watch_init(&sampler->cgroup_watch, root, job.cgroups);
    host_init(&sampler->host);
    sampler->host.counts_processes = options->pid == 0 && !options->adopted;
    origins_init(sampler->origins);
    job.storage_is_local = host_storage_is_local(&sampler->host, root);
    r = job_init(&sampler->job, root, &job, now.monotonic_ns);
    if (r < 0)
        sampler_done(sampler);
    return r;
}

void sampler_done(struct sampler *sampler)
{
    job_done(&sampler->job);
    host_done(&sampler->host);
    cgroup_watch_done(&sampler->cgroup_watch);
}

static uint64_t minus(uint64_t a, uint64_t b)
{
    if (!is_known(a) || !is_known(b))
        return UNKNOWN;
    return less(a, b);
}

static void fill_split(uint64_t *value, enum metric total, const struct memory_split *split)
{
    /* total, private and shared of a scope follow each other in enum metric */
    value[total] = split->total_bytes;
    value[total + 1] = split->private_bytes;
    value[total + 2] = split->shared_bytes;
}

_Static_assert(METRIC_MAIN_SHARED == METRIC_MAIN_RSS + 2 &&
                   METRIC_DESCENDANTS_SHARED == METRIC_DESCENDANTS_RSS + 2 &&
                   METRIC_JOB_SHARED == METRIC_JOB_RSS + 2,
               "total, private, shared");

static void fill_job(const struct job_reading *reading, uint64_t *value)
{
    const uint64_t *counter = reading->usage.counter;

    value[METRIC_JOB_CPU] = counter[USAGE_CPU_NS];
    value[METRIC_JOB_USER] = counter[USAGE_USER_NS];
    value[METRIC_JOB_SYSTEM] = counter[USAGE_SYSTEM_NS];
    value[METRIC_JOB_MAJOR_FAULTS] = counter[USAGE_MAJOR_FAULTS];
    value[METRIC_JOB_MINOR_FAULTS] = counter[USAGE_MINOR_FAULTS];
    value[METRIC_JOB_VOLUNTARY_SWITCHES] = counter[USAGE_VOLUNTARY_SWITCHES];
    value[METRIC_JOB_INVOLUNTARY_SWITCHES] = counter[USAGE_INVOLUNTARY_SWITCHES];
    value[METRIC_MAIN_CPU] = reading->main_cpu_ns;
    value[METRIC_DESCENDANTS_CPU] = minus(counter[USAGE_CPU_NS], reading->main_cpu_ns);
    value[METRIC_JOB_READ] = counter[USAGE_READ_BYTES];
    value[METRIC_JOB_WRITTEN] = counter[USAGE_WRITTEN_BYTES];
    value[METRIC_JOB_READ_CHARS] = counter[USAGE_READ_CHARS];
    value[METRIC_JOB_WRITTEN_CHARS] = counter[USAGE_WRITTEN_CHARS];

    fill_split(value, METRIC_MAIN_RSS, &reading->memory.main);
    fill_split(value, METRIC_DESCENDANTS_RSS, &reading->memory.descendants);
    fill_split(value, METRIC_JOB_RSS, &reading->memory.combined);
    value[METRIC_JOB_PSS] = reading->memory.pss_bytes;
    value[METRIC_JOB_SWAP] = reading->swap_bytes;
    value[METRIC_MAIN_RSS_PEAK] = reading->main_rss_peak_bytes;
    value[METRIC_DESCENDANTS_RSS_PEAK] = reading->descendants_rss_peak_bytes;
    value[METRIC_MAIN_RSS_DISCOUNT] = reading->discount.main;
    value[METRIC_DESCENDANTS_RSS_DISCOUNT] = reading->discount.descendants;
    value[METRIC_JOB_RSS_DISCOUNT] = reading->discount.combined;
    value[METRIC_MAIN_RSS_BOUND] = reading->main_rss_bound_bytes;
    value[METRIC_DESCENDANTS_RSS_BOUND] = reading->descendants_rss_bound_bytes;
    value[METRIC_JOB_RSS_PEAK] =
        larger(reading->main_rss_peak_bytes, reading->descendants_rss_peak_bytes);
    value[METRIC_JOB_RSS_BOUND] = reading->rss_bound_bytes;

    value[METRIC_MAIN_THREADS_PEAK] = reading->thread_peaks.main_threads;
    value[METRIC_DESCENDANTS_THREADS_PEAK] = reading->thread_peaks.descendants_threads;
    value[METRIC_JOB_THREADS_PEAK] = reading->thread_peaks.threads;
    value[METRIC_MAIN_THREADS] = reading->main_threads;
    value[METRIC_DESCENDANTS_THREADS] = reading->descendants_threads;
    value[METRIC_JOB_THREADS] = reading->main_threads + reading->descendants_threads;
    value[METRIC_JOB_PROCESSES] = reading->process_count;
    value[METRIC_JOB_PROCESSES_PEAK] = reading->process_peak;
    value[METRIC_JOB_STARTED] = reading->started_count;
}

static uint64_t middle_ns(struct clock_span span)
{
    return span.from_ns + less(span.until_ns, span.from_ns) / 2;
}

static struct sample_clock clock_of(struct clock_span span, uint64_t error_ns, uint64_t now_ns)
{
    return (struct sample_clock){
        .late_ns = less(middle_ns(span), now_ns),
        .resolution_ns = error_ns + less(span.until_ns, span.from_ns),
    };
}

static void fill_job_clocks(const struct sampler *sampler, uint64_t now_ns,
                            struct sample_clock *clocks)
{
    const struct job_reading *reading = &sampler->reading;
    uint64_t ended_ns = sampler->job.main_ended_ns;
    struct sample_clock *descendants = &clocks[CLOCK_DESCENDANTS_CPU];

    clocks[CLOCK_MAIN_CPU] = clock_of(reading->main_cpu_span, NS_PER_MS, now_ns);
    clocks[CLOCK_JOB_CPU] = clock_of(reading->cpu_span, reading->cpu_error_ns, now_ns);
    /* What stood still at the time of the sample was read then. If it ended later, it was not. */
    if (reading->process_count_now == 0 && ended_ns != 0 && ended_ns <= now_ns)
        clocks[CLOCK_MAIN_CPU].late_ns = clocks[CLOCK_JOB_CPU].late_ns = 0;
    *descendants = clocks[CLOCK_JOB_CPU]; /* less main's, which was read at another time */
    descendants->resolution_ns += clocks[CLOCK_MAIN_CPU].resolution_ns +
                                  apart(descendants->late_ns, clocks[CLOCK_MAIN_CPU].late_ns);
}

/* After the values: the gauges that are not the highest since the sample before. */
static void fill_moment(const struct job_reading *reading, struct sample *sample)
{
    memcpy(sample->moment, sample->value, sizeof(sample->moment));
    fill_split(sample->moment, METRIC_MAIN_RSS, &reading->memory_now.main);
    fill_split(sample->moment, METRIC_DESCENDANTS_RSS, &reading->memory_now.descendants);
    fill_split(sample->moment, METRIC_JOB_RSS, &reading->memory_now.combined);
    sample->moment[METRIC_JOB_PSS] = reading->memory_now.pss_bytes;
    sample->moment[METRIC_JOB_PROCESSES] = reading->process_count_now;
}

/* What the job's own cgroup says; where it has none, what is known of more than the job. */
static void fill_cgroup(const struct job_reading *reading, const struct cgroup_events *events,
                        const struct host_reading *host, uint64_t *value)
{
    const struct leaf_reading *leaf = &reading->leaf;

    value[METRIC_JOB_MEMORY_PEAK] = leaf->memory_peak_bytes;
    /* What left the cgroup is not in its peak, but has used memory all the same. */
    if (reading->left_memory_cgroup) {
        raise_to(&value[METRIC_JOB_MEMORY_PEAK], value[METRIC_JOB_RSS]);
        raise_to(&value[METRIC_JOB_MEMORY_PEAK], value[METRIC_JOB_RSS_PEAK]);
    }
    value[METRIC_JOB_ANON] = sum_u64(leaf->memory.anon_bytes, leaf->memory.shmem_bytes);
    value[METRIC_JOB_PAGE_CACHE] = leaf->memory.page_cache_bytes;
    value[METRIC_JOB_OOM_KILLS] = first_known(leaf->oom_kills_count, events->oom_kills_count);
    value[METRIC_JOB_THROTTLED] = events->throttled_ns;
    for (int i = 0; i < PRESSURE_COUNT; i++)
        value[METRIC_JOB_CPU_PRESSURE + i] =
            first_known(leaf->pressure_ns[i], host->pressure_ns[i]);
}

static void fill_host(const struct host_reading *host, uint64_t *value)
{
    value[METRIC_HOST_CPU] = sum_u64(host->cpu.user_ns, host->cpu.system_ns);
    value[METRIC_HOST_CPU_USER] = host->cpu.user_ns;
    value[METRIC_HOST_CPU_SYSTEM] = host->cpu.system_ns;
    value[METRIC_HOST_CPU_IOWAIT] = host->cpu.iowait_ns;
    value[METRIC_HOST_CPU_STEAL] = host->cpu.steal_ns;
    value[METRIC_HOST_MEMORY_USED] =
        minus(host->memory.total_bytes, host->memory.available_bytes);
    value[METRIC_HOST_MEMORY_AVAILABLE] = host->memory.available_bytes;
    value[METRIC_HOST_MEMORY_CACHED] = host->memory.cached_bytes;
    value[METRIC_HOST_SWAP_USED] = host->memory.swap_used_bytes;
    value[METRIC_HOST_DIRTY] = host->memory.dirty_bytes;
    value[METRIC_HOST_DISK_READ] = host->disk.read_bytes;
    value[METRIC_HOST_DISK_WRITTEN] = host->disk.written_bytes;
    value[METRIC_HOST_DISK_SPACE_USED] = host->space.used_bytes;
    value[METRIC_HOST_DISK_SPACE_FREE] = host->space.free_bytes;
    value[METRIC_HOST_NETWORK_RECEIVED] = host->network.received_bytes;
    value[METRIC_HOST_NETWORK_SENT] = host->network.sent_bytes;
    value[METRIC_HOST_CPU_PRESSURE] = host->pressure_ns[PRESSURE_CPU];
    value[METRIC_HOST_MEMORY_PRESSURE] = host->pressure_ns[PRESSURE_MEMORY];
    value[METRIC_HOST_IO_PRESSURE] = host->pressure_ns[PRESSURE_IO];
}

/* Known only from the files of processes in /proc. */
static const enum metric of_files[] = {
    METRIC_MAIN_RSS,
    METRIC_MAIN_PRIVATE,
    METRIC_MAIN_SHARED,
    METRIC_MAIN_RSS_PEAK,
    METRIC_MAIN_THREADS,
    METRIC_DESCENDANTS_RSS,
    METRIC_DESCENDANTS_PRIVATE,
    METRIC_DESCENDANTS_SHARED,
    METRIC_DESCENDANTS_RSS_PEAK,
    METRIC_DESCENDANTS_THREADS,
    METRIC_JOB_RSS,
    METRIC_JOB_PRIVATE,
    METRIC_JOB_SHARED,
    METRIC_JOB_PSS,
    METRIC_JOB_SWAP,
    METRIC_JOB_THREADS,
    METRIC_JOB_PROCESSES,
    METRIC_JOB_READ_CHARS,
    METRIC_JOB_WRITTEN_CHARS,
};

/* Known before the job's program runs, and when its first process has ended. */
static const enum metric of_end[] = {
    METRIC_JOB_USER,         METRIC_JOB_SYSTEM, METRIC_JOB_MAJOR_FAULTS,
    METRIC_JOB_MINOR_FAULTS, METRIC_JOB_READ,   METRIC_JOB_WRITTEN,
};

/* Without /proc, what is read there is unknown. */
static void hide_unseen(struct sampler *sampler, bool is_first, uint64_t *value)
{
    const char *reason = sampler->root->proc_fault;

    if (!reason)
        return;
    for (size_t i = 0; i < ARRAY_SIZE(of_files); i++) {
        value[of_files[i]] = UNKNOWN;
        sampler->origins[of_files[i]].reason = reason;
    }
    for (size_t i = 0; i < ARRAY_SIZE(of_end) && !is_first && !sampler->job.main_has_ended; i++)
        value[of_end[i]] = UNKNOWN;
    if (is_first)
        value[METRIC_JOB_VOLUNTARY_SWITCHES] = value[METRIC_JOB_INVOLUNTARY_SWITCHES] = 0;
    if (!sampler->job.births.source) {
        value[METRIC_JOB_STARTED] = UNKNOWN;
        sampler->origins[METRIC_JOB_STARTED].reason = reason;
    }
    sampler->origins[METRIC_JOB_RSS_PEAK].source = "wait4.ru_maxrss";
}

static uint64_t stolen_ns(const struct host_reading *host)
{
    return sum_u64(is_known(host->cpu.steal_ns) ? host->cpu.steal_ns : 0,
                   host->cpu.interrupt_ns);
}

static void hide_untracked(struct sampler *sampler, struct sample *sample)
{
    const struct untracked_scope *scope = &sampler->untracked;

    for (int i = (int)scope->first; i < (int)scope->end; i++) {
        sample->value[i] = sample->moment[i] = UNKNOWN;
        sampler->origins[i] = (struct origin){ NULL, scope->reason, false };
    }
}

/* Of a device that came or went during the run, a part of its bytes is not known. */
static void mark_inexact_sums(const struct host *host, struct origin origins[METRIC_COUNT])
{
    if (!host->disks.is_exact)
        origins[METRIC_HOST_DISK_READ].is_exact = origins[METRIC_HOST_DISK_WRITTEN].is_exact =
            false;
    if (!host->interfaces.is_exact)
        origins[METRIC_HOST_NETWORK_RECEIVED].is_exact =
            origins[METRIC_HOST_NETWORK_SENT].is_exact = false;
}

static void read_host(struct sampler *sampler, uint64_t now_ns, bool is_first,
                      struct sample *ret)
{
    const struct host_reading *reading = &sampler->host_reading;

    host_read(&sampler->host, sampler->root, now_ns, &sampler->host_reading);
    if (is_first) {
        sampler->first_oom_kills = reading->oom_kills_count;
        sampler->first_stolen_ns = stolen_ns(reading);
    }
    mark_inexact_sums(&sampler->host, sampler->origins);
    fill_host(reading, ret->value);
    ret->clocks[CLOCK_HOST_CPU] = clock_of(sampler->host.cpu_span, HOST_CPU_ERROR_NS, now_ns);
    ret->host = *reading;
}

static void read_job(struct sampler *sampler, struct instant now, uint64_t birth_mark,
                     bool is_last, struct sample *ret)
{
    const struct host_reading *host = &sampler->host_reading;
    struct cgroup_events events;

    if (host->memory.swap_used_bytes != sampler->swap_used_bytes)
        activity_forget(&sampler->job.activity); /* memory is being taken from whoever rests */
    sampler->swap_used_bytes = host->memory.swap_used_bytes;
    sampler->job.stolen_ns = minus(stolen_ns(host), sampler->first_stolen_ns);
    job_refresh(&sampler->job, now.monotonic_ns, birth_mark, is_last);
    job_read(&sampler->job, now.monotonic_ns, &sampler->reading);
    fill_job(&sampler->reading, ret->value);
    fill_job_clocks(sampler, now.monotonic_ns, ret->clocks);
    ret->at_peak = sampler->reading.at_peak;
    ret->job_cgroup_cpu_ns = sampler->reading.leaf.cpu_ns;
    cgroup_watch_read(&sampler->cgroup_watch, sampler->root, &events);
    fill_cgroup(&sampler->reading, &events, host, ret->value);
    fill_moment(&sampler->reading, ret);
    origins_update(sampler->origins, &sampler->job, &sampler->reading);
}

void sampler_tick(struct sampler *sampler, struct instant now, bool is_last, struct sample *ret)
{
    bool is_first = !sampler->has_started;
    uint64_t birth_mark;

    if (is_first) {
        sampler->started = now;
        sampler->has_started = true;
    }
    if (is_last)
        host_expire(&sampler->host);
    sample_clear(ret);
    ret->elapsed_ns = now.monotonic_ns - sampler->started.monotonic_ns;
    ret->realtime_ns = now.realtime_ns;
    ret->storage_is_local = sampler->job.storage_is_local;

    /* Before the job is looked at: what is born later changes the mark again. */
    birth_mark = host_read_birth_mark(&sampler->host, sampler->root);
    read_host(sampler, now.monotonic_ns, is_first, ret);
    memcpy(ret->moment, ret->value, sizeof(ret->moment));
    if (sampler->job.is_tracked) {
        read_job(sampler, now, birth_mark, is_last, ret);
        hide_unseen(sampler, is_first, ret->value);
    }
    hide_untracked(sampler, ret);
}

/* Busy times are carried on where a driver's samples come late, and may have been carried on
 * too far: then they wait. The last one is right, whatever was said before. */
static uint64_t carried_on(uint64_t *said, uint64_t value, bool is_last)
{
    if (is_known(value))
        *said = is_last ? value : larger(*said, value);
    return is_known(value) ? *said : UNKNOWN;
}

static void fill_gpu_levels(const struct gpu_levels *levels, uint64_t *value)
{
    value[METRIC_MAIN_GPU_MEMORY] = levels->main_memory_bytes;
    value[METRIC_DESCENDANTS_GPU_MEMORY] = levels->descendants_memory_bytes;
    value[METRIC_JOB_GPU_MEMORY] = levels->job_memory_bytes;
    value[METRIC_JOB_GPU_UTILIZATION] = levels->job_utilization;
    value[METRIC_HOST_GPU_MEMORY] = levels->host_memory_bytes;
    value[METRIC_HOST_GPU_UTILIZATION] = levels->utilization;
}

static void fill_gpus(struct sampler *sampler, const struct gpu_view *view, bool is_last,
                      struct sample *ret)
{
    const struct gpu_totals *totals = &view->totals;

    fill_gpu_levels(&totals->levels, ret->value);
    fill_gpu_levels(&view->now, ret->moment);
    ret->value[METRIC_JOB_GPU_BUSY] = ret->moment[METRIC_JOB_GPU_BUSY] =
        carried_on(&sampler->job_gpu_busy_ns, totals->job_busy_ns, is_last);
    ret->value[METRIC_HOST_GPU_BUSY] = ret->moment[METRIC_HOST_GPU_BUSY] =
        carried_on(&sampler->gpu_busy_ns, totals->busy_ns, is_last);
    ret->value[METRIC_HOST_GPU_ENERGY] = ret->moment[METRIC_HOST_GPU_ENERGY] =
        totals->energy_microjoules;
}

void sampler_add_gpus(struct sampler *sampler, const struct gpu_view *view, bool is_last,
                      struct sample *ret)
{
    origins_update_gpus(sampler->origins, view);
    if (view->state == GPU_READY || view->state == GPU_SILENT)
        fill_gpus(sampler, view, is_last, ret);
    hide_untracked(sampler, ret);
}

void sampler_glance(struct sampler *sampler, struct instant now)
{
    job_glance(&sampler->job, now.monotonic_ns,
               host_read_birth_mark(&sampler->host, sampler->root));
}
