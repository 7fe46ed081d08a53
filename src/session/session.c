/* SPDX-License-Identifier: Apache-2.0 */
/* session.c - options and life of a session: open, start, sample, stop, close. */
#include "session/session.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/amount.h"
#include "base/cleanup.h"
#include "base/environment.h"
#include "base/error.h"
#include "base/helper.h"
#include "cgroup/cgroup.h"
#include "record/record.h"
#include "source/proc/pid_files.h"

/* With this many trackers on a machine, sources that report all processes of the machine cost
 * too much. */
enum { CROWDED_RANKS = 16 };

/* How long to wait for a sample in progress before an exited child is accounted. */
#define CHILD_MOST_NS (5 * NS_PER_MS)
/* If the last sample is later than this after the end of the job, it is dated back to that
 * end. */
#define LATE_NS (100 * NS_PER_MS)

const char *spoor_version(void)
{
    return SPOOR_VERSION;
}

/* ---- options ------------------------------------------------------------ */

static int check_job(const struct spoor_options *options, struct spoor_error *err)
{
    if (options->pid < 0)
        return error_set(err, EINVAL, "invalid process ID %d: must not be negative",
                         (int)options->pid);
    if (options->pid == 0 && options->flags & (SPOOR_CALLER_SPAWNED | SPOOR_MAIN_ONLY))
        return error_set(err, EINVAL, "missing process ID");
    if (options->flags & SPOOR_TRACK_CGROUP && (options->pid != 0 || !options->cgroup_folder))
        return error_set(err, EINVAL, "to track a cgroup, name it and no process");
    if (options->flags & SPOOR_MAIN_ONLY && options->flags & SPOOR_CALLER_SPAWNED)
        return error_set(err, EINVAL,
                         "SPOOR_MAIN_ONLY and SPOOR_CALLER_SPAWNED cannot be combined");
    return 0;
}

/* Copies and checks options. Accepts a caller built against an older, shorter struct. */
static int copy_options(const struct spoor_options *from, struct spoor_options *ret,
                        struct spoor_error *err)
{
    struct spoor_options options = SPOOR_OPTIONS_INIT;

    if (from->size < sizeof(from->size) || from->size > sizeof(options))
        return error_set(err, EINVAL,
                         "invalid options size %zu: initialize them with SPOOR_OPTIONS_INIT",
                         from->size);
    memcpy(&options, from, from->size);
    if (check_job(&options, err) < 0)
        return -EINVAL;
    if (options.interval_ns < SPOOR_INTERVAL_MIN_NS ||
        options.interval_ns > SPOOR_INTERVAL_MAX_NS)
        return error_set(err, EINVAL, "invalid interval %llu ns: must be 1 ms to 1 h",
                         (unsigned long long)options.interval_ns);
    if ((unsigned)options.cgroup > SPOOR_CGROUP_REQUIRE)
        return error_set(err, EINVAL, "invalid cgroup mode %d", (int)options.cgroup);
    if ((unsigned)options.detail > SPOOR_DETAIL_NEVER)
        return error_set(err, EINVAL, "invalid detail mode %d", (int)options.detail);
    if (options.id && (strlen(options.id) != RUN_ID_SIZE - 1 ||
                       options.id[strspn(options.id, "0123456789abcdef")] != '\0'))
        return error_set(err, EINVAL, "invalid ID of the run: must be 32 hexadecimal digits");
    if (options.gpus && gpu_choice_check(options.gpus, err) < 0)
        return error_prefix(err, EINVAL, "gpus");
    *ret = options;
    return 0;
}

int session_open_root(const char *path, struct root *ret, struct spoor_error *err)
{
    int r = root_open(path, ret);

    return r < 0 ? error_sys(err, r, "root directory '%s'", path ? path : "/") : 0;
}

int session_read_disabled(unsigned *ret, struct spoor_error *err)
{
    const char *unknown;

    if (sources_parse(getenv("SPOOR_DISABLE"), ret, &unknown) < 0)
        return error_set(err, EINVAL, "SPOOR_DISABLE: unknown source '%s'", unknown);
    return 0;
}

