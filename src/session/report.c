/* SPDX-License-Identifier: Apache-2.0 */
/* report.c - the report of a session's run, its processes and its current figures. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "base/amount.h"
#include "base/error.h"
#include "output/save.h"
#include "record/fill.h"
#include "series/figure.h"
#include "series/series.h"
#include "session/session.h"
#include "source/proc/pid_files.h"

/* Returns the CPU time of the tracker; UNKNOWN on a fixture machine. */
static uint64_t own_cpu_ns(const spoor_session *session)
{
    uint64_t now_ns;

    if (cpu_clock_read(&session->root, session->own_pid, &now_ns) < 0)
        return UNKNOWN;
    for (size_t i = 0; i < session->stream_count; i++)
        now_ns += session->streams[i].end.cpu_ns;
    return now_ns;
}

/* Reads the tracker's high-water mark from /proc: the value of getrusage() includes the peak
 * of the program that called exec for us. */
static uint64_t own_peak_bytes(const spoor_session *session)
{
    struct pid_status status;

    if (!session->root.is_live ||
        pid_status_read(&session->root, session->own_pid, &status) < 0)
        return UNKNOWN;
    return status.rss_peak_bytes;
}

/* Whether the job is running. A zombie has exited, even if it was a member at the last sample.
 * A cgroup runs while it contains a process. */
static bool is_job_running(const spoor_session *session)
{
    struct pid_stat main;

    if (session->sampler.job.meters.job_cgroup.is_adopted)
        return session->sampler.job.sum.process_count > 0;
    return session->pid != 0 && session->sampler.has_started &&
           !session->sampler.job.main.has_ended &&
           pid_stat_read(NULL, &session->root, session->pid, &main) == 0 &&
           !pid_stat_is_zombie(&main);
}

static int fill_record(spoor_session *session, const struct process_table *processes,
                       const struct network_remotes *remotes, struct record *ret)
{
    const struct record_input input = {
        .id = session->run.id,
        .name = session->run.name,
        .tags = (const char *const *)session->run.tags.items,
        .command = (const char *const *)session->run.command.items,
        .user = session->run.user,
        .cwd = session->run.cwd,
        .launch = &session->run.launch,
        .pid = session->pid,
        .is_tracked = session->sampler.job.is_tracked,
        .is_attached =
            session->sampler.job.is_tracked && !(session->flags & SPOOR_CALLER_SPAWNED),
        .has_ended = session->has_wait_status,
        .wait_status = session->wait_status,
        .is_still_running = is_job_running(session),
        .interval_ns = session->interval_ns,
        .host = &session->host,
        .cloud = session->cloud,
        .limits = &session->limits,
        .gpu = &session->gpu,
        .summary = &session->summary,
        .latest = session->has_sample ? &session->latest : NULL,
        .first_devices = &session->first_devices,
        .devices = &session->devices,
        .devices_span_ns = session->devices_span_ns,
        .series = &session->series,
        .phases = session->phases,
        .phase_count = session->phase_count,
        .processes = processes,
        .remotes = remotes,
        .started_ns = session->sampler.started.monotonic_ns,
        .tracker_cpu_ns = own_cpu_ns(session),
        .tracker_max_rss_bytes = own_peak_bytes(session),
        .late_samples = session->late_samples,
        .detail_reads = session->detail_reads,
        .budget = session->budget,
        .warnings = session->warnings,
        .warning_count = session->warning_count,
    };

    return record_fill(&input, ret);
}

/* How long a caller waits for a sample in progress. */
#define SAMPLE_MOST_NS (200 * NS_PER_MS)

/* Returns the CPU time of the job, the same value as in the report. */
static uint64_t job_cpu_ns(spoor_session *session)
{
    const struct tally *tally = &session->summary.tally[METRIC_JOB_CPU];

    SESSION_LOCK(session);
    return is_known(tally->first) ? tally_growth(tally) : UNKNOWN;
}

/* Lists the processes of the job, for the caller to free with process_table_done(). Fails with
 * -ENOMEM or, if a sample takes too long, -EAGAIN; *ret is empty then. */
static int list_processes(spoor_session *session, struct process_table *ret,
                          struct network_remotes *ret_remotes)
{
    uint64_t cpu_ns = job_cpu_ns(session);
    int r;

    *ret = (struct process_table){ 0 };
    ret_remotes->count = 0;
    if (!session->has_sampler || !session->sampler.job.is_tracked)
        return 0;
    if (!session_begin_sampling(session, SAMPLE_MOST_NS))
        return -EAGAIN;
    r = job_list_processes(&session->sampler.job, cpu_ns, ret);
    job_list_remotes(&session->sampler.job, ret_remotes);
    session_end_sampling(session);
    return r;
}

