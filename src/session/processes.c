/* SPDX-License-Identifier: Apache-2.0 */
/* processes.c - the processes of a session's job, for reports and for callers. */
#include <errno.h>
#include <math.h>
#include <stdio.h>

#include "base/unknown.h"
#include "record/fill.h"
#include "series/series.h"
#include "session/session.h"

/* How long a caller waits for a sample in progress. */
#define SAMPLE_MOST_NS (200 * NS_PER_MS)

/* Returns the CPU time of the job, the same value as in the report. */
static uint64_t job_cpu_ns(spoor_session *session)
{
    const struct tally *tally = &session->summary.tally[METRIC_JOB_CPU];
    uint64_t ns;

    pthread_mutex_lock(&session->mutex);
    ns = is_known(tally->first) ? tally_growth(tally) : UNKNOWN;
    pthread_mutex_unlock(&session->mutex);
    return ns;
}

int session_list_processes(spoor_session *session, struct process_table *ret,
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
    ssize_t r = session_list_processes(session, &table, &remotes);

    if (r < 0)
        return r;
    record_init(&record);
    fill_processes(&record, &(struct record_input){
                                .pid = session->pid,
                                .command = (const char *const *)session->run.command,
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