int session_job_options(const struct spoor_options *options, struct job_options *ret,
                        struct spoor_error *err)
{
    *ret = (struct job_options){
        .pid = options->pid,
        .caller_spawned = options->flags & SPOOR_CALLER_SPAWNED,
        .is_main_only = options->flags & SPOOR_MAIN_ONLY,
        .has_counters = options->flags & SPOOR_COUNTERS,
        .detail = options->detail,
        .cgroup = options->cgroup,
        .cgroup_folder = options->cgroup_folder,
        .budget_millionths =
            options->budget_millionths != 0 ? options->budget_millionths : BUDGET_MILLIONTHS,
        .environment = environment_own,
    };
    return session_read_disabled(&ret->disabled, err);
}

/* ---- open --------------------------------------------------------------- */

/* Checks that a PID belongs to a process. A thread has a /proc folder too, which looks like a
 * process's. */
static int check_process(const struct root *root, pid_t pid, bool is_child,
                         struct spoor_error *err)
{
    struct pid_status status;
    int r;

    if (pid == 0 || (root->proc_fault && is_child))
        return 0;
    if (root->proc_fault)
        return error_set(err, ESRCH, "cannot see process %d: %s", (int)pid, root->proc_fault);
    r = pid_status_read(root, pid, &status);
    if (r == -ENOENT || r == -ESRCH)
        return error_set(err, ESRCH, "no such process: %d", (int)pid);
    if (r < 0)
        return error_sys(err, r, "process %d", (int)pid);
    if (status.thread_group != (uint64_t)pid)
        return error_set(err, EINVAL,
                         "%d is a thread of process %llu: use the PID of the process", (int)pid,
                         (unsigned long long)status.thread_group);
    return 0;
}

static int open_sampler(spoor_session *session, const struct spoor_options *options,
                        struct spoor_error *err)
{
    struct job_options job;
    struct cgroups cgroups;
    struct cgroup adopted;
    int r = session_job_options(options, &job, err);

    if (r == 0 && options->flags & SPOOR_TRACK_CGROUP) {
        r = cgroup_directory_find(&session->root, options->cgroup_folder, &adopted, &cgroups,
                                  err);
        job.adopted = &adopted;
        job.cgroups = &cgroups;
    }
    if (r < 0)
        return r;
    session->disabled = job.disabled;
    if (launch_ranks_here(&session->run.launch) >= CROWDED_RANKS)
        job.disabled |= SOURCE_CONNECTOR | SOURCE_TASKSTATS;
    session->may_have_gpus = gpu_looks_are_needed(&session->root, options->gpus, job.disabled);
    r = sampler_init(&session->sampler, &session->root, &job, clock_now());
    if (r == -ENOTSUP)
        return error_set(err, ENOTSUP, "cannot create a cgroup for the job%s%s: %s",
                         options->cgroup_folder ? " below " : "",
                         options->cgroup_folder ? options->cgroup_folder : "",
                         session->sampler.job.meters.job_cgroup.reason);
    if (r < 0)
        return error_sys(err, r, "process %d", (int)options->pid);
    session->has_sampler = true;
    for (size_t i = 0; i < session->stream_count; i++)
        session->sampler.host.counts_processes |= session->streams[i].stream.counts_processes;
    return 0;
}

/* Copies the option --gpus. Without a job, all GPUs of the machine are read. */
static int copy_gpus(spoor_session *session, const struct spoor_options *options)
{
    bool has_job = options->pid != 0 || options->flags & SPOOR_TRACK_CGROUP;
    const char *gpus = !has_job && !options->gpus ? "all" : options->gpus;

    session->gpus = gpus ? strdup(gpus) : NULL;
    return gpus && !session->gpus ? -ENOMEM : 0;
}

/* Returns the process whose CPU affinity limits the job. Without a job, returns this process,
 * whose affinity a job started here would inherit. */
