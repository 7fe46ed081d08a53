/* SPDX-License-Identifier: Apache-2.0 */
#include "run/track.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/hidden_child.h"
#include "base/root.h"
#include "run/job_socket.h"
#include "run/process.h"
#include "run/signals.h"

/* ---- waiting for the job ------------------------------------------------
 *
 * Three facts shape this file:
 *
 * - A zombie still has its last figures, a reaped process has none. So each exited
 *   process is found with WNOWAIT, reported to the session, then reaped.
 * - The command itself stays a zombie until the last sample has been taken. Until then
 *   waitid(P_ALL) may return it again and again; other zombies are found through the
 *   list of our children.
 * - Once the command is reaped, its PID may be reused: no signal is sent to it any more.
 */

/* Helpers of the job (a pool's manager, a filter at the end of a pipe) exit a moment after the
 * job. Processes count as left over only if they still run after this time. */
#define STRAGGLERS_NS (10 * NS_PER_MS)
#define CHILDREN_MAX 4096

/* Limit for the last sample; signals are handled meanwhile. */
#define STOP_MOST_NS (10 * NS_PER_SECOND)
#define STOP_STEP_NS (50 * NS_PER_MS)

static const struct timespec at_once = { 0 };

struct supervision {
    const struct supervise_options *options;
    pid_t pid;          /* the command; 0 once it is reaped */
    bool has_ended;     /* the command has exited */
    bool has_children;  /* some process of the job is not reaped yet */
    bool is_cut_short;  /* the user interrupted the wait for the remaining processes */
    bool is_unreported; /* the session has not read the last figures of the command */
    bool is_waiting;    /* an exited process is not reaped until the session has read it */
    sigset_t received;  /* signals received while the command ran */
    int wait_status;
    uint64_t ended_ns;
};

