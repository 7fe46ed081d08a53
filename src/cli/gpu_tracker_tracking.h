/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_tracker_tracking.h - a session of gpu-tracker, whoever tracks what: the facts of the
 * machine, the rows of the tracking file, and the usage in the end.
 */
#ifndef CLI_GPU_TRACKER_TRACKING_H
#define CLI_GPU_TRACKER_TRACKING_H

#include "cli/gpu_tracker_options.h"
#include "cli/gpu_tracker_rows.h"
#include "cli/gpu_tracker_usage.h"
#include "spoor/spoor.h"
#include "store/tracking_file.h"

/* Reasons for which figures are not known, each said once. */
enum { REASONS_MAX = 16 };

struct tracking {
    const struct gpu_tracker_settings *settings;
    void (*warn)(void *data, const char *message); /* also from the sampling thread */
    void *warn_data;

    struct usage_facts facts;
    struct rows rows;
    struct tracking_file *file; /* NULL: none */
    spoor_session *session;     /* NULL: nothing was tracked */
    const char *reasons[REASONS_MAX];
    size_t reason_count;
};

/* Looks at the machine and makes the tracking file. The first three members are set. Fails
 * where something that was asked for is not there. */
int tracking_prepare(struct tracking *tracking, struct spoor_error *err);

/* Sets the interval, and that the samples come here. */
void tracking_configure(struct tracking *tracking, struct spoor_options *options);

/* After the last sample: completes the tracking file. */
void tracking_finish(struct tracking *tracking);

struct resource_usage tracking_usage(struct tracking *tracking, double elapsed_seconds);

#endif