static int make_record(spoor_session *session, struct record *ret, struct spoor_error *err)
{
    struct process_table processes;
    struct network_remotes remotes;
    int r = list_processes(session, &processes, &remotes);

    if (r == -ENOMEM)
        return error_sys(err, r, "cannot make the report");
    pthread_mutex_lock(&session->mutex);
    r = fill_record(session, &processes, &remotes, ret);
    if (r == 0)
        ret->shown_processes = session->shown_processes;
    pthread_mutex_unlock(&session->mutex);
    process_table_done(&processes);
    return r < 0 ? error_sys(err, r, "cannot make the report") : 0;
}

static struct spoor_process public_process(const struct record_process *process)
{
    struct spoor_process ret = {
        .pid = (pid_t)process->pid,
        .parent_pid = is_known(process->parent_pid) ? (pid_t)process->parent_pid : 0,
        .started_seconds = process->started_seconds,
        .ended_seconds = process->ended_seconds,
        .cpu_seconds = process->cpu_seconds,
        .peak_rss_bytes = as_number(process->peak_rss_bytes),
        .read_bytes = as_number(process->read_bytes),
        .written_bytes = as_number(process->written_bytes),
        .gpu_memory_bytes = as_number(process->gpu_memory_bytes),
        .exit_code = is_known(process->exit_code) ? (int)process->exit_code : -1,
    };

    /* All names fit. */
    (void)snprintf(ret.name, sizeof(ret.name), "%s", process->name ? process->name : "");
    (void)snprintf(ret.command, sizeof(ret.command), "%s",
                   process->command ? process->command : "");
    (void)snprintf(ret.signal, sizeof(ret.signal), "%s",
                   process->signal ? process->signal : "");
    return ret;
}

ssize_t spoor_session_processes(spoor_session *session, struct spoor_process *list,
                                size_t capacity)
{
    struct process_table table;
    struct record record;
    struct network_remotes remotes;
    ssize_t r = list_processes(session, &table, &remotes);

    if (r < 0)
        return r;
    record_init(&record);
    fill_processes(&record, &(struct record_input){
                                .pid = session->pid,
                                .command = (const char *const *)session->run.command.items,
                                .is_attached = !(session->flags & SPOOR_CALLER_SPAWNED),
                                .processes = &table,
                                .started_ns = session->sampler.started.monotonic_ns,
                            });
    r = record.error < 0 ? record.error : (ssize_t)record.process_count;
    for (size_t i = 0; i < record.process_count && i < capacity; i++)
        list[i] = public_process(&record.processes[i]);
    process_table_done(&table);
    record_done(&record);
    return r;
}

void spoor_session_set_cloud(spoor_session *session, const struct spoor_cloud *cloud)
{
    SESSION_LOCK(session);
    session->cloud = cloud;
}

void spoor_session_show_processes(spoor_session *session, size_t count)
{
    SESSION_LOCK(session);
    session->shown_processes = count;
}

int spoor_session_write(spoor_session *session, enum spoor_format format, unsigned flags,
                        int fd, struct spoor_error *err)
{
    struct record record;
    int r = make_record(session, &record, err);

    if (r < 0)
        return r;
    r = save_to_descriptor(&record, 1, format, flags & SPOOR_COLOR, fd, err);
    record_done(&record);
    return r;
}

int spoor_session_save(spoor_session *session, enum spoor_format format, const char *path,
                       enum spoor_save how, struct spoor_error *err)
{
    struct record record;
    int r = make_record(session, &record, err);

    if (r < 0)
        return r;
    r = save_to_file(&record, 1, format, path, how, err);
    record_done(&record);
    return r;
}

int spoor_session_figure(spoor_session *session, const char *path, struct spoor_figure *ret,
                         struct spoor_error *err)
{
    ssize_t index = figure_index(path);

    if (index < 0)
        return error_set(err, ENOENT, "unknown figure '%s'", path);
    SESSION_LOCK(session);
    *ret = figure_get((size_t)index, &session->summary);
    return 0;
}

ssize_t spoor_session_latest(spoor_session *session, double *values, size_t count)
{
    SESSION_LOCK(session);

    if (!session->has_sample)
        return -EAGAIN;
    for (size_t i = 0; i < count; i++)
        values[i] = i < METRIC_COUNT ? metric_value((enum metric)i, session->latest.value[i])
                                     : (double)NAN;
    return METRIC_COUNT;
}

double spoor_session_latest_seconds(spoor_session *session)
{
    SESSION_LOCK(session);

    return session->has_sample ? (double)session->latest.elapsed_ns / 1e9 : (double)NAN;
}
