/* SPDX-License-Identifier: Apache-2.0 */
/* origins.h - where the metrics of the host and of GPUs come from. Those of the job: job/measures.c. */
#ifndef SAMPLE_ORIGINS_H
#define SAMPLE_ORIGINS_H

#include "job/gpu/gpu_view.h"
#include "sample/metric.h"
#include "source/host/host.h"

/* Why figures of GPUs are missing if nobody has looked yet, or is to look at all. */
extern const char origins_gpus_pending[], origins_gpus_not_opened[], origins_gpus_unwanted[];

/* The origins before anything is known about this machine. */
void origins_init(struct origin origins[METRIC_COUNT]);

/* The values of the host's metrics. */
void origins_host_values(const struct host_reading *host, uint64_t value[METRIC_COUNT]);

/* What is known of the GPUs. The view's texts must stay. */
void origins_update_gpus(struct origin origins[METRIC_COUNT], const struct gpu_view *view);

#endif
