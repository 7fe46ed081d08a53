/* SPDX-License-Identifier: Apache-2.0 */
#include "session/session.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/amount.h"
#include "base/clock.h"
#include "base/helper.h"
#include "session/pace.h"

/* How long a caller waits for a requested sample while the session is being stopped. */
#define STOPPING_MOST_NS (200 * NS_PER_MS)

/* Process events due at about the time of a glance are read together with it: on an idle
 * virtual machine a wake-up costs 50 us of CPU time, more than either reading. */
#define TOGETHER_NS (5 * NS_PER_MS)

/* Returns when to read process events; PACE_NEVER: there is no source of events. */
static uint64_t events_due_ns(const struct process_events *events, const struct pace *pace)
{
    /* While the job is idle, events belong to other processes: the buffer may fill up more. */
    unsigned patience = pace->state == JOB_RESTS ? 4 : 1;
    uint64_t due_ns = events->drained_ns + patience * events->drain_gap_ns;

    if (!events->source)
        return PACE_NEVER;
    return abs_diff(due_ns, pace->glance_ns) <= TOGETHER_NS ? pace->glance_ns : due_ns;
}

/* Returns when the thread must wake up next. While samples are held, only the first one is
 * taken, because the streams would lack the rows of others; releasing the samples wakes this
 * thread. For the sampler's user. */
static uint64_t next_wake_ns(const spoor_session *session, struct pace *pace)
{
    const struct job *job = &session->sampler.job;
    uint64_t due_ns = events_due_ns(&job->process_events, pace);
    uint64_t pace_ns;

    pace->has_no_sentinel =
        launch_ranks_here(&session->run.launch) > 1 && job->started_count == 1;
    pace->has_connections = job->network.connections > 0;
    pace_ns = session->holds_samples ? pace_glance_ns(pace) : pace_wake_ns(pace);
    due_ns = smaller(due_ns, job_network_due_ns(job));
    return smaller(smaller(pace_ns, due_ns), session_gpus_due_ns(session));
}

/* Waits until then, or until another thread calls wake_thread(). */
static void wait_until(const spoor_session *session, uint64_t wake_ns)
{
    struct pollfd fd = { .fd = session->wake_fd, .events = POLLIN };
    struct timespec timeout = clock_time_until(wake_ns);
    uint64_t count;

    /* All signals are blocked here: no EINTR. */
    if (ppoll(&fd, 1, &timeout, NULL) > 0)
        (void)!read(session->wake_fd, &count, sizeof(count));
}

/* Returns the CPU time charged for this thread. Looks at GPUs run in another thread. */
static uint64_t own_spent_ns(const spoor_session *session)
{
    const struct budget *budget = &session->sampler.job.budget;
    uint64_t sum_ns = 0;

    for (int i = 0; i < SPENDING_COUNT; i++)
        sum_ns += budget->spent_ns[i];
    return sum_ns - session->gpu_looks.cost_ns;
}

/* Measures the CPU time of an action, to charge it afterwards. */
struct bill {
    uint64_t cpu_ns;   /* CPU time of this thread at the beginning */
    uint64_t spent_ns; /* CPU time charged before */
};

static struct bill open_bill(const spoor_session *session)
{
    return (struct bill){ cpu_spent_ns(&session->root), own_spent_ns(session) };
}

/* Returns the CPU time not charged yet, which the caller charges, and restarts the bill. */
static uint64_t unpaid_ns(const spoor_session *session, struct bill *bill)
{
    struct bill next = open_bill(session);
    uint64_t cost_ns = sub_floor0(next.cpu_ns - bill->cpu_ns, next.spent_ns - bill->spent_ns);

    *bill = (struct bill){ next.cpu_ns, next.spent_ns + cost_ns };
    return cost_ns;
}

static uint64_t charge(spoor_session *session, struct bill *bill, enum spending what)
{
    uint64_t cost_ns = unpaid_ns(session, bill);

    budget_charge(&session->sampler.job.budget, what, cost_ns);
    return cost_ns;
}

/* Reads the sentinel. The cost is fixed and small, so it takes no tokens from the budget. */
static void watch_memory(spoor_session *session, struct pace *pace, struct bill *bill)
{
    struct job *job = &session->sampler.job;
    bool has_grown = job_watch_memory(job);

    job->budget.spent_ns[SPENT_GLANCES] += unpaid_ns(session, bill);
    pace_watched(pace, clock_now().monotonic_ns, has_grown, job->sentinel.has_settled,
                 &job->budget);
}

/* A sample this late means that the tracker was stopped or the machine is very busy. */
#define GAP_NS (100 * NS_PER_MS)

/* Takes no sample if the job ended while the tracker was stopped: the last sample covers the
 * job's end. The tracker may have been stopped since it woke up, or during a sample. A tracker
 * stops along with a job that it started, but only until the job ends. */
