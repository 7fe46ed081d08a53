/* SPDX-License-Identifier: Apache-2.0 */
#include "run/track.h"

#include <errno.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "run/phase_socket.h"
#include "run/process.h"
#include "run/spawn.h"

static void say_untracked(const struct track_options *options, const char *why)
{
    char message[sizeof(((struct spoor_error *)0)->message) + 32];

    (void)snprintf(message, sizeof(message), "the job runs untracked: %s", why); /* fits */
    options->say(message);
}

enum { INHERITED_MAX = 256 };

/* Opens and starts a session on the child at its gate. Fails where the user asked for
 * something that cannot be had. Otherwise the job runs, and *ret is NULL where it is not
 * tracked. */
static int start_session(struct track_options *options, pid_t pid, spoor_session **ret,
                         struct spoor_error *err)
{
    spoor_session *session = NULL;
    int r;

    options->session.pid = pid;
    options->session.flags |= SPOOR_CALLER_SPAWNED | SPOOR_HOLD_SAMPLES | SPOOR_LEAVE_DRIVERS;
    options->session.command = (const char *const *)options->command;
    r = spoor_session_open(&options->session, &session, err);
    if (r == 0)
        r = spoor_session_start(session, err);
    if (r < 0)
        session = spoor_session_close(session);
    if (r == -EINVAL || r == -ENOTSUP)
        return r;
    if (r < 0)
        say_untracked(options, err->message);
    *ret = session;
    return 0;
}

static struct tracked watch_job(const struct track_options *options,
                                const struct supervise_options *supervision,
                                uint64_t released_ns)
{
    spoor_session *session = supervision->session;
    struct tracked tracked = { .session = session,
                               .end.wait_status = 125 << 8 }; /* if unknown */
    struct spoor_error err = { 0 };

    if (session && options->started)
        options->started(options->started_data, session, supervision->pid);
    if (session) {
        spoor_session_release_samples(session);
        (void)spoor_session_sample(session, NULL); /* the next comes soon */
    }
    tracked.end.monotonic_ns = released_ns;
    if (supervise(supervision, &tracked.end, &err) < 0)
        options->say(err.message);
    tracked.elapsed_ns = tracked.end.monotonic_ns - released_ns;
    return tracked;
}

/* Before the command can run, so that it finds us. */
static void start_listener(const struct track_options *options, spoor_session *session,
                           struct job_listener *ret)
{
    struct spoor_error err;

    if (session && options->takes_phases && phase_listener_start(ret, session, &err) < 0)
        spoor_session_warn(session, "phases", err.message);
}

enum track_outcome track(struct track_options *options, struct tracked *ret,
                         struct spoor_error *err)
{
    CLEANUP(job_listener_stop) struct job_listener listener = { 0 };
    pid_t inherited[INHERITED_MAX];
    struct supervise_options supervision = {
        .waits_for_all = options->waits_for_all,
        .inherited = inherited,
        .inherited_count = process_own_children(inherited, INHERITED_MAX),
        .stopping = options->stopping,
        .stopping_data = options->stopping_data,
    };
    spoor_session *session = NULL;
    struct spawn spawn;
    uint64_t released_ns;
    int r;

    if (spawn_start(options->command, &spawn, err) < 0)
        return TRACK_REFUSED;
    if ((options->prepare && options->prepare(options->prepare_data, spawn.pid, err) < 0) ||
        start_session(options, spawn.pid, &session, err) < 0) {
        spawn_cancel(&spawn);
        return TRACK_REFUSED;
    }
    start_listener(options, session, &listener);
    released_ns = clock_now().monotonic_ns;
    r = spawn_release(&spawn);
    if (r < 0) {
        job_listener_stop(&listener);
        spoor_session_close(session);
        (void)error_sys(err, r, "cannot run '%s'", options->command[0]);
        return TRACK_NO_EXEC;
    }
    supervision.pid = spawn.pid;
    supervision.session = session;
    *ret = watch_job(options, &supervision, released_ns);
    ret->why = err->message;
    return TRACK_RAN;
}
