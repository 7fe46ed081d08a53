/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_call.h - calls of GPU drivers, in a thread that can be left behind.
 *
 * What a call uses is its own: the caller touches it only while no call is under way.
 */
#ifndef SESSION_GPU_CALL_H
#define SESSION_GPU_CALL_H

#include <stdbool.h>

#include "job/gpu/gpu_watch.h"
#include "source/proc/pid_files.h"

enum gpu_request {
    GPU_REQUEST_QUICK, /* the first one opens the drivers, whatever it requests */
    GPU_REQUEST_SLOW,
    GPU_REQUEST_LAST,
    GPU_REQUEST_CLOSE,
};

struct gpu_call_options {
    const char *root;  /* folder that stands for "/"; NULL is "/" */
    const char *gpus;  /* as --gpus; NULL: by the environment */
    pid_t main_pid;    /* 0: there is no job, or it has no main process */
    const pid_t *pids; /* of a job that was already running; borrowed, for gpu_call_open() */
    size_t pid_count;
    bool is_main_only;   /* its descendants are not part of the job */
    pid_t tracker_pid;   /* ours, if we spawned the job, which has our environment; else 0 */
    bool leaves_drivers; /* at the end they stay open, and the thread with them */
    unsigned disabled;   /* sources, see job/source_names.h */
    uint64_t start_ns;   /* of the run */
};

/* The data of the calls. */
struct gpu_call_data {
    struct gpu_owners owners;

    /* results */
    struct gpu_watch watch;
    bool is_open;
    int error;         /* why it is not */
    uint64_t ended_ns; /* when the call returned */
    uint64_t cost_ns;  /* its CPU time, including the wake-up */

    /* Private. */
    enum gpu_request request;
    char *root_path;
    struct gpu_choice choice;
    const struct gpu_vendor *vendors[GPU_VENDORS_MAX];
    struct gpu_watch_options options;
    struct root root;
    _Atomic pid_t thread_id; /* 0: it has not begun */
    uint64_t marked_cpu_ns;
};

struct gpu_call {
    struct gpu_call_data *data; /* the helper's */
    uint64_t called_ns;         /* 0: no call is under way */

    /* Private. */
    struct helper *helper;
    bool leaves_drivers;
    struct root root;        /* the live machine */
    struct schedstat before; /* of the thread, at most a second before the call */
    uint64_t before_ns;      /* when that was read; 0: never */
};

/* Whether this machine may have GPUs that are to be looked at; `gpus` is --gpus, or NULL. Cheap:
 * does not query drivers. Of --gpus none not even their files are looked for. */
bool gpu_call_is_needed(const struct root *root, const char *gpus, unsigned disabled);

/* Does not open drivers: the first call does. */
int gpu_call_open(struct gpu_call *call, const struct gpu_call_options *options);

/* Closes the drivers. If one does not respond, or with leaves_drivers, the thread and what it uses
 * are left behind. */
void gpu_call_close(struct gpu_call *call);

/* Starts a call. No other may be under way. */
int gpu_call_start(struct gpu_call *call, enum gpu_request request);

/* Whether no call is under way. */
bool gpu_call_has_ended(const struct gpu_call *call);

/* Waits for the call under way: for a second, or not at all if its driver has stopped responding.
 * If the thread merely waits for a processor, up to ten seconds. */
bool gpu_call_wait(struct gpu_call *call);

/* For how long the driver has been called, without what the thread waited for a processor. */
uint64_t gpu_call_taken_ns(const struct gpu_call *call, uint64_t now_ns);

/* Whether the thread would go on if it had a processor. A driver that does not respond lets it
 * sleep, or spins and takes CPU time. */
bool gpu_call_is_starved(const struct gpu_call *call);

#endif
