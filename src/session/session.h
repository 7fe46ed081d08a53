/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session.h - the parts of a session, for the files of this folder.
 *
 * The mutex guards the results of samples for callers, and the requests of callers to the
 * sampling thread. Nothing that may block is done while it is held. Atomic members are also
 * read without it.
 *
 * The sampler has one user at a time: between session_begin_sampling() and
 * session_end_sampling(), without the mutex. Its work may take long, or hang in a file of
 * /proc; other threads that need the sampler wait for a limited time only.
 */
#pragma once

#include <limits.h>
#include <pthread.h>
#include <stdbool.h>

#include "base/clock.h"
#include "base/root.h"
#include "job/gpu/gpu_view.h"
#include "record/fill.h"
#include "record/launch.h"
#include "record/record.h"
#include "sample/sampler.h"
#include "series/series.h"
#include "series/summary.h"
#include "session/gpu_looks.h"
#include "session/gpu_pace.h"
#include "session/samples_file.h"
#include "source/host/devices.h"
#include "source/host/facts.h"
#include "spoor/spoor.h"
#include "text/text_list.h"

/* Name, user, command and launcher of a run: see run_facts.c. */
struct run_facts {
    char id[RUN_ID_SIZE];
    char *name; /* NULL: none */
    struct text_list tags;
    struct text_list command; /* empty: not known */
    char user[64];            /* empty: not known */
    char cwd[PATH_MAX];       /* empty: not known */
    char *environment;        /* holds the texts of `launch` */
    struct launch launch;
};

/* Copies the options and reads the rest from the kernel. Fails only with -ENOMEM. The caller
 * must call run_facts_done(), even after a failure. */
int run_facts_init(struct run_facts *facts, const struct spoor_options *options,
                   const struct root *root);
void run_facts_done(struct run_facts *facts);

struct spoor_session {
    /* Members that are fixed when the session is opened. */
    pid_t pid;
    pid_t own_pid; /* PID of the tracker: its child may write the report */
    unsigned flags;
    uint64_t interval_ns;
    double grams_per_joule;    /* grams of CO2 equivalent; 0: unknown */
    uint64_t second_sample_ns; /* as in the options */
    struct root root;
    struct run_facts run;
    struct host_facts host;
    struct limits limits;
    char *gpus; /* as in the options; NULL: use the environment */
    unsigned disabled;
    spoor_sample_seen *sample_seen; /* NULL: none */
    void *sample_data;

    bool may_have_gpus; /* GPUs may exist, and are to be read */
    pthread_t thread;
    int wake_fd; /* eventfd that wakes the thread; -1: no thread */

    /* Members used only by the sampler's user. */
    bool has_sampler;
    struct sampler sampler;
    struct space space; /* for the mounts among the devices */
    struct gpu_looks gpu_looks;
    struct gpu_pace gpu_pace; /* used while `gpu_looks` is open */
    /* When to check whether the job has opened a GPU that another rank reads; UINT64_MAX: never. */
    uint64_t gpu_check_ns;
    struct samples_file streams[SPOOR_STREAMS_MAX];
    size_t stream_count;
    bool delivers_samples; /* samples are passed to the streams and the callback */
    bool missed_end;       /* the job ended while the tracker was stopped or had no CPU */
    /* Processes of the sample that is delivered; owned. */
    struct spoor_process_sample *processes;
    size_t process_capacity;

    pthread_mutex_t mutex;
    pthread_cond_t changed;
    _Atomic uint64_t
        sampling_since_ns; /* start of the current use of the sampler; 0: no user */
    /* SPOOR_HOLD_SAMPLES was given, and samples were not released yet. */
    _Atomic bool holds_samples;
    _Atomic bool has_begun;    /* spoor_session_start() was called */
    bool has_thread;           /* the thread must be joined */
    _Atomic bool must_stop;    /* the thread must stop, after a last sample */
    _Atomic bool outlives_job; /* a caller ended a stream: the others go on after the job */
    bool has_stopped;          /* the last sample was taken */
    bool has_ended;            /* the thread no longer uses the session */
    _Atomic bool is_abandoned; /* the thread frees the session when it ends */
    struct instant end;        /* end of the job, if set by a caller; else 0 */
    /* Number of requests for a sample, and number of requests served: a sample may serve several. */
    uint64_t requested_samples, taken_samples;

    /* Members written by the sampler's user, which may read them without the mutex. */
    bool has_sample;
    struct sample latest;
    uint64_t detail_reads;
    struct budget budget;
    struct gpu_view gpu; /* as of the latest sample */

    struct summary summary;
    struct gpu_uncertain gpu_uncertain; /* as of the latest sample */
    /* Without a job: devices at the first and the last sample, and the time in between. */
    struct devices first_devices, devices;
    uint64_t devices_ns, devices_span_ns;
    struct series series;
    struct phase *phases; /* PHASES_MAX at most; owned */
    size_t phase_count;
    bool has_joined_phases;   /* a phase was added to an earlier one */
    struct warning *warnings; /* WARNINGS_MAX; owned */
    size_t warning_count;
    size_t shown_processes;          /* number of processes in a text report */
    const struct spoor_cloud *cloud; /* borrowed; NULL: not known */
    bool has_wait_status;
    int wait_status;
    _Atomic uint64_t late_samples;
    /* Incremented at each stop and continuation; odd: the process is stopped, or about to
     * be. */
    _Atomic unsigned stop_changes;
};

static inline spoor_session *session_lock(spoor_session *session)
{
    pthread_mutex_lock(&session->mutex);
    return session;
}

