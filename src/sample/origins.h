/* SPDX-License-Identifier: Apache-2.0 */
/* origins.h - where each metric comes from, and why some do not come. */
#ifndef SAMPLE_ORIGINS_H
#define SAMPLE_ORIGINS_H

#include "job/gpu/gpu_view.h"
#include "job/job.h"
#include "sample/metric.h"

/* Why figures of GPUs are missing if nobody has looked yet. */
extern const char origins_gpus_pending[], origins_gpus_not_opened[];

/* The origins before anything is known about this machine. */
void origins_init(struct origin origins[METRIC_COUNT]);

/* What the latest look at the job says about its sources. */
void origins_update(struct origin origins[METRIC_COUNT], const struct job *job,
                    const struct job_reading *reading);

/* What is known of the GPUs. The view's texts must stay. */
void origins_update_gpus(struct origin origins[METRIC_COUNT], const struct gpu_view *view);

#endif
