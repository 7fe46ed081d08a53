/* SPDX-License-Identifier: Apache-2.0 */
/* warnings.c - the warnings of a report. */
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "base/amount.h"
#include "session/session.h"

void session_add_warning(spoor_session *session, const char *code, const char *fmt, ...)
{
    struct warning *warning;
    va_list args;

    if (session->warning_count == WARNINGS_MAX)
        return;
    warning = &session->warnings[session->warning_count++];
    (void)snprintf(warning->code, sizeof(warning->code), "%s", code); /* truncation is fine */
    va_start(args, fmt);
    /* Truncation is fine. */
    (void)vsnprintf(warning->message, sizeof(warning->message), fmt, args);
    va_end(args);
}

void spoor_session_warn(spoor_session *session, const char *code, const char *message)
{
    SESSION_LOCK(session);
    session_add_warning(session, code, "%s", message);
}

const char *spoor_session_warning(spoor_session *session, const char *code)
{
    SESSION_LOCK(session);

    for (size_t i = 0; i < session->warning_count; i++) {
        if (strcmp(session->warnings[i].code, code) == 0)
            return session->warnings[i].message;
    }
    return NULL;
}

uint64_t spoor_session_lost_rows(spoor_session *session, size_t stream, const char **reason)
{
    const struct writer_end *end;
    SESSION_LOCK(session);

    if (!session->has_stopped || stream >= session->stream_count)
        return 0;
    end = &session->streams[stream].end;
    if (end->lost_rows > 0)
        *reason = writer_end_reason(end);
    return end->lost_rows;
}

static uint64_t growth(const spoor_session *session, enum metric metric)
{
    return known_or_0(tally_growth(&session->summary.tally[metric]));
}

/* Warns if memory may have run out. The kernel does not report why a process got SIGKILL. A
 * kill counted in the job's cgroup or on the machine at the same time indicates the
 * out-of-memory killer. */
static void warn_about_oom(spoor_session *session)
{
    uint64_t in_cgroup = growth(session, METRIC_JOB_OOM_KILLS);
    uint64_t on_host = sub_known(session->sampler.host_reading.oom_kills_count,
                                 session->sampler.first_oom_kills);
    bool was_killed = session->has_wait_status && WIFSIGNALED(session->wait_status) &&
                      WTERMSIG(session->wait_status) == SIGKILL;

    if (in_cgroup > 0)
        session_add_warning(
            session, "oom",
            "the out-of-memory killer killed %llu process%s in the job's cgroup",
            (unsigned long long)in_cgroup, in_cgroup == 1 ? "" : "es");
    else if (was_killed && is_known(on_host) && on_host > 0)
        session_add_warning(session, "oom",
                            "the job was killed, probably by the out-of-memory killer, which "
                            "was active on this machine during the run");
}

static void warn_about_cpu(spoor_session *session)
{
    const struct job_reading *reading = &session->sampler.reading;
    const struct cpu_counts *counts = &reading->cpu_counts;

    if (reading->cpu.left_cgroup && is_known(counts->tree_ns) &&
        abs_diff(counts->cgroup_ns, counts->tree_ns) > 20 * NS_PER_MS)
        session_add_warning(session, "sources-disagree",
                            "CPU time: %.2f s according to the cgroup, but %.2f s summed over "
                            "processes: the larger is reported",
                            (double)counts->cgroup_ns / 1e9, (double)counts->tree_ns / 1e9);
    /* After attaching, the last CPU time of a process is usually missing, whether it was
     * waited for or not. */
    if (!reading->cpu.has_unwaited || !is_known(counts->tree_ns) ||
        !(session->sampler.job.is_spawned || session->sampler.job.ledger.saw_unwaited))
        return;
    if (reading->origin[METRIC_JOB_CPU].is_exact)
        session_add_warning(session, "unwaited-children",
                            "processes that were never waited for used %.2f s of CPU time: it "
                            "is counted, %s",
                            (double)sub_floor0(counts->cgroup_ns, counts->tree_ns) / 1e9,
                            reading->origin[METRIC_JOB_READ_CHARS].is_exact
                                ? "and so is their I/O"
                                : "but their I/O may be missing");
    else
        session_add_warning(session, "unwaited-children",
                            "some processes were never waited for: the CPU time of their exit "
                            "is not counted, and their I/O may be missing");
}

