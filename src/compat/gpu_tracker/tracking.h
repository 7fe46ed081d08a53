/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tracking.h - a session of gpu-tracker, for a command or an agent: facts about the machine,
 * rows of the tracking file and, at the end, the usage.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "compat/gpu_tracker/program.h"
#include "compat/gpu_tracker/report.h"
#include "compat/tracking/tracking_file.h"
#include "run/job_socket.h"
#include "spoor/spoor.h"

/* ---- GPUs --------------------------------------------------------------- */

/* A zeroed struct is empty. */
struct gpu_tracker_gpus {
    const char *brand;       /* NULL: any */
    struct text_list uuids;  /* including MIG devices */
    struct text_list whole;  /* UUIDs of whole GPUs, without MIG devices */
    double memory_bytes;     /* memory of all whole GPUs */
    bool is_full;            /* out of memory: the lists are incomplete */
    uint64_t expected_count; /* number of GPUs whose utilization counts */
    char *selection;         /* for spoor_options.gpus; owned; NULL after a failure */
    bool is_silent;          /* the driver does not respond: the number of GPUs is unknown */
    char message[4096];      /* why a call failed or there is no GPU; else empty */
};

/* Finds GPUs. `uuids` is the list of --guuids (NULL: all); `brand` is "nvidia", "amd" or NULL.
 * It is not a failure if there is no GPU (the list is then ignored, as the predecessor does),
 * or if a driver does not respond within 2 s. -EINVAL: the list is empty or names a GPU that
 * does not exist; -ENODEV: no GPU of that brand. ret->message is for the user. The caller calls
 * gpu_tracker_gpus_done(), even after a failure. */
int gpu_tracker_gpus_find(const char *uuids, const char *brand, struct gpu_tracker_gpus *ret);
void gpu_tracker_gpus_done(struct gpu_tracker_gpus *gpus);

/* The two parts of gpu_tracker_gpus_find(), which do no I/O. The first is the callback for
 * spoor_gpu_list(): it adds a GPU, if it is of the brand. The second chooses among the GPUs
 * added. */
void gpu_tracker_gpus_add(const struct spoor_gpu *gpu, void *data);
int gpu_tracker_gpus_choose(struct gpu_tracker_gpus *gpus, const char *uuids);

/* ---- tracking ----------------------------------------------------------- */

/* Parts of a report that can be unknown independently of each other. */
enum { TRACKING_PARTS = 9 };

struct tracking {
    const struct gpu_tracker_settings *settings;
    void (*warn)(void *data, const char *message); /* called by the sampling thread as well */
    void *warn_data;
    /* No option depends on the GPUs, so the command does not wait for their drivers: at the
     * end, the GPUs of the session are used. Also set if the drivers did not respond at the
     * start. */
    bool finds_gpus_later;

    struct gpu_tracker_gpus gpus;
    struct tracking_facts facts;
    struct rows rows;
    struct tracking_writer file;  /* closed if there is no file */
    spoor_session *session;       /* NULL: nothing was tracked */
    struct job_listener requests; /* requests for rows */
    /* For rows_take() with the current sample; NaN: no row was requested. */
    _Atomic double wanted_after;
    _Atomic double row_seconds; /* Unix time of the latest row; NaN: no row yet */
    const char
        *missing[TRACKING_PARTS];    /* why a part is unknown; borrowed. NULL: it is known */
    bool has_warned[TRACKING_PARTS]; /* the user was warned that the part is unknown */
};

/* Reads the facts of the machine and creates the tracking file; an old file stays until
 * tracking_started(). The caller sets the members up to finds_gpus_later. Returns NULL, or
 * why it failed, with the code in `err`: a requested GPU does not exist, or the file cannot
 * be created. The caller calls gpu_tracker_gpus_done(&tracking->gpus), even after a failure. */
const char *tracking_prepare(struct tracking *tracking, struct spoor_error *err);

/* Sets the interval, the GPUs and the receiver of the samples, which are held until
 * spoor_session_release_samples(). */
void tracking_configure(struct tracking *tracking, struct spoor_options *options);

/* Called before the job runs in process `pid`. If there is a tracking file, processes of the
 * job can request rows, so that a code block has figures even if it is shorter than the
 * interval. A request to the service "gpu-tracker-rows" (run/job_socket.h) is one number: 0 if
 * a block is about to start, or the start time of the block that has just stopped, in seconds
 * since 1970. A sample is taken, which becomes a row by the rules of rows_take(). The response
 * is the time of the latest row; no response is sent before tracking_started(). Returns 0: both
 * functions have the types of track_options.prepare and .started. */
int tracking_listen(void *data, pid_t pid, struct spoor_error *err);

/* Called when the job runs, before the first sample is delivered: replaces an old tracking
 * file. `session` NULL: nothing is tracked. */
void tracking_started(void *data, spoor_session *session, pid_t pid);

/* Called after the last sample: completes the tracking file. */
void tracking_finish(struct tracking *tracking);

struct resource_usage tracking_usage(struct tracking *tracking, double elapsed_seconds);
