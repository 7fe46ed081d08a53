/* SPDX-License-Identifier: Apache-2.0 */
#include "sample/sampler.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/amount.h"
#include "base/cleanup.h"
#include "base/compiler.h"
#include "sample/origins.h"

/* ---- memory parts ---------------------------------------------------------- */

/* Unexplained memory below 1/50 of the total counts as shared: files mapped since the last
 * reading of the parts, which other processes may map too. If more is unexplained, the parts
 * are unknown. */
enum { UNEXPLAINED_SHARE = 50 };

static const struct memory_metrics {
    enum metric total, private, shared;
} groups[] = {
    { METRIC_MAIN_RSS, METRIC_MAIN_PRIVATE, METRIC_MAIN_SHARED },
    { METRIC_DESCENDANTS_RSS, METRIC_DESCENDANTS_PRIVATE, METRIC_DESCENDANTS_SHARED },
    { METRIC_JOB_RSS, METRIC_JOB_PRIVATE, METRIC_JOB_SHARED },
};

static void reconcile(uint64_t *value, const struct memory_metrics *group)
{
    uint64_t total = value[group->total];
    uint64_t known = sum_u64(value[group->private], value[group->shared]);

    if (!is_known(total) || !is_known(known) || value[group->private] > total ||
        sub_floor0(total, known) > total / UNEXPLAINED_SHARE)
        value[group->private] = value[group->shared] = UNKNOWN;
    else
        value[group->shared] = total - value[group->private];
}

/* Reconciles private memory of main and descendants with the job's: their maxima may be from
 * different moments. */
static void reconcile_private(uint64_t *value)
{
    uint64_t job = value[METRIC_JOB_PRIVATE];

    if (!is_known(job) ||
        sum_u64(value[METRIC_MAIN_PRIVATE], value[METRIC_DESCENDANTS_PRIVATE]) == job)
        return;
    if (value[METRIC_DESCENDANTS_RSS] == 0 && is_known(value[METRIC_MAIN_PRIVATE]) &&
        job <= value[METRIC_MAIN_RSS])
        value[METRIC_MAIN_PRIVATE] = job;
    else
        value[METRIC_MAIN_PRIVATE] = value[METRIC_DESCENDANTS_PRIVATE] = UNKNOWN;
}

static void reconcile_all(uint64_t *value)
{
    reconcile_private(value);
    for (size_t i = 0; i < ARRAY_SIZE(groups); i++)
        reconcile(value, &groups[i]);
}

void memory_parts_reconcile(struct sample *sample)
{
    uint64_t *value = sample->value;

    for (size_t i = 0; i < ARRAY_SIZE(groups); i++) {
        sample->highest[groups[i].private] = value[groups[i].private];
        sample->highest[groups[i].shared] = value[groups[i].shared];
    }
    if (is_known(value[METRIC_JOB_PRIVATE]) && is_known(sample->at_peak.private_bytes)) {
        value[METRIC_JOB_PRIVATE] = sample->at_peak.private_bytes;
        value[METRIC_JOB_SHARED] = sample->at_peak.shared_bytes;
    }
    reconcile_all(value);
    reconcile_all(sample->moment);
}

/* ---- energy of the CPUs ---------------------------------------------------- */

#define STEP_NS (200 * NS_PER_MS)

void cpu_energy_add(struct cpu_energy *energy, const struct energy_point *point, bool is_last)
{
    const struct energy_point *last = &energy->last;
    double seconds = (double)(point->now_ns - last->now_ns) / NS_PER_SECOND, uj, busy_ns, share;

    if (!is_known(point->energy_uj) || !is_known(point->job_ns) || !is_known(point->busy_ns))
        return;
    if (!energy->has_begun) {
        energy->has_begun = true;
        energy->last = *point;
        return;
    }
    if ((point->now_ns - last->now_ns < STEP_NS && !is_last) || seconds <= 0)
        return;
    uj = (double)sub_floor0(point->energy_uj, last->energy_uj);
    busy_ns = (double)sub_floor0(point->busy_ns, last->busy_ns);
    share = (double)sub_floor0(point->job_ns, last->job_ns);
    /* The machine's ticks lag behind: the job may seem to use more than the machine. */
    share = share > 0 ? share / fmax(busy_ns, share) : 0;
    energy->job_uj += uj * share;
    energy->share_seconds += seconds * share;
    if (point->now_ns - last->now_ns >= STEP_NS &&
        (energy->least_watts <= 0 || uj / 1e6 / seconds < energy->least_watts))
        energy->least_watts = uj / 1e6 / seconds;
    energy->last = *point;
}

