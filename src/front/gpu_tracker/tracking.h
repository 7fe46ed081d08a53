/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tracking.h - a session of gpu-tracker, whoever tracks what: the facts of the
 * machine, the rows of the tracking file, and the usage in the end.
 */
#ifndef FRONT_GPU_TRACKER_TRACKING_H
#define FRONT_GPU_TRACKER_TRACKING_H

#include "front/gpu_tracker/gpus.h"
#include "front/gpu_tracker/options.h"
#include "front/gpu_tracker/rows.h"
#include "front/gpu_tracker/usage.h"
#include "spoor/spoor.h"
#include "store/tracking_file.h"

/* What a report holds, as far as its parts may be unknown apart from each other. */
enum { TRACKING_PARTS = 9 };

typedef void tracking_say(void *data, const char *message);
typedef void tracking_complain(void *data, int code, const char *message);

struct tracking {
    const struct gpu_tracker_settings *settings;
    tracking_say *warn; /* also from the sampling thread */
    void *warn_data;
    /* Where nothing is to be refused for them the command need not wait for drivers: the session
     * tells in the end. So it does where they did not answer at first. */
    bool finds_gpus_later;

    struct gpu_tracker_gpus gpus;
    struct usage_facts facts;
    struct rows rows;
    struct tracking_file *file; /* NULL: none */
    spoor_session *session;     /* NULL: nothing was tracked */
    const char
        *missing[TRACKING_PARTS];    /* why a part is not known; the session's. NULL: it is */
    bool has_warned[TRACKING_PARTS]; /* of that, once */
};

/* Looks at the machine and makes the tracking file. The first members are set. Fails
 * where something that was asked for is not there; `complain` says it. */
int tracking_prepare(struct tracking *tracking, tracking_complain *complain);
void tracking_done(struct tracking *tracking);

/* Sets the interval, the GPUs, and that the samples come here. */
void tracking_configure(struct tracking *tracking, struct spoor_options *options);

/* After the last sample: completes the tracking file. */
void tracking_finish(struct tracking *tracking);

struct resource_usage tracking_usage(struct tracking *tracking, double elapsed_seconds);

#endif