int supervise_exit_code(int wait_status)
{
    return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

static int wait_status_of(const siginfo_t *info)
{
    if (info->si_code == CLD_EXITED)
        return (info->si_status & 0xff) << 8;
    return info->si_status | (info->si_code == CLD_DUMPED ? 0x80 : 0);
}

/* Reports an exited process to the session. -EAGAIN: the session is busy with a sample, and the
 * process must not be reaped yet. */
static int notify_session(const struct supervision *job, pid_t pid)
{
    return job->options->session ? spoor_session_child_ended(job->options->session, pid) : 0;
}

static bool is_inherited(const struct supervision *job, pid_t pid)
{
    for (size_t i = 0; i < job->options->inherited_count; i++) {
        if (job->options->inherited[i] == pid)
            return true;
    }
    return false;
}

/* Reaps exited children, even if waitid(P_ALL) returns only the command. Returns how many
 * children, except the command, are still running or not read by the session yet. */
static size_t collect_others(const struct supervision *job)
{
    pid_t children[CHILDREN_MAX];
    ssize_t n = process_children(job->options->root, getpid(), children, CHILDREN_MAX);
    size_t left_count = 0;

    for (ssize_t i = 0; i < n; i++) {
        siginfo_t info = { 0 };

        if (children[i] == job->pid || is_inherited(job, children[i]) ||
            waitid(P_PID, (id_t)children[i], &info, WEXITED | WNOHANG | WNOWAIT) < 0)
            continue;
        if (info.si_pid == 0) {
            left_count++;
            continue;
        }
        if (notify_session(job, info.si_pid) == 0)
            child_reap(info.si_pid);
        else
            left_count++;
    }
    return left_count;
}

static void warn_about_rest(const struct supervision *job)
{
    size_t count = process_count_descendants(job->options->root, getpid(), job->pid);
    char message[200];

    for (size_t i = 0; i < job->options->inherited_count; i++) {
        size_t others =
            process_count_descendants(job->options->root, job->options->inherited[i], 0) + 1;

        count -= count > others ? others : count;
    }

    if (count == 0 || !job->options->session)
        return;
    (void)snprintf(message, sizeof(message),
                   "%zu process%s of the job %s still running when the command exited; later "
                   "usage is not included (--wait all waits for %s)",
                   count, count == 1 ? "" : "es", count == 1 ? "was" : "were",
                   count == 1 ? "it" : "them");
    spoor_session_warn(job->options->session, "still-running", message);
}

/* Waits briefly for the remaining processes, then reports those still running. */
static void drain_stragglers(const struct supervision *job)
{
    uint64_t deadline_ns = clock_now().monotonic_ns + STRAGGLERS_NS;
    sigset_t child_ended;

    sigemptyset(&child_ended);
    sigaddset(&child_ended, SIGCHLD);
    while (collect_others(job) > 0) {
        uint64_t now_ns = clock_now().monotonic_ns;
        struct timespec left;

        if (now_ns >= deadline_ns) {
            warn_about_rest(job);
            return;
        }
        left = clock_timespec(deadline_ns - now_ns);
        (void)sigtimedwait(&child_ended, NULL, &left); /* the loop checks again either way */
    }
}

static void pass_on(const struct supervision *job, const siginfo_t *info)
{
    /* Fails if the job has exited. */
    if (info->si_code == SI_QUEUE)
        (void)sigqueue(job->pid, info->si_signo, info->si_value);
    else
        (void)kill(job->pid, info->si_signo);
}

static void stop_signals(sigset_t *ret)
{
    (void)sigemptyset(ret);
    (void)sigaddset(ret, SIGTSTP);
    (void)sigaddset(ret, SIGTTIN);
    (void)sigaddset(ret, SIGTTOU);
}

static void report_stop(const struct supervision *job, bool is_stopping)
{
    if (job->options->session)
        spoor_session_note_stop(job->options->session, is_stopping);
    if (job->options->stopping)
        job->options->stopping(job->options->stopping_data, is_stopping);
}

static void handle_signal(struct supervision *job, const siginfo_t *info)
{
    struct forward_facts facts = { .self = getpid() };
    sigset_t ends, stops;

    if (job->pid == 0) { /* descendants that outlive the command do not get our signals */
        forward_end_signals(&ends);
        stop_signals(&stops);
        job->is_cut_short = sigismember(&ends, info->si_signo);
        if (sigismember(&stops, info->si_signo)) {
            report_stop(job, true);
            stop_by(info->si_signo);
            report_stop(job, false);
        }
    } else {
        (void)sigaddset(&job->received, info->si_signo); /* signo is valid: cannot fail */
        if (info->si_signo == SIGCONT && job->options->session)
            spoor_session_note_stop(job->options->session,
                                    false); /* another process stopped us */
        facts.is_from_job = forward_is_sent(info) &&
                            process_descends(job->options->root, info->si_pid, facts.self);
        facts.shares_group = getpgid(job->pid) == getpgrp();
        if (forward_is_wanted(info, &facts))
            pass_on(job, info);
    }
}

/* Handles pending signals. A signal to the whole group that ends the command reaches us too.
 * The kernel delivers it to all under one lock, so it is pending here by the time the
 * command's end is visible, and it counts as received before that end. */
static void take_pending_signals(struct supervision *job)
{
    sigset_t signals;
    siginfo_t info;

    forward_signals(&signals);
    while (sigtimedwait(&signals, &info, &at_once) >= 0)
        handle_signal(job, &info);
}

/* Records when and how the command ended, if it is a zombie. */
static void note_end(struct supervision *job)
{
    siginfo_t info = { 0 };

    if (job->has_ended ||
        waitid(P_PID, (id_t)job->pid, &info, WEXITED | WNOHANG | WNOWAIT) < 0 ||
        info.si_pid == 0)
        return;
    take_pending_signals(job);
    job->has_ended = job->is_unreported = true;
    job->ended_ns = clock_now().monotonic_ns;
    job->wait_status = wait_status_of(&info);
    if (job->options->session)
        spoor_session_set_wait_status(job->options->session, job->wait_status);
}

/* Stops with the command. Signals that arrived earlier are handled first: SIGCONT may be among
 * them. Returns false if the command is not stopped; otherwise signals were handled, and the
 * caller must check its children again. */
static bool follow_stop(struct supervision *job)
{
    siginfo_t info = { 0 };

    if (job->has_ended ||
        waitid(P_PID, (id_t)job->pid, &info, WSTOPPED | WNOHANG | WNOWAIT) < 0 ||
        info.si_pid == 0)
        return false;
    take_pending_signals(job);
    info.si_pid = 0;
    if (waitid(P_PID, (id_t)job->pid, &info, WSTOPPED | WNOHANG) == 0 && info.si_pid != 0) {
        report_stop(job, true);
        stop_with(job->pid, info.si_status);
        report_stop(job, false);
    }
    return true;
}

/* Reaps exited processes; stops at the exit of the command if that ends the job. */
static int collect(struct supervision *job, struct spoor_error *err)
{
    for (;;) {
        siginfo_t info = { 0 };

        if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) < 0) {
            if (errno == EINTR)
                continue;
            job->has_children = false;
            return job->has_ended ? 0 : error_sys(err, errno, "cannot wait for the command");
        }
        if (info.si_pid == 0)
            return 0;
        note_end(job); /* before any wait for the session */
        job->is_waiting = notify_session(job, info.si_pid) < 0;
        if (job->is_waiting)
            return 0;
        if (info.si_pid == job->pid) {
            job->is_unreported = false;
            if (!job->options->waits_for_all)
                return 0;
            job->pid = 0;
        }
        child_reap(info.si_pid);
    }
}

