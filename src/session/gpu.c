/* SPDX-License-Identifier: Apache-2.0 */
/* gpu.c - what a session does with its GPU thread. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "session/session.h"

void session_start_gpus(spoor_session *session)
{
    const struct job *job = &session->sampler.job;
    struct gpu_thread_options options = {
        .root = session->root_path,
        .gpus = session->gpus,
        .main_pid = session->pid,
        .tracker_pid = job->tracker_pid,
        .disabled = session->disabled,
        .start_ns = session->sampler.started.monotonic_ns,
        .members = &job->members,
        .gate = &job->run_gate,
    };
    const struct gpu_vendor *enabled[GPU_VENDORS_MAX];
    int r = session->may_have_gpus ? gpu_thread_start(&options, &session->gpu_thread) : -ENODEV;

    if (r == 0)
        return;
    session->gpu.state = GPU_NONE;
    session->gpu.reason = gpu_vendors_enabled(session->disabled, enabled) == 0
                              ? "switched off (SPOOR_DISABLE)"
                              : "this machine has no GPU";
    if (r != -ENODEV)
        session_add_warning(session, "gpu-thread", "GPUs are not looked at: %s", strerror(-r));
}

void session_tell_gpus(spoor_session *session)
{
    if (session->gpu_thread && session->gpu.state != GPU_NONE)
        gpu_thread_tell(session->gpu_thread, &session->sampler.job.members);
}

void session_ask_gpus_last(spoor_session *session)
{
    struct gpu_thread *thread;

    pthread_mutex_lock(&session->mutex);
    thread = session->gpu_thread;
    pthread_mutex_unlock(&session->mutex);
    if (thread)
        gpu_thread_ask_last(thread);
}

static const struct {
    enum metric metric;
    bool is_memory; /* else busy time */
} of_processes[] = {
    { METRIC_MAIN_GPU_MEMORY, true },      { METRIC_DESCENDANTS_GPU_MEMORY, true },
    { METRIC_JOB_GPU_MEMORY, true },       { METRIC_JOB_GPU_BUSY, false },
    { METRIC_JOB_GPU_UTILIZATION, false },
};

/* A job that used no GPU at first, and then one whose driver does not tell how much: that 0 was
 * not measured. */
static void forget_zeros(spoor_session *session)
{
    const struct gpu_totals *totals = &session->gpu.totals;

    for (size_t i = 0; i < ARRAY_SIZE(of_processes); i++) {
        enum metric metric = of_processes[i].metric;

        if (!(of_processes[i].is_memory ? totals->has_untold_memory : totals->has_untold_busy))
            continue;
        summary_forget_zero(&session->summary, metric);
        for (size_t phase = 0; phase < session->phase_count; phase++)
            summary_forget_zero(&session->phases[phase].summary, metric);
        if (session->latest.value[metric] == 0)
            session->latest.value[metric] = UNKNOWN;
    }
}

void session_add_gpus(spoor_session *session, struct instant now, bool is_last)
{
    if (session->gpu_thread && session->gpu.state != GPU_NONE) {
        if (is_last) {
            gpu_thread_ask_last(session->gpu_thread);
            gpu_thread_wait_last(session->gpu_thread);
        }
        session_tell_gpus(session);
        gpu_thread_take(session->gpu_thread, now.monotonic_ns, &session->gpu);
    }
    if (session->gpu.reason || session->gpu.state == GPU_READY) /* else nobody has looked */
        sampler_add_gpus(&session->sampler, &session->gpu, is_last, &session->latest);
    forget_zeros(session);
}

/* The list of those there are, for whoever named one that is not. */
static void list_gpus(const struct gpu_view *view, char *buf, size_t size)
{
    size_t used = 0;

    buf[0] = '\0';
    for (size_t i = 0; i < view->count && used < size - 1; i++) {
        int n = snprintf(buf + used, size - used, "%s%zu %s", i > 0 ? ", " : "", i,
                         gpu_unit_id(&view->units[i]));

        used += n > 0 ? (size_t)n : 0;
    }
}

/* The driver's own peak of one process is the job's at least. It is the run's, of no phase. */
static void raise_to_account(spoor_session *session, uint64_t bytes)
{
    const struct tally *tally = &session->summary.tally[METRIC_JOB_GPU_MEMORY];

    if (is_known(tally->max) && bytes <= tally->max)
        return;
    summary_raise(&session->summary, METRIC_JOB_GPU_MEMORY, bytes);
    session->sampler.origins[METRIC_JOB_GPU_MEMORY].source = "nvml.accounting";
}

void session_judge_gpus(spoor_session *session)
{
    struct gpu_troubles troubles = { .account_bytes = UNKNOWN };
    char list[160];

    if (session->gpu_thread)
        gpu_thread_troubles(session->gpu_thread, &troubles);
    for (size_t i = 0; i < troubles.refusal_count; i++)
        session_add_warning(session, "gpu-driver", "%s GPUs cannot be measured: %s",
                            troubles.refusals[i].vendor, troubles.refusals[i].error.message);
    if (session->gpus && session->gpu.state == GPU_NONE && strcmp(session->gpus, "all") != 0 &&
        strcmp(session->gpus, "none") != 0)
        session_add_warning(session, "gpu-unknown", "--gpus %s: %s", session->gpus,
                            session->gpu.reason);
    if (troubles.unmatched.code != 0) {
        list_gpus(&session->gpu, list, sizeof(list));
        session_add_warning(session, "gpu-unknown", "%s; there are %s",
                            troubles.unmatched.message, list);
    }
    if (troubles.silent_for_ns > 0)
        session_add_warning(
            session, "gpu-blocked",
            "the GPU driver did not answer for %.1f s, from %.1f s after the start on: what "
            "GPUs did then is not known",
            (double)troubles.silent_for_ns / 1e9,
            (double)(troubles.silent_since_ns - session->sampler.started.monotonic_ns) / 1e9);
    if (troubles.is_busy_mixed)
        session_add_warning(session, "gpu-shared",
                            "other processes compute on the job's GPU: of those that are busy "
                            "within a fifth of a second the driver names one, so some of the "
                            "job's utilization may be theirs, and some of theirs its");
    if (is_known(troubles.account_bytes))
        raise_to_account(session, troubles.account_bytes);
}

void session_end_gpus(spoor_session *session)
{
    session->gpu_thread = gpu_thread_close(session->gpu_thread);
    free(session->gpu.devices);
    session->gpu = (struct gpu_view){ 0 };
}
