/* SPDX-License-Identifier: Apache-2.0 */
/* gpu.c - what a session does with its GPU thread. */
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
    };
    int r = gpu_thread_start(&options, &session->gpu_thread);

    if (r < 0)
        session_add_warning(session, "gpu-thread", "GPUs are not looked at: %s", strerror(-r));
}

void session_tell_gpus(spoor_session *session)
{
    const struct job *job = &session->sampler.job;

    if (session->gpu_thread && session->gpu.state != GPU_NONE)
        gpu_thread_tell(session->gpu_thread, &job->members, job->started_count);
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

void session_add_gpus(spoor_session *session, struct instant now, bool is_last)
{
    if (!session->gpu_thread)
        return;
    if (session->gpu.state != GPU_NONE) {
        if (is_last) {
            gpu_thread_ask_last(session->gpu_thread);
            gpu_thread_wait_last(session->gpu_thread);
        }
        session_tell_gpus(session);
        gpu_thread_take(session->gpu_thread, now.monotonic_ns, &session->gpu);
    }
    sampler_add_gpus(&session->sampler, &session->gpu, &session->latest);
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

void session_judge_gpus(spoor_session *session)
{
    struct gpu_troubles troubles;
    char list[160];

    if (!session->gpu_thread)
        return;
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
    if (is_known(troubles.account_bytes))
        summary_raise(&session->summary, METRIC_JOB_GPU_MEMORY, troubles.account_bytes);
}

void session_end_gpus(spoor_session *session)
{
    session->gpu_thread = gpu_thread_close(session->gpu_thread);
    free(session->gpu.devices);
    session->gpu = (struct gpu_view){ 0 };
}