static pid_t process_for_limits(const spoor_session *session)
{
    const struct roster *roster = &session->sampler.job.roster;

    return roster->count > 0 ? roster->list[0].id.pid : getpid();
}

static int open_streams(spoor_session *session, const struct spoor_options *options,
                        struct spoor_error *err)
{
    if (options->stream_count > SPOOR_STREAMS_MAX)
        return error_set(err, EINVAL, "at most %d streams are allowed", SPOOR_STREAMS_MAX);
    for (size_t i = 0; i < options->stream_count; i++) {
        struct samples_file *file = &session->streams[session->stream_count++];
        int r = samples_file_open(file, &options->streams[i], options, err);

        if (r < 0)
            return r;
        file->facts.run_id = session->run.id;
    }
    return 0;
}

static int open_parts(spoor_session *session, const struct spoor_options *options,
                      struct spoor_error *err)
{
    int r = session_open_root(options->root, &session->root, err);

    if (r < 0)
        return r;
    r = check_process(&session->root, options->pid, options->flags & SPOOR_CALLER_SPAWNED, err);
    if (r < 0)
        return r;
    r = run_facts_init(&session->run, options, &session->root);
    if (r == 0)
        r = series_init(&session->series, SERIES_POINTS);
    if (r == 0)
        r = copy_gpus(session, options);
    if (r < 0)
        return error_set(err, ENOMEM, "out of memory");
    r = open_streams(session, options, err);
    if (r < 0)
        return r;
    r = open_sampler(session, options, err);
    if (r < 0)
        return r;
    host_facts_read(&session->root, &session->host);
    limits_read(&session->root, process_for_limits(session), &session->host,
                session->sampler.has_cgroups ? &session->sampler.cgroups : NULL,
                environment_own, &session->limits);
    session_init_summary(session, &session->summary);
    return 0;
}

/* Early samples have rates over 100 ms. */
#define FINE_INTERVAL_NS (200 * NS_PER_MS)

void session_init_summary(const spoor_session *session, struct summary *ret)
{
    summary_init(ret, session->flags & SPOOR_FINE_AT_FIRST
                          ? smaller(session->interval_ns, FINE_INTERVAL_NS)
                          : session->interval_ns);
    ret->grams_per_joule = session->grams_per_joule;
}

static void close_session(spoor_session **session)
{
    (void)spoor_session_close(*session);
}

int spoor_session_open(const struct spoor_options *options, spoor_session **ret,
                       struct spoor_error *err)
{
    CLEANUP(close_session) spoor_session *session = NULL;
    struct spoor_options copy;
    int r = copy_options(options, &copy, err);

    if (r < 0)
        return r;
    session = calloc(1, sizeof(*session));
    if (!session)
        return error_set(err, ENOMEM, "out of memory");
    session->pid = copy.pid;
    session->own_pid = getpid();
    session->flags = copy.flags;
    session->holds_samples = copy.flags & SPOOR_HOLD_SAMPLES;
    session->interval_ns = copy.interval_ns;
    session->grams_per_joule = copy.co2e_grams_per_kwh / 3.6e6;
    session->second_sample_ns = copy.second_sample_ns;
    session->sample_seen = copy.sample_seen;
    session->sample_data = copy.sample_data;
    session->root = (struct root)ROOT_CLOSED;
    session->wake_fd = -1;
    (void)pthread_mutex_init(&session->mutex, NULL); /* cannot fail with defaults */
    condition_init(&session->changed);
    session->warnings = calloc(WARNINGS_MAX, sizeof(*session->warnings));
    if (!session->warnings)
        return error_set(err, ENOMEM, "out of memory");
    r = open_parts(session, &copy, err);
    if (r < 0)
        return r;
    *ret = take_ptr(session);
    return 0;
}

