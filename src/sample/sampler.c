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
}

static uint64_t middle_ns(struct clock_span span)
{
    return span.from_ns + sub_floor0(span.until_ns, span.from_ns) / 2;
}

static struct sample_clock clock_of(struct clock_span span, uint64_t error_ns, uint64_t now_ns)
{
    return (struct sample_clock){
        .late_ns = sub_floor0(middle_ns(span), now_ns),
        .resolution_ns = error_ns + sub_floor0(span.until_ns, span.from_ns),
    };
}

static void fill_job_clocks(const struct sampler *sampler, uint64_t now_ns,
                            struct sample_clock *clocks)
{
    const struct job_reading *reading = &sampler->reading;
    uint64_t ended_ns = sampler->job.main.ended_ns;
    struct sample_clock *descendants = &clocks[CLOCK_DESCENDANTS_CPU];

    clocks[CLOCK_MAIN_CPU] = clock_of(reading->main_cpu_span, NS_PER_MS, now_ns);
    clocks[CLOCK_JOB_CPU] = clock_of(reading->cpu_span, reading->cpu_error_ns, now_ns);
    /* What stood still at the time of the sample was read then. If it ended later, it was not. */
    if (reading->process_count_now == 0 && ended_ns != 0 && ended_ns <= now_ns)
        clocks[CLOCK_MAIN_CPU].late_ns = clocks[CLOCK_JOB_CPU].late_ns = 0;
    *descendants = clocks[CLOCK_JOB_CPU]; /* less main's, which was read at another time */
    descendants->resolution_ns +=
        clocks[CLOCK_MAIN_CPU].resolution_ns +
        abs_diff(descendants->late_ns, clocks[CLOCK_MAIN_CPU].late_ns);
}

static uint64_t stolen_ns(const struct host_reading *host)
{
    return sum_u64(first_known(host->cpu.steal_ns, 0), host->cpu.interrupt_ns);
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
    origins_host_values(reading, ret->value);
    ret->clocks[CLOCK_HOST_CPU] = clock_of(sampler->host.cpu_span, HOST_CPU_ERROR_NS, now_ns);
    ret->host = *reading;
}

/* A job whose cgroup does not count pressure has that of its machine. */
static void share_pressure(struct sampler *sampler, struct sample *ret)
{
    for (int i = 0; i < PRESSURE_COUNT; i++) {
        ret->value[METRIC_JOB_CPU_PRESSURE + i] = ret->value[METRIC_HOST_CPU_PRESSURE + i];
        ret->moment[METRIC_JOB_CPU_PRESSURE + i] = ret->value[METRIC_HOST_CPU_PRESSURE + i];
        sampler->origins[METRIC_JOB_CPU_PRESSURE + i] =
            sampler->origins[METRIC_HOST_CPU_PRESSURE + i];
    }
}

static void take_measures(struct sampler *sampler, struct sample *ret)
{
    share_pressure(sampler, ret);
    for (int i = 0; i < METRIC_JOB_END; i++) {
        struct measure measure;

        if (!job_measure(&sampler->job, &sampler->reading, (enum metric)i, &measure))
            continue;
        ret->value[i] = measure.value;
        ret->moment[i] = measure.now;
        sampler->origins[i] = measure.origin;
    }
}

static void read_job(struct sampler *sampler, struct instant now, bool is_last,
                     struct sample *ret)
{
    const struct host_reading *host = &sampler->host_reading;

    if (host->memory.swap_used_bytes != sampler->swap_used_bytes)
        activity_forget(&sampler->job.activity); /* processes at rest are being swapped out */
    sampler->swap_used_bytes = host->memory.swap_used_bytes;
    sampler->job.meters.stolen_ns = sub_known(stolen_ns(host), sampler->first_stolen_ns);
    job_refresh(&sampler->job, now.monotonic_ns, is_last);
    job_read(&sampler->job, now.monotonic_ns, &sampler->reading);
    take_measures(sampler, ret);
    fill_job_clocks(sampler, now.monotonic_ns, ret->clocks);
    ret->at_peak = sampler->reading.at_peak;
    ret->missed_cpu_ns = sampler->reading.missed_cpu_ns;
    ret->job_cgroup_cpu_ns = sampler->reading.job_cgroup.cpu_ns;
}

void sampler_tick(struct sampler *sampler, struct instant now, bool is_last, struct sample *ret)
{
    bool is_first = !sampler->has_started;

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

    read_host(sampler, now.monotonic_ns, is_first, ret);
    memcpy(ret->moment, ret->value, sizeof(ret->moment));
    if (sampler->job.is_tracked)
        read_job(sampler, now, is_last, ret);
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
    job_glance(&sampler->job, now.monotonic_ns);
}