double cpu_energy_low_uj(const struct cpu_energy *energy)
{
    if (energy->least_watts <= 0) /* the power at rest is unknown */
        return 0;
    return fmax(0, energy->job_uj - energy->least_watts * 1e6 * energy->share_seconds);
}

/* ---- sampler --------------------------------------------------------------- */

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
    AUTO_FREE char *mountinfo = NULL;
    pid_t pid = options->pid != 0 ? options->pid : getpid(); /* a job inherits our limits */
    int r = mountinfo_read(root, &mountinfo);

    sampler->untracked = untracked_scope(options);
    if (options->adopted)
        sampler->cgroups = *options->cgroups;
    sampler->has_cgroups = options->adopted || (r == 0 && cgroups_find(root, pid, mountinfo,
                                                                       &sampler->cgroups) == 0);
    job.cgroups = sampler->has_cgroups ? &sampler->cgroups : NULL;
    sampler->root = root;
    sampler->has_started = false;
    host_init(&sampler->host);
    sampler->energy = (struct energy){ 0 };
    sampler->cpu_energy = (struct cpu_energy){ 0 };
    sampler->host.counts_processes = options->pid == 0 && !options->adopted;
    job.storage_is_local = r == 0 && mounts_are_local(mountinfo);
    r = job_init(&sampler->job, root, &job, now.monotonic_ns);
    if (r < 0)
        sampler_done(sampler);
    return r;
}

void sampler_done(struct sampler *sampler)
{
    job_done(&sampler->job);
    host_done(&sampler->host);
    energy_close(&sampler->energy);
}

static struct sample_clock clock_of(struct clock_span span, uint64_t error_ns, uint64_t now_ns)
{
    uint64_t length_ns = sub_floor0(span.until_ns, span.from_ns);

    return (struct sample_clock){
        .late_ns = sub_floor0(span.from_ns + length_ns / 2, now_ns),
        .resolution_ns = error_ns + length_ns,
    };
}

/* Returns one time for all CPU metrics. Main's clock and the job's counter are read at
 * different moments, so the distance between them adds to the error. */
static struct sample_clock job_clock(const struct sampler *sampler, uint64_t now_ns,
                                     bool is_last)
{
    const struct job_reading *reading = &sampler->reading;
    uint64_t ended_ns = sampler->job.main.ended_ns != 0
                            ? sampler->job.main.ended_ns
                            : process_events_ended_ns(&sampler->job.process_events);
    struct sample_clock main = clock_of(reading->main_cpu_span, NS_PER_MS, now_ns);
    struct sample_clock job = clock_of(reading->cpu_span, reading->cpu_error_ns, now_ns);

    /* A job that had ended before the sample has the same counters as at the time of the
     * sample. The last sample comes after the end, even if no time of the end was recorded. */
    if (reading->process_count_now == 0 && (ended_ns != 0 ? ended_ns <= now_ns : is_last))
        main.late_ns = job.late_ns = 0;
    job.resolution_ns += main.resolution_ns + abs_diff(job.late_ns, main.late_ns);
    return job;
}

static uint64_t stolen_ns(const struct cpu_stat *cpu)
{
    return sum_u64(known_or_0(cpu->steal_ns), cpu->interrupt_ns);
}

static uint64_t busy_ns(const struct cpu_stat *cpu)
{
    return sum_u64(sum_u64(cpu->user_ns, cpu->system_ns), known_or_0(cpu->steal_ns));
}

static void hide_untracked(const struct sampler *sampler, struct sample *sample)
{
    const struct untracked_scope *scope = &sampler->untracked;

    for (int i = (int)scope->first; i < (int)scope->end; i++) {
        sample->value[i] = sample->moment[i] = sample->highest[i] = UNKNOWN;
        sample->origin[i] = (struct origin){ NULL, scope->reason, false };
    }
}

/* Marks sums as inexact if a device was added or removed during the run. */
static void mark_inexact(const struct device_table *table, struct origin in_and_out[2])
{
    if (!table->is_exact)
        in_and_out[0].is_exact = in_and_out[1].is_exact = false;
}

static void mark_inexact_sums(const struct host *host, struct origin origins[METRIC_COUNT])
{
    mark_inexact(&host->disks, &origins[METRIC_HOST_DISK_READ]);
    mark_inexact(&host->interfaces, &origins[METRIC_HOST_NETWORK_RECEIVED]);
    mark_inexact(&host->rdma.table, &origins[METRIC_HOST_RDMA_RECEIVED]);
    mark_inexact(&host->nfs.table, &origins[METRIC_HOST_NFS_READ]);
}