void session_free(spoor_session *session)
{
    session_end_gpus(session);
    for (size_t i = 0; i < session->stream_count; i++)
        samples_file_close(&session->streams[i]);
    if (session->has_sampler)
        sampler_done(&session->sampler);
    if (session->wake_fd >= 0)
        close(session->wake_fd);
    series_done(&session->series);
    devices_done(&session->first_devices);
    devices_done(&session->devices);
    space_done(&session->space);
    run_facts_done(&session->run);
    root_close(&session->root);
    (void)pthread_mutex_destroy(&session->mutex);
    (void)pthread_cond_destroy(&session->changed);
    free(session->gpus);
    free(session->processes);
    free(session->phases);
    free(session->warnings);
    free(session);
}

spoor_session *spoor_session_close(spoor_session *session)
{
    if (!session)
        return NULL;
    /* An earlier stop has already waited for the thread. */
    (void)spoor_session_stop_within(session, session->must_stop ? 0 : THREAD_HANGS_NS, NULL);
    if (thread_leave(session))
        session_free(session);
    return NULL;
}

/* ---- sample ------------------------------------------------------------- */

static void publish(spoor_session *session, const struct sample *sample, struct instant now,
                    bool is_last)
{
    struct series_gpus gpus;
    SESSION_LOCK(session);

    session->latest = *sample;
    session->has_sample = true;
    session_add_gpus(session, now, is_last);
    session->detail_reads = session->sampler.job.sharing.reads;
    session->budget = session->sampler.job.budget;
    summary_add(&session->summary, &session->latest);
    gpus = series_gpus_of(&session->gpu);
    series_append(&session->series, &session->latest, &session->summary, &gpus);
    for (size_t i = 0; i < session->phase_count; i++) {
        if (session->phases[i].is_open)
            summary_add(&session->phases[i].summary, &session->latest);
    }
    session_forget_uncertain_gpus(session);
}

bool session_begin_sampling(spoor_session *session, uint64_t timeout_ns)
{
    uint64_t now_ns = clock_now().monotonic_ns;
    struct timespec until = clock_timespec(sum_u64(now_ns, timeout_ns));
    int r = 0;
    SESSION_LOCK(session);

    while (session->sampling_since_ns != 0 && r != ETIMEDOUT)
        r = pthread_cond_timedwait(&session->changed, &session->mutex, &until);
    if (session->sampling_since_ns != 0)
        return false;
    session->sampling_since_ns = clock_now().monotonic_ns;
    return true;
}

void session_end_sampling(spoor_session *session)
{
    SESSION_LOCK(session);
    session->sampling_since_ns = 0;
    (void)pthread_cond_broadcast(&session->changed);
}

void session_take_sample(spoor_session *session, struct instant now, enum sample_kind kind)
{
    bool is_last = kind == SAMPLE_LAST;
    struct sample sample;

    session_begin_delivery(session);
    sampler_tick(&session->sampler, now, kind, &sample);
    if (is_last)
        session_wait_for_gpus(session);
    publish(session, &sample, now, is_last);
    if (session->delivers_samples)
        session_deliver_sample(session, kind);
}

/* Reads the devices at the first or last sample, if there is no job. For the sampler's user. */
static void read_devices(spoor_session *session)
{
    uint64_t now_ns = clock_now().monotonic_ns;
    struct devices devices = { 0 };

    if (session->sampler.job.is_tracked ||
        devices_read(&session->root, &session->space, &devices) < 0)
        return;
    SESSION_LOCK(session);
    devices_done(&session->first_devices);
    session->first_devices = session->devices;
    session->devices = devices;
    session->devices_span_ns = session->devices_ns != 0 ? now_ns - session->devices_ns : 0;
    session->devices_ns = now_ns;
}

uint64_t session_job_ended_ns(const spoor_session *session)
{
    uint64_t ended_ns = process_events_ended_ns(&session->sampler.job.process_events);

    return !session->outlives_job && ended_ns + LATE_NS < clock_now().monotonic_ns ? ended_ns
                                                                                   : 0;
}

/* Returns when the run ended: when its job ended, but not before the latest sample, during
 * which the tracker may have been stopped. */
