/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_looks.h - reads the GPUs, one look at a time, in a thread that can be left behind.
 *
 * Drivers can block for a long time, so only a helper calls them. The sampling thread starts a
 * look, continues, and collects the result later: several looks are merged into the view of one
 * sample. A driver that does not respond blocks only the helper's thread. The data of a look
 * belongs to the helper: the caller may touch it only while no look is in progress.
 */
#pragma once

#include <stdbool.h>

#include "job/gpu/gpu_watch.h"
#include "job/roster.h"
#include "session/gpu_pace.h"
#include "source/proc/pid_files.h"

struct gpu_looks_options {
    const struct root *root; /* borrowed, for gpu_looks_open() */
    const char *gpus;        /* as --gpus; NULL: use the environment */
    pid_t main_pid;          /* 0: there is no job, or it has no main process */
    /* Processes of a job that was already running; borrowed, for gpu_looks_open(). */
    const pid_t *pids;
    size_t pid_count;
    bool is_main_only;   /* descendants of the main process are not part of the job */
    pid_t tracker_pid;   /* our PID if we started the job with our environment; else 0 */
    bool leaves_drivers; /* leave the drivers and the thread open at the end */
    unsigned disabled;   /* sources, see job/source_names.h */
    /* gpu_looks_open() sets the vendors, choice and owners, and copies the name of the
     * cgroup. */
    struct gpu_watch_options watch;
};

/* For the warnings of a report. */
struct gpu_troubles {
    uint64_t silent_since_ns;     /* 0: drivers have always responded */
    uint64_t silent_for_ns;       /* the longest time without a response */
    struct spoor_error unmatched; /* code 0: all GPUs of --gpus were found */
    struct gpu_refusal refusals[GPU_VENDORS_MAX];
    size_t refusal_count;
    uint64_t record_bytes; /* largest memory in the driver's records; or UNKNOWN */
    bool is_busy_mixed;    /* see struct gpu_totals */
};

struct gpu_look_data;

/* A zeroed struct is closed. */
struct gpu_looks {
    bool is_open;
    enum gpu_state state;
    struct gpu_troubles troubles;
    uint64_t cost_ns; /* CPU time of all looks */
    struct gpu_findings found;
    bool have_left_cgroup; /* set by the caller, for the next look: see struct gpu_owners */
    const struct gpu_watch *watch; /* the last watch; valid while no look is in progress */

    /* Private. */
    struct gpu_look_data *data; /* owned by the helper */
    struct helper *helper;
    bool leaves_drivers;
    uint64_t started_ns;     /* start of the look in progress; 0: none */
    struct root root;        /* the live machine */
    struct schedstat before; /* times of the thread, at most a second before the look */
    uint64_t before_ns;      /* when `before` was read; 0: never */
    bool is_last;            /* the last look has started */
    /* merged from all looks collected: */
    const char *reason;
    struct gpu_unit *units; /* owned */
    size_t unit_count;
    struct gpu_totals totals;        /* gauges: maxima since the last view */
    struct gpu_device_view *devices; /* gauges: maxima since the last view; owned */
    struct gpu_totals latest;
    uint64_t latest_ns; /* the time of `latest` */
    bool has_news;      /* a look was collected since the last view */
};

/* Whether this machine may have GPUs to read; `gpus` is --gpus, or NULL. Cheap: does not query
 * drivers. With --gpus none, not even the drivers' files are searched. */
bool gpu_looks_are_needed(const struct root *root, const char *gpus, unsigned disabled);

/* Opens no drivers: the first look does that. */
int gpu_looks_open(struct gpu_looks *looks, const struct gpu_looks_options *options);

/* Closes the drivers. If one does not respond, or with leaves_drivers, the thread and its
 * data are left behind. */
void gpu_looks_close(struct gpu_looks *looks);

/* Stores for the next look which processes belong to the job, because some may exit before it.
 * Cheap if the processes are the same as before. Does nothing during a look. */
void gpu_looks_note(struct gpu_looks *looks, const struct roster *roster);

/* Called when a process of the job is about to exit. */
void gpu_looks_add_ended(struct gpu_looks *looks, pid_t pid);

/* Starts a look at the current processes of the job. No other look may be in progress. */
int gpu_looks_start(struct gpu_looks *looks, enum gpu_look look, const struct roster *roster);

/* Waits for the look in progress, if any, and half a second longer if its thread has no CPU. */
void gpu_looks_wait(const struct gpu_looks *looks, uint64_t until_ns);

bool gpu_looks_are_idle(const struct gpu_looks *looks);

/* Whether the thread of the look in progress waits for a CPU. If a driver does not respond,
 * the thread sleeps, or spins and uses CPU time. */
bool gpu_looks_are_starved(const struct gpu_looks *looks);

/* Collects the result of a look that has ended since the last call. Returns false if none has
 * ended. */
bool gpu_looks_collect(struct gpu_looks *looks);

/* Starts the last look, unless another one is in progress or the last one was started before. */
void gpu_looks_begin_last(struct gpu_looks *looks, const struct roster *roster);

/* Waits for the look in progress and collects its result. Waits a second at most, and not at all
 * if a driver has stopped responding. Returns false if nothing was collected. */
bool gpu_looks_finish(struct gpu_looks *looks);

/* Fills the view with the current values. The caller owns the view, which must be zeroed at
 * first. Its `devices` are allocated here, for the caller to free; its other pointers are
 * valid until the looks are closed. */
void gpu_looks_view(struct gpu_looks *looks, uint64_t now_ns, struct gpu_view *view);