static void warn_about_cgroup(spoor_session *session)
{
    const struct job *job = &session->sampler.job;
    bool has_left = session->sampler.reading.cpu.left_cgroup;

    for (int i = 0; i < CGROUP_TREE_COUNT; i++)
        has_left |= job->meters.escape.has_left[i];
    if (has_left)
        session_add_warning(session, "left-cgroup",
                            "processes moved from the job's cgroup to another one: figures of "
                            "the cgroup do not include what they used there");
}

static void warn_about_limits(spoor_session *session)
{
    uint64_t throttled_ns = growth(session, METRIC_JOB_THROTTLED);
    uint64_t swapped = session->summary.tally[METRIC_JOB_SWAP].max;

    if (throttled_ns > 0)
        session_add_warning(session, "throttled",
                            "the CPU quota throttled the job's cgroup for %.2f s",
                            (double)throttled_ns / 1e9);
    if (is_known(swapped) && swapped > 0)
        session_add_warning(session, "swapped",
                            "up to %.1f MB of the job's memory was swapped out",
                            (double)swapped / 1e6);
}

static void warn_about_tracking(spoor_session *session)
{
    const struct job *job = &session->sampler.job;

    if (session->root.proc_fault)
        session_add_warning(session, "no-proc",
                            "%s: memory, threads and I/O of processes are unknown; mount /proc "
                            "in this namespace (unshare --mount-proc)",
                            session->root.proc_fault);
    for (size_t i = 0; i < untracked_count; i++) {
        if (job->delegating & 1u << i)
            session_add_warning(session, "not-tracked", "%s", untracked_programs[i].message);
    }
    if (session->late_samples > 0)
        session_add_warning(session, "late-samples",
                            "%llu sample%s skipped: the machine was busy or suspended, the "
                            "tracker was stopped, or sampling took longer than the interval",
                            (unsigned long long)session->late_samples,
                            session->late_samples == 1 ? " was" : "s were");
    if (job->sum.io_is_denied)
        session_add_warning(session, "io-denied",
                            "could not read the I/O of some processes: they belong to another "
                            "user, or run a set-uid or unreadable program");
    if (job->sharing.is_denied)
        session_add_warning(
            session, "detail-denied",
            "could not read private and shared memory: some processes belong to another user, "
            "or run a set-uid or unreadable program");
    if (job->sharing.has_too_many_areas)
        session_add_warning(session, "too-many-mappings",
                            "the job has too many memory mappings to examine: shared memory is "
                            "estimated from per-process totals");
    if (job->is_full)
        session_add_warning(session, "too-many-processes",
                            "more than %d processes at once: the others are not tracked",
                            ROSTER_MAX);
}

static void warn_about_stream(spoor_session *session, const struct samples_file *file)
{
    uint64_t lost_rows = file->end.lost_rows;

    if (lost_rows == 0)
        return;
    session_add_warning(session, "samples-lost", "could not write %llu row%s to %s: %s",
                        (unsigned long long)lost_rows, lost_rows == 1 ? "" : "s",
                        strcmp(file->path, "-") == 0 ? "standard output"
                        : file->is_pipe              ? file->path
                                                     : "the samples file",
                        writer_end_reason(&file->end));
}

static void warn_about_left_cgroup(spoor_session *session)
{
    const struct job_cgroup *job_cgroup = &session->sampler.job.meters.job_cgroup;

    if (cgroup_is_visible(&job_cgroup->left_behind.cgroup))
        session_add_warning(
            session, "cgroup-left",
            "the job's cgroup /%s could not be removed: %s; a later run of spoor "
            "beside it removes it once its processes have exited",
            job_cgroup->left_behind.cgroup.path, strerror(-job_cgroup->left_behind.error));
}

void session_warn(spoor_session *session)
{
    warn_about_oom(session);
    warn_about_limits(session);
    warn_about_cpu(session);
    warn_about_cgroup(session);
    warn_about_tracking(session);
    for (size_t i = 0; i < session->stream_count; i++)
        warn_about_stream(session, &session->streams[i]);
    session_warn_about_gpus(session);
    warn_about_left_cgroup(session);
}