static void read_host(struct sampler *sampler, uint64_t now_ns, bool is_first,
                      struct sample *ret)
{
    const struct host_reading *reading = &sampler->host_reading;

    host_read(&sampler->host, sampler->root, now_ns, &sampler->host_reading);
    if (is_first) {
        sampler->first_oom_kills = reading->oom_kills_count;
        sampler->first_cpu = reading->cpu;
    }
    mark_inexact_sums(&sampler->host, ret->origin);
    origins_host_values(reading, ret->value);
    ret->clocks[CLOCK_HOST_CPU] = clock_of(sampler->host.cpu_span, HOST_CPU_ERROR_NS, now_ns);
    ret->host = *reading;
}

/* Uses the machine's pressure if the job's cgroup does not count any. */
static void share_pressure(struct sample *ret)
{
    for (int i = 0; i < PRESSURE_COUNT; i++) {
        ret->value[METRIC_JOB_CPU_PRESSURE + i] = ret->value[METRIC_HOST_CPU_PRESSURE + i];
        ret->moment[METRIC_JOB_CPU_PRESSURE + i] = ret->value[METRIC_HOST_CPU_PRESSURE + i];
        ret->origin[METRIC_JOB_CPU_PRESSURE + i] = ret->origin[METRIC_HOST_CPU_PRESSURE + i];
    }
}

static void take_measures(struct sampler *sampler, struct sample *ret)
{
    share_pressure(ret);
    for (int i = 0; i < METRIC_JOB_END; i++) {
        struct measure measure;

        if (!job_measure(&sampler->job, &sampler->reading, (enum metric)i, &measure))
            continue;
        ret->value[i] = measure.value;
        ret->moment[i] = measure.now;
        ret->origin[i] = measure.origin;
    }
}

static void read_job(struct sampler *sampler, struct instant now, enum sample_kind kind,
                     struct sample *ret)
{
    const struct host_reading *host = &sampler->host_reading;

    sampler->job.meters.swap_used_bytes = host->memory.swap_used_bytes;
    if (!sampler->job.was_read) /* a job that has just started is not swapped out */
        sampler->job.meters.swap_read_bytes = host->memory.swap_used_bytes;
    if (sampler->job.meters.swap_read_bytes != host->memory.swap_used_bytes)
        activity_forget(&sampler->job.activity); /* idle processes are being swapped out */
    raise_to(&sampler->job.meters.huge_pool_bytes, host->memory.hugetlb_bytes);
    sampler->job.meters.stolen_ns =
        sub_known(stolen_ns(&host->cpu), stolen_ns(&sampler->first_cpu));
    sampler->job.meters.busy_ns = sub_known(busy_ns(&host->cpu), busy_ns(&sampler->first_cpu));
    sampler->job.is_border = kind == SAMPLE_BORDER;
    sampler->job.is_early = kind == SAMPLE_EARLY;
    job_refresh(&sampler->job, now.monotonic_ns, kind > SAMPLE_REGULAR);
    job_update_network(&sampler->job, now.monotonic_ns, kind == SAMPLE_LAST);
    job_collect(&sampler->job, now.monotonic_ns);
    job_read(&sampler->job, &sampler->reading);
    job_begin_interval(&sampler->job);
    take_measures(sampler, ret);
    ret->clocks[CLOCK_JOB_CPU] = job_clock(sampler, now.monotonic_ns, kind == SAMPLE_LAST);
    ret->at_peak = sampler->reading.at_peak;
    /* Other processes may enter an adopted cgroup. */
    ret->job_is_over =
        ret->value[METRIC_JOB_THREADS] == 0 && !sampler->job.meters.job_cgroup.is_adopted;
    memory_parts_reconcile(ret);
    ret->missed_cpu_ns = sampler->reading.missed_cpu_ns;
    ret->job_cgroup_cpu_ns = sampler->reading.job_cgroup.cpu.total_ns;
}

/* Reads the energy. Must be called after the CPU times of the job and the machine were read. */
static void read_energy(struct sampler *sampler, uint64_t now_ns, bool is_last,
                        struct sample *ret)
{
    struct energy *energy = &sampler->energy;
    uint64_t *value = ret->value, energy_uj = energy_read(energy, sampler->root, now_ns);
    const struct energy_point point = { now_ns, energy_uj, value[METRIC_JOB_CPU],
                                        value[METRIC_HOST_CPU] };