static inline void session_unlock(spoor_session **session)
{
    pthread_mutex_unlock(&(*session)->mutex);
}

/* Holds the mutex until the end of the block. */
#define SESSION_LOCK(session) \
    GUARD(session_unlock) spoor_session *locked_ = session_lock(session)

/* Like root_open(), with an error message. `path` NULL is "/". */
int session_open_root(const char *path, struct root *ret, struct spoor_error *err);

/* Reads SPOOR_DISABLE. -EINVAL: it names an unknown source. */
int session_read_disabled(unsigned *ret, struct spoor_error *err);

/* Converts the options of a session to options of the job. -EINVAL: SPOOR_DISABLE names an
 * unknown source. */
int session_job_options(const struct spoor_options *options, struct job_options *ret,
                        struct spoor_error *err);

/* Reserves the sampler for the caller, which functions marked "for the sampler's user" require.
 * Returns false if another thread still used it at the timeout. */
bool session_begin_sampling(spoor_session *session, uint64_t timeout_ns);
void session_end_sampling(spoor_session *session);

/* Takes a sample and passes it to the summary, the curve and the streams. For the sampler's
 * user. */
void session_take_sample(spoor_session *session, struct instant now, enum sample_kind kind);

/* If samples were released, starts to deliver them, beginning with the latest sample. For the
 * sampler's user. */
void session_begin_delivery(spoor_session *session);

/* Delivers the latest sample. For the sampler's user. */
void session_deliver_sample(spoor_session *session, enum sample_kind kind);

/* Initializes the summary of the run or of a phase. */
void session_init_summary(const spoor_session *session, struct summary *ret);

/* Requests a sample from the session's thread, and waits for it. Must be called with the
 * mutex held, which is released meanwhile. -ETIMEDOUT: the thread hangs. */
int session_request_sample(spoor_session *session);

/* Returns when the job ended, if that was a while ago because the tracker was stopped or waits
 * for a CPU. 0: the job runs, has just ended, its end is unknown, or the session outlives it. */
uint64_t session_job_ended_ns(const spoor_session *session);

/* Takes the last sample and completes the run. For the sampler's user. */
void session_take_last_sample(spoor_session *session);

/* Frees a session whose thread has ended or was never started. */
void session_free(spoor_session *session);

/* The GPUs of a session: see gpu.c. For the sampler's user. */
void session_start_gpus(spoor_session *session);
/* Returns when to call session_look_at_gpus() next; UINT64_MAX: never. The session's thread
 * may call it at any time. */
uint64_t session_gpus_due_ns(const spoor_session *session);
/* Collects the result of a look that has ended. If a look is due, starts it and returns true.
 * Never waits. */
bool session_look_at_gpus(spoor_session *session, uint64_t now_ns);
/* Called when a phase starts or stops: makes a look for the sample that follows, and waits for
 * it, but not for a driver that hangs. */
void session_look_at_gpus_at_border(spoor_session *session);
void session_note_gpu_process_end(spoor_session *session, pid_t pid);
/* Called at the end: starts the last look, then waits for it. */
void session_begin_last_look_at_gpus(spoor_session *session);
void session_wait_for_gpus(spoor_session *session);

/* Adds the GPUs to the latest sample. Must be called with the mutex held. */
void session_add_gpus(spoor_session *session, struct instant now, bool is_last);
/* Called after the sample was added: sets GPU figures of 0 to unknown if they were not
 * measured. */
void session_forget_uncertain_gpus(spoor_session *session);
void session_warn_about_gpus(spoor_session *session);
/* Called at the end: raises the peak to the driver's record of the largest process, if that is
 * above all values seen. */
void session_raise_gpu_peak(spoor_session *session);
void session_end_gpus(spoor_session *session);

/* Finds the GPUs of the machine and those matched by `gpus`, see gpu_inquire(). -ENODEV: there
 * is no GPU; -ETIMEDOUT: a driver does not respond; other errors: a GPU cannot be used. On
 * success the caller closes *ret. */
int session_find_gpus(const struct root *root, const char *gpus, struct gpu_inventory *ret,
                      struct spoor_error *err);

/* Returns 0 if every item of --gpus matched a GPU (code 0). Otherwise fails with a message that
 * names the machine's GPUs. */
int session_refuse_choice(const struct spoor_error *unmatched, const struct gpu_unit *units,
                          size_t count, struct spoor_error *err);

/* Adds a warning; warnings beyond WARNINGS_MAX are dropped. Must be called with the mutex
 * held. */
void session_add_warning(spoor_session *session, const char *code, const char *fmt, ...)
    PRINTF_LIKE(3, 4);

/* Adds warnings derived from the run's own figures, once, at its end. For the sampler's
 * user, with the mutex held. */
void session_warn(spoor_session *session);

/* thread.c: the sampling thread. */

/* A thread that works on one sample for longer than this is hanging, in a file of /proc or in a
 * callback. Reading the page tables of a process with 1 TB of memory takes 8 s. */
#define THREAD_HANGS_NS (10 * NS_PER_SECOND)
#define FOREVER_NS (365 * 24 * 3600 * NS_PER_SECOND)

/* Starts the sampling thread. The first sample must have been taken. */
int thread_start(spoor_session *session);

bool thread_hangs(spoor_session *session);

/* Makes the thread take the last sample and end. Returns false if it has not ended yet. */
bool thread_stop(spoor_session *session, uint64_t timeout_ns);

/* Returns whether the thread has ended. If not, the thread frees the session when it ends. */
bool thread_leave(spoor_session *session);