static struct instant end_of_run(spoor_session *session)
{
    uint64_t latest_ns = session->sampler.started.monotonic_ns + session->latest.elapsed_ns;
    struct instant end, now = clock_now();
    uint64_t ended_ns;

    process_events_drain(&session->sampler.job.process_events, true);
    ended_ns = session_job_ended_ns(session);
    pthread_mutex_lock(&session->mutex);
    end = session->end.monotonic_ns != 0 ? session->end : now;
    pthread_mutex_unlock(&session->mutex);
    if (ended_ns == 0 || ended_ns > end.monotonic_ns)
        ended_ns = end.monotonic_ns;
    raise_to(&ended_ns, latest_ns);
    end.realtime_ns += ended_ns - end.monotonic_ns;
    end.monotonic_ns = ended_ns;
    return end;
}

void session_take_last_sample(spoor_session *session)
{
    struct instant now = clock_now(), end = end_of_run(session);

    /* Delays between the end of the job and this sample do not belong to the run. */
    if (now.monotonic_ns > end.monotonic_ns + LATE_NS)
        now = end;
    session_take_sample(session, now, SAMPLE_LAST);
    read_devices(session);
    for (size_t i = 0; i < session->stream_count; i++)
        samples_file_end(&session->streams[i]);
    /* Called without the mutex: it may take a second per folder. */
    job_cgroup_remove(&session->sampler.job.meters.job_cgroup);
    SESSION_LOCK(session);
    for (size_t i = 0; i < session->phase_count; i++)
        session->phases[i].is_open = false;
    session_raise_gpu_peak(session);
    session_warn(session);
    session->has_stopped = true;
}

/* ---- for callers ---------------------------------------------------------- */

int spoor_session_start(spoor_session *session, struct spoor_error *err)
{
    int r;

    if (atomic_exchange(&session->has_begun, true))
        return error_set(err, EALREADY, "the session was already started");
    (void)session_begin_sampling(session, FOREVER_NS);
    session_take_sample(session, clock_now(), SAMPLE_REGULAR);
    read_devices(session);
    session_end_sampling(session);
    r = thread_start(session);
    if (r == 0)
        return 0;
    session->has_begun = false;
    return error_sys(err, r, "cannot start the sampling thread");
}

int spoor_session_sample(spoor_session *session, struct spoor_error *err)
{
    SESSION_LOCK(session);
    int r = session_request_sample(session);

    if (r == -EINVAL)
        return error_set(err, EINVAL, "the session is not running");
    return r < 0 ? error_set(err, ETIMEDOUT, "the sampling thread hangs") : 0;
}

int spoor_session_child_ended(spoor_session *session, pid_t pid)
{
    if (!session_begin_sampling(session, CHILD_MOST_NS))
        return thread_hangs(session) ? 0 : -EAGAIN;
    if (!session->has_stopped) {
        job_child_ended(&session->sampler.job, pid, clock_now().monotonic_ns);
        session_note_gpu_process_end(session, pid);
    }
    session_end_sampling(session);
    return 0;
}

void spoor_session_note_stop(spoor_session *session, bool is_stopping)
{
    session->stop_changes = (session->stop_changes | 1) + (is_stopping ? 2 : 1);
}

void spoor_session_note_end(spoor_session *session)
{
    SESSION_LOCK(session);
    session->end = clock_now();
}

void spoor_session_set_wait_status(spoor_session *session, int wait_status)
{
    SESSION_LOCK(session);
    session->wait_status = wait_status;
    session->has_wait_status = true;
}

int spoor_session_stop_within(spoor_session *session, uint64_t timeout_ns,
                              struct spoor_error *err)
{
    return thread_stop(session, timeout_ns) ? 0
                                            : error_set(err, ETIMEDOUT,
                                                        "the last sample is missing: the "
                                                        "sampling thread hangs");
}

int spoor_session_stop(spoor_session *session, struct spoor_error *err)
{
    return spoor_session_stop_within(session, THREAD_HANGS_NS, err);
}