    ret->origin[METRIC_HOST_CPU_ENERGY] =
        (struct origin){ energy->source, energy->reason, energy->is_complete };
    value[METRIC_HOST_CPU_ENERGY] = ret->moment[METRIC_HOST_CPU_ENERGY] = energy_uj;
    if (!sampler->job.is_tracked)
        return;
    cpu_energy_add(&sampler->cpu_energy, &point, is_last);
    ret->origin[METRIC_JOB_CPU_ENERGY] = ret->origin[METRIC_JOB_CPU_ENERGY_LOW] =
        (struct origin){ energy->source, energy->reason, false };
    if (!sampler->cpu_energy.has_begun)
        return;
    value[METRIC_JOB_CPU_ENERGY] = ret->moment[METRIC_JOB_CPU_ENERGY] =
        (uint64_t)sampler->cpu_energy.job_uj;
    value[METRIC_JOB_CPU_ENERGY_LOW] = ret->moment[METRIC_JOB_CPU_ENERGY_LOW] =
        (uint64_t)cpu_energy_low_uj(&sampler->cpu_energy);
}

void sampler_tick(struct sampler *sampler, struct instant now, enum sample_kind kind,
                  struct sample *ret)
{
    bool is_first = !sampler->has_started;

    if (is_first) {
        sampler->started = now;
        sampler->has_started = true;
    }
    if (kind == SAMPLE_LAST)
        host_expire(&sampler->host);
    sample_clear(ret);
    origins_init(ret->origin);
    ret->elapsed_ns = now.monotonic_ns - sampler->started.monotonic_ns;
    ret->realtime_ns = now.realtime_ns;
    ret->storage_is_local = sampler->job.storage_is_local;

    read_host(sampler, now.monotonic_ns, is_first, ret);
    memcpy(ret->moment, ret->value, sizeof(ret->moment));
    if (sampler->job.is_tracked)
        read_job(sampler, now, kind, ret);
    read_energy(sampler, now.monotonic_ns, kind == SAMPLE_LAST, ret);
    hide_untracked(sampler, ret);
}

/* Keeps a counter from falling. Counters are extrapolated while a driver's samples are late. If
 * a value went too far, it stays until the driver catches up. The last value is final even if
 * it is lower. */
static uint64_t hold_highest(uint64_t *reported, uint64_t value, bool is_last)
{
    if (is_known(value))
        *reported = is_last ? value : larger(*reported, value);
    return is_known(value) ? *reported : UNKNOWN;
}

static void fill_gpus(struct sampler *sampler, const struct gpu_view *view, bool is_last,
                      struct sample *ret)
{
    for (int i = 0; i < GPU_TOTAL_COUNT; i++) {
        enum metric metric = gpu_total_metric((enum gpu_total)i);
        struct measure measure = view->totals.measures[i];

        if (i >= GPU_TOTAL_LEVELS)
            measure.value = measure.now = hold_highest(
                &sampler->gpu_counts[i - GPU_TOTAL_LEVELS], measure.value, is_last);
        ret->value[metric] = measure.value;
        ret->moment[metric] = measure.now;
    }
}

void sampler_add_gpus(struct sampler *sampler, const struct gpu_view *view, bool is_last,
                      struct sample *ret)
{
    origins_update_gpus(ret->origin, view);
    if (view->state == GPU_READY || view->state == GPU_SILENT)
        fill_gpus(sampler, view, is_last, ret);
    hide_untracked(sampler, ret);
}

/* ---- device sample --------------------------------------------------------- */

enum { CPUS_MAX = 8192 };

void device_sample_done(struct device_sample *sample)
{
    devices_done(&sample->devices);
    free(sample->cpus);
    *sample = (struct device_sample){ 0 };
}

static void read_cpus(struct device_sample *sample, const struct root *root)
{
    AUTO_FREE char *text = malloc(HOST_TEXT_SIZE);
    long ticks = sysconf(_SC_CLK_TCK);
    struct cpu_busy *cpus = calloc(CPUS_MAX, sizeof(*cpus));

    sample->cpus = cpus;
    if (!text || !cpus || ticks <= 0 ||
        root_read_start(root, text, HOST_TEXT_SIZE, "proc/stat") < 0)
        return;
    sample->cpu_count = cpu_stat_parse_each(text, (uint64_t)ticks, cpus, CPUS_MAX);
}

void device_sample_read(struct device_sample *sample, const struct root *root,
                        struct space *space)
{
    device_sample_done(sample);
    (void)devices_read(root, space, &sample->devices); /* on failure the list is empty */
    read_cpus(sample, root);
}

uint64_t device_sample_cpu_ns(const struct device_sample *sample, uint64_t number)
{
    for (size_t i = 0; i < sample->cpu_count; i++) {
        if (sample->cpus[i].number == number)
            return sample->cpus[i].busy_ns;
    }
    return UNKNOWN;
}