static bool has_others(const struct supervision *job)
{
    pid_t children[CHILDREN_MAX];
    ssize_t n = 0;

    if (!job->has_children || job->options->inherited_count == 0)
        return job->has_children;
    n = process_children(job->options->root, getpid(), children, CHILDREN_MAX);
    for (ssize_t i = 0; i < n; i++) {
        siginfo_t info = { 0 };

        if (children[i] != job->pid && !is_inherited(job, children[i]) &&
            waitid(P_PID, (id_t)children[i], &info, WEXITED | WNOHANG | WNOWAIT) == 0)
            return true;
    }
    return n < 0;
}

static bool is_over(const struct supervision *job)
{
    return job->has_ended &&
           (!job->options->waits_for_all || !has_others(job) || job->is_cut_short);
}

static int watch_over(struct supervision *job, struct spoor_error *err)
{
    sigset_t signals;

    forward_signals(&signals);
    for (;;) {
        siginfo_t info;
        int r = collect(job, err);

        if (r < 0)
            return r;
        if (is_over(job))
            return 0;
        if (follow_stop(job))
            continue;
        /* While the session is busy, only pending signals are handled before the next
         * attempt. */
        if (sigtimedwait(&signals, &info, job->is_waiting ? &at_once : NULL) >= 0)
            handle_signal(job, &info);
    }
}

static bool has_end_signal(void)
{
    sigset_t signals;

    forward_end_signals(&signals);
    return sigtimedwait(&signals, NULL, &at_once) >= 0;
}

/* Takes the last figures and the last sample, with a time limit. */
static void stop_session(struct supervision *job)
{
    uint64_t deadline_ns = clock_now().monotonic_ns + STOP_MOST_NS;
    struct spoor_error err = { 0 };
    int r;

    if (!job->options->session)
        return;
    do {
        r = job->is_unreported ? notify_session(job, job->pid) : 0;
        job->is_unreported = r < 0;
        if (r == 0)
            r = spoor_session_stop_within(job->options->session, STOP_STEP_NS, &err);
    } while (r < 0 && clock_now().monotonic_ns < deadline_ns && !has_end_signal());
    if (r < 0)
        spoor_session_warn(job->options->session, "no-last-sample",
                           r == -ETIMEDOUT
                               ? err.message
                               : "the last sample is missing: a sample took too long");
}

static void allow_stops(void)
{
    sigset_t stops;

    stop_signals(&stops);
    (void)sigprocmask(SIG_UNBLOCK, &stops, NULL);
}

static struct supervise_end end_of(const struct supervision *job)
{
    return (struct supervise_end){
        .wait_status = job->wait_status,
        .monotonic_ns = job->ended_ns,
        .is_by_our_signal = WIFSIGNALED(job->wait_status) &&
                            sigismember(&job->received, WTERMSIG(job->wait_status)) == 1,
    };
}