static void take_sample(spoor_session *session, enum sample_kind kind, const struct pace *pace)
{
    struct job *job = &session->sampler.job;
    struct instant now = clock_now();
    bool follows_gap = sub_floor0(now.monotonic_ns, pace->deadline_ns) > GAP_NS;

    if (follows_gap)
        job_take_events(job, now.monotonic_ns, false);
    session->missed_end = session_job_ended_ns(session) != 0 &&
                          (session->missed_end || follows_gap || job->is_spawned);
    if (!session->missed_end)
        session_take_sample(session, now, kind);
}

static void take_requested_sample(spoor_session *session, const struct pace *pace)
{
    uint64_t asked, given;

    pthread_mutex_lock(&session->mutex);
    asked = session->requested_samples;
    given = session->taken_samples;
    pthread_mutex_unlock(&session->mutex);
    if (asked == given)
        return;
    session_look_at_gpus_at_border(session);
    take_sample(session, SAMPLE_BORDER, pace);
    SESSION_LOCK(session);
    session->taken_samples = asked;
    (void)pthread_cond_broadcast(&session->changed);
}

/* Whether SIGCONT has just continued us. A caller that blocks SIGCONT, and was stopped by
 * another process, calls spoor_session_note_stop() only when it handles the signal, which may
 * be after the first sample. */
static bool was_just_continued(void)
{
    sigset_t pending;

    return sigpending(&pending) == 0 && sigismember(&pending, SIGCONT) == 1;
}

static void take_due_sample(spoor_session *session, struct pace *pace)
{
    unsigned stop_changes;
    uint64_t missed;

    take_sample(session, SAMPLE_REGULAR, pace);
    missed = pace_sampled(pace, clock_now().monotonic_ns);
    stop_changes = session->stop_changes;
    if (missed > 0 && stop_changes % 2 == 0 && stop_changes == pace->stop_changes &&
        !was_just_continued())
        session->late_samples += missed;
    pace->stop_changes = stop_changes;
}

static void glance(spoor_session *session, struct pace *pace, struct bill *bill)
{
    struct job *job = &session->sampler.job;
    bool is_whole = job->sentinel.has_settled; /* costs more than others will */
    uint64_t cost_ns, now_ns;

    job_glance(&session->sampler.job, clock_now().monotonic_ns);
    cost_ns = unpaid_ns(session, bill);
    (pace->is_on_credit ? budget_borrow : budget_charge)(&job->budget, SPENT_GLANCES, cost_ns);
    now_ns = clock_now().monotonic_ns;
    pace_glanced(pace, now_ns, is_whole ? pace->cost_ns : cost_ns,
                 activity_state(&job->activity), &job->budget);
    if (session->holds_samples || !pace_wants_sample(pace, now_ns, &job->budget))
        return;
    take_sample(session, SAMPLE_EARLY, pace);
    pace_sampled_early(pace, now_ns, charge(session, bill, SPENT_SAMPLES));
}

/* Does everything that is due. The CPU time of sleeping and waking up is charged to the first
 * action afterwards. */
static void wake_up(spoor_session *session, struct pace *pace, struct bill *bill)
{
    struct job *job = &session->sampler.job;
    uint64_t now_ns = clock_now().monotonic_ns;

    if (now_ns >= events_due_ns(&job->process_events, pace)) {
        job_take_events(job, now_ns, false);
        (void)charge(session, bill, SPENT_EVENTS);
    }
    session_begin_delivery(session);
    take_requested_sample(session, pace);
    if (now_ns >= pace->deadline_ns && !session->holds_samples) {
        take_due_sample(session, pace);
        (void)charge(session, bill, SPENT_SAMPLES);
    }
    if (now_ns >= pace_glance_ns(pace) && now_ns < pace->glance_ns)
        watch_memory(session, pace, bill);
    if (clock_now().monotonic_ns >= pace->glance_ns)
        glance(session, pace, bill);
    if (job_look_at_network(job, now_ns, false))
        (void)charge(session, bill, SPENT_NETWORK);
    if (session_look_at_gpus(session, now_ns))
        (void)charge(session, bill, SPENT_GPUS);
}

