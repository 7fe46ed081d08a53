/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tracking.h - a session of gpu-tracker, of a command or an agent: facts about the
 * machine, the rows of the tracking file, and the usage in the end.
 */
#ifndef COMPAT_GPU_TRACKER_TRACKING_H
#define COMPAT_GPU_TRACKER_TRACKING_H

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
    struct text_list uuids;  /* MIG devices have their own */
    struct text_list whole;  /* UUIDs without MIG devices, which are parts of GPUs */
    double memory_bytes;     /* of all */
    bool is_full;            /* out of memory: the lists are incomplete */
    uint64_t expected_count; /* the GPUs whose utilization counts */
    char *selection;         /* for spoor_options.gpus; owned; NULL after a failure */
    bool is_silent;          /* the driver does not respond: the number of GPUs is unknown */
    char message[4096];      /* why it failed, or why there is no GPU; else empty */
};

/* Looks for GPUs. `uuids` is the list of --guuids, NULL: all; `brand` is "nvidia", "amd" or
 * NULL. Finding no GPU is not a failure: the list is ignored, as by the predecessor. Nor is a
 * driver that does not respond within 2 s.
 * -EINVAL: the list is empty or names a GPU that does not exist; -ENODEV: no GPU of that brand.
 * The message is for the user. The caller calls gpu_tracker_gpus_done(), also after a failure. */
int gpu_tracker_gpus_find(const char *uuids, const char *brand, struct gpu_tracker_gpus *ret);
void gpu_tracker_gpus_done(struct gpu_tracker_gpus *gpus);

/* The two parts of gpu_tracker_gpus_find(): adds a GPU of the machine, if it is of the brand, for
 * spoor_gpu_list(); and chooses among those added. Pure. */
void gpu_tracker_gpus_add(const struct spoor_gpu *gpu, void *data);
int gpu_tracker_gpus_choose(struct gpu_tracker_gpus *gpus, const char *uuids);

/* ---- tracking ----------------------------------------------------------- */

/* Parts of a report that can be unknown independently of each other. */
enum { TRACKING_PARTS = 9 };

typedef void tracking_say(void *data, const char *message);

struct tracking {
    const struct gpu_tracker_settings *settings;
    tracking_say *warn; /* also called by the sampling thread */
    void *warn_data;
    /* The command need not wait for GPU drivers, because no option depends on them: the list of the
     * session is used in the end. The same happens if the drivers did not respond at first. */
    bool finds_gpus_later;

    struct gpu_tracker_gpus gpus;
    struct tracking_facts facts;
    struct rows rows;
    struct tracking_writer file;  /* closed: none */
    spoor_session *session;       /* NULL: nothing was tracked */
    struct job_listener requests; /* for rows */
    /* As in rows_take(), for the current sample; NaN: no request. */
    _Atomic double wanted_after;
    _Atomic double row_seconds; /* Unix time of the latest row; NaN: there is none */
    const char
        *missing[TRACKING_PARTS];    /* why a part is unknown; borrowed. NULL: it is known */
    bool has_warned[TRACKING_PARTS]; /* about that, once */
};

/* Reads the facts of the machine and creates the tracking file, beside an old one. The caller sets the
 * first members. NULL; or the reason, with its code in `err`: a requested GPU or file is missing. */
const char *tracking_prepare(struct tracking *tracking, struct spoor_error *err);
void tracking_done(struct tracking *tracking);

/* Sets the interval, the GPUs and the receiver of the samples, which are held until
 * spoor_session_release_samples(). */
void tracking_configure(struct tracking *tracking, struct spoor_options *options);

/* Called before the job runs, in process `pid`. If there is a tracking file, processes of
 * the job get rows of it on request, so that a code block has figures even if it is shorter
 * than the interval. The service "gpu-tracker-rows" of the main process (run/job_socket.h)
 * takes one number: 0 if a block is about to start, or the start time of the block that has
 * just stopped, in seconds since 1970. A sample is taken, which makes a row by the rules of
 * rows_take(). The response, which waits for tracking_started(), is the time of the latest
 * row. */
void tracking_listen(struct tracking *tracking, pid_t pid);

/* Called when the job runs, before the first sample is delivered: replaces an old tracking
 * file. `session` NULL: nothing is tracked. */
void tracking_started(struct tracking *tracking, spoor_session *session);

/* Called after the last sample: completes the tracking file. */
void tracking_finish(struct tracking *tracking);

struct resource_usage tracking_usage(struct tracking *tracking, double elapsed_seconds);

#endif