int supervise(const struct supervise_options *options, struct supervise_end *ret,
              struct spoor_error *err)
{
    struct supervision job = {
        .options = options,
        .pid = options->pid,
        .has_children = true,
    };
    int r;

    (void)sigemptyset(&job.received);
    r = watch_over(&job, err);
    allow_stops(); /* Ctrl-Z stops us while the report is written */
    if (r == 0) {
        if (options->session)
            spoor_session_note_end(options->session);
        drain_stragglers(&job);
        stop_session(&job);
        if (job.pid)
            child_reap(job.pid);
        *ret = end_of(&job);
    }
    return r;
}

/* ---- a command under a session ------------------------------------------ */

static void warn_untracked(const struct track_options *options, const char *why)
{
    char message[sizeof(((struct spoor_error *)0)->message) + 32];

    (void)snprintf(message, sizeof(message), "the job runs untracked: %s", why); /* fits */
    options->warn(message);
}

enum { INHERITED_MAX = 256 };

/* Opens and starts a session on the child at its gate. Fails if the user required something
 * unavailable. Otherwise the job runs, with *ret NULL if it is not tracked. */
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
        warn_untracked(options, err->message);
    *ret = session;
    return 0;
}

static struct tracked watch_job(const struct track_options *options,
                                const struct supervise_options *supervision,
                                uint64_t released_ns)
{
    spoor_session *session = supervision->session;
    struct tracked tracked = { .session = session,
                               /* The status if it stays unknown. */
                               .end.wait_status = 125 << 8 };
    struct spoor_error err = { 0 };

    if (session && options->started)
        options->started(options->started_data, session, supervision->pid);
    if (session) {
        spoor_session_release_samples(session);
        (void)spoor_session_sample(session, NULL); /* on failure, the next sample comes soon */
    }
    tracked.end.monotonic_ns = released_ns;
    if (supervise(supervision, &tracked.end, &err) < 0)
        options->warn(err.message);
    tracked.elapsed_ns = tracked.end.monotonic_ns - released_ns;
    return tracked;
}

/* Starts the listener before the command runs, so that the command finds it. */
static void start_listener(const struct track_options *options, const struct root *root,
                           struct job_run *run, struct job_listener *ret)
{
    struct spoor_error err;

    if (run->session && options->takes_phases && phase_listener_start(ret, root, run, &err) < 0)
        spoor_session_warn(run->session, "phases", err.message);
}

enum track_outcome track(struct track_options *options, struct tracked *ret,
                         struct spoor_error *err)
{
    CLEANUP(job_listener_stop) struct job_listener listener = { 0 };
    CLEANUP(root_close) struct root root = ROOT_CLOSED;
    pid_t inherited[INHERITED_MAX];
    struct supervise_options supervision = options->supervision;
    struct job_run run = { .options = &options->session };
    struct spawn spawn;
    int r;

    supervision.inherited = inherited;
    supervision.inherited_count = process_own_children(inherited, INHERITED_MAX);
    if (spawn_start(options->command, &spawn, err) < 0)
        return TRACK_REFUSED;
    if ((options->prepare && options->prepare(options->prepare_data, spawn.pid, err) < 0) ||
        start_session(options, spawn.pid, &run.session, err) < 0) {
        spawn_cancel(&spawn);
        return TRACK_REFUSED;
    }
    (void)root_open(NULL, &root); /* on failure, the job has no listener */
    run.started_ns = clock_now().monotonic_ns;
    start_listener(options, &root, &run, &listener);
    r = spawn_release(&spawn);
    if (r < 0) {
        job_listener_stop(&listener);
        spoor_session_close(run.session);
        (void)error_sys(err, r, "cannot run '%s'", options->command[0]);
        return TRACK_NO_EXEC;
    }
    supervision.root = &root;
    supervision.pid = spawn.pid;
    supervision.session = run.session;
    *ret = watch_job(options, &supervision, run.started_ns);
    ret->why = err->message;
    return TRACK_RAN;
}