static void sample_until_stopped(spoor_session *session)
{
    struct pace pace;
    struct bill bill;
    uint64_t wake_ns;

    pace_init(&pace, session->sampler.started.monotonic_ns, session->interval_ns,
              session->sampler.job.is_tracked);
    pace.is_fine_at_first = session->flags & SPOOR_FINE_AT_FIRST;
    pace_stagger(&pace, session->run.launch.local_rank, session->run.launch.local_ranks);
    if (session->second_sample_ns != 0)
        pace.deadline_ns = session->second_sample_ns;
    (void)session_begin_sampling(session, FOREVER_NS);
    bill = open_bill(session);
    session_start_gpus(session); /* started here, so that it does not delay the job's start */
    wake_ns = next_wake_ns(session, &pace);
    session_end_sampling(session);
    for (;;) {
        wait_until(session, wake_ns);
        if (session->must_stop)
            break;
        (void)session_begin_sampling(session, FOREVER_NS);
        wake_up(session, &pace, &bill);
        wake_ns = next_wake_ns(session, &pace);
        session_end_sampling(session);
    }
    (void)session_begin_sampling(session, FOREVER_NS);
    session_begin_last_look_at_gpus(session); /* runs in parallel with the last sample */
    session_take_last_sample(session);
    (void)charge(session, &bill, SPENT_SAMPLES);
    pthread_mutex_lock(&session->mutex);
    session->budget = session->sampler.job.budget;
    pthread_mutex_unlock(&session->mutex);
    session_end_sampling(session);
}

static void *run(void *data)
{
    spoor_session *session = data;
    bool is_abandoned;

    sample_until_stopped(session);
    pthread_mutex_lock(&session->mutex);
    session->has_ended = true;
    is_abandoned = session->is_abandoned;
    (void)pthread_cond_broadcast(&session->changed);
    pthread_mutex_unlock(&session->mutex);
    if (is_abandoned)
        session_free(session);
    return NULL;
}

/* ---- for other threads ---------------------------------------------------- */

int thread_start(spoor_session *session)
{
    int r;

    session->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (session->wake_fd < 0)
        return -errno;
    pthread_mutex_lock(&session->mutex);
    r = thread_start_quiet(&session->thread, run, session);
    session->has_thread = r == 0;
    pthread_mutex_unlock(&session->mutex);
    if (r < 0) {
        close(session->wake_fd);
        session->wake_fd = -1;
    }
    return r;
}

/* Must be called with the mutex held. */
static void wake_thread(spoor_session *session)
{
    uint64_t one = 1;

    (void)!write(session->wake_fd, &one, sizeof(one)); /* the counter cannot overflow */
}

void spoor_session_release_samples(spoor_session *session)
{
    SESSION_LOCK(session);
    session->holds_samples = false;
    if (session->has_thread)
        wake_thread(session);
}

bool thread_hangs(spoor_session *session)
{
    uint64_t since_ns = session->sampling_since_ns;

    return since_ns != 0 && sub_floor0(clock_now().monotonic_ns, since_ns) >= THREAD_HANGS_NS;
}

int session_request_sample(spoor_session *session)
{
    struct timespec until = clock_timespec(clock_now().monotonic_ns + THREAD_HANGS_NS);
    bool is_stopping = false;
    uint64_t number;
    int r = 0;

    if (!session->has_thread || session->must_stop)
        return -EINVAL;
    number = ++session->requested_samples;
    wake_thread(session);
    while (session->taken_samples < number && !session->has_ended && r != ETIMEDOUT) {
        /* The session is being stopped, and the caller may delay the exit of the program. */
        if (session->must_stop && !is_stopping)
            until = clock_timespec(clock_now().monotonic_ns + STOPPING_MOST_NS);
        is_stopping = session->must_stop;
        r = pthread_cond_timedwait(&session->changed, &session->mutex, &until);
    }
    return session->taken_samples < number && !session->has_ended ? -ETIMEDOUT : 0;
}

bool thread_stop(spoor_session *session, uint64_t timeout_ns)
{
    struct timespec until = clock_timespec(clock_now().monotonic_ns + timeout_ns);
    bool has_ended, must_join;
    int r = 0;

    pthread_mutex_lock(&session->mutex);
    if (session->has_thread && !session->must_stop) {
        session->must_stop = true;
        wake_thread(session);
        /* Wakes callers that wait for a sample. */
        (void)pthread_cond_broadcast(&session->changed);
    }
    while (session->has_thread && !session->has_ended && r != ETIMEDOUT)
        r = pthread_cond_timedwait(&session->changed, &session->mutex, &until);
    has_ended = !session->has_thread || session->has_ended;
    must_join = session->has_thread && has_ended;
    session->has_thread &= !must_join;
    pthread_mutex_unlock(&session->mutex);
    /* The caller may fork, as `spoor run` does to write its report. If the thread is exiting
     * at that moment, the child never gets the lock of AddressSanitizer's allocator. */
    if (must_join)
        (void)pthread_join(session->thread, NULL);
    return has_ended;
}

bool thread_leave(spoor_session *session)
{
    bool has_thread = session->has_thread; /* no other thread uses the session now */
    pthread_t thread = session->thread;
    bool has_ended;

    pthread_mutex_lock(&session->mutex);
    has_ended = !has_thread || session->has_ended;
    session->is_abandoned = !has_ended;
    pthread_mutex_unlock(&session->mutex);
    if (!has_ended)
        (void)pthread_detach(thread);
    else if (has_thread)
        (void)pthread_join(thread, NULL);
    return has_ended;
}
