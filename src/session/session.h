/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session.h - what a session is made of, for the files of this folder.
 *
 * One mutex guards everything below it: the thread holds it while it takes a sample,
 * a caller while it asks.
 */
#ifndef SESSION_SESSION_H
#define SESSION_SESSION_H

#include <pthread.h>
#include <stdbool.h>

#include "base/clock.h"
#include "base/root.h"
#include "job/gpu/gpu_view.h"
#include "job/limits.h"
#include "record/fill.h"
#include "sample/sampler.h"
#include "series/series.h"
#include "series/summary.h"
#include "session/gpu_thread.h"
#include "session/run_facts.h"
#include "session/samples_file.h"
#include "source/host/facts.h"
#include "spoor/spoor.h"

struct spoor_session {
    /* fixed when the session is opened */
    pid_t pid;
    pid_t own_pid; /* the tracker's: a report may be written by a child of it */
    unsigned flags;
    uint64_t interval_ns;
    struct root root;
    struct run_facts run;
    struct host_facts host;
    struct limits limits;
    char *root_path; /* as in the options; NULL: "/" */
    char *gpus;      /* likewise */
    unsigned disabled;
    spoor_sample_seen *sample_seen; /* NULL: none */
    void *sample_data;

    pthread_t thread;
    bool has_thread;
    pthread_mutex_t mutex;
    int stop_fd; /* an eventfd that ends the thread; -1: there is none */

    bool has_stopped;
    bool has_sampler;
    struct sampler sampler;
    struct sample latest;
    bool may_have_gpus;            /* the machine */
    struct gpu_thread *gpu_thread; /* NULL: there is none */
    struct gpu_view gpu;           /* as of the latest sample */
    struct summary summary;
    struct gpu_doubts gpu_doubts; /* of it */
    struct series series;
    struct samples_file samples;
    struct phase *phases; /* PHASES_MAX at most; owned */
    size_t phase_count;
    size_t phase_capacity;
    bool has_joined_phases; /* a phase was added to an earlier one */
    struct warning *warnings; /* WARNINGS_MAX; owned */
    size_t warning_count;
    bool has_wait_status;
    int wait_status;
    uint64_t late_samples;
};

/* The options of a session's job. EINVAL: SPOOR_DISABLE names an unknown source. */
int session_job_options(const struct spoor_options *options, struct job_options *ret,
                        struct spoor_error *err);

/* Takes a sample and hands it to all that keep or write samples. With the mutex held. */
void session_take_sample(spoor_session *session, struct instant now, bool is_last);

/* The GPU thread of a session: see gpu.c. With the mutex held. */
void session_start_gpus(spoor_session *session);
void session_tell_gpus(spoor_session *session);
void session_ask_gpus_last(spoor_session *session);
void session_add_gpus(spoor_session *session, struct instant now, bool is_last);
/* After the sample was added: zeros of GPU figures that were not measured go. */
void session_doubt_gpus(spoor_session *session);
void session_judge_gpus(spoor_session *session);
void session_end_gpus(spoor_session *session);

/* The GPUs of the machine and which of them `gpus` means, see gpu_inquire(). -ENODEV: there is
 * none; -ETIMEDOUT: a driver does not answer; others: one cannot be used. The caller closes *ret
 * where it does not fail. */
int session_find_gpus(const struct root *root, const char *gpus, struct gpu_inventory *ret,
                      struct spoor_error *err);

/* What names none of these GPUs is refused, with their numbers. 0 where all was found. */
int session_refuse_choice(const struct spoor_error *unmatched, const struct gpu_unit *units,
                          size_t count, struct spoor_error *err);

/* CPU time of the tracker. UNKNOWN on a fixture machine. */
uint64_t session_own_cpu_ns(const spoor_session *session);

/* Closes the phases that are still open. With the mutex held. */
void session_close_phases(spoor_session *session);

/* Adds a warning; more than WARNINGS_MAX are dropped. With the mutex held. */
void session_add_warning(spoor_session *session, const char *code, const char *fmt, ...)
    PRINTF_LIKE(3, 4);

/* What the run's own figures give cause to warn of: once, at its end. With the mutex held. */
void session_judge(spoor_session *session);

#endif
