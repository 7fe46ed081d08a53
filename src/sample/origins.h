/* SPDX-License-Identifier: Apache-2.0 */
/* origins.h - origins of the metrics of the host and of GPUs. Of the job: job/measures.c. */
#pragma once

#include "job/gpu/gpu_view.h"
#include "sample/metric.h"
#include "source/host/host.h"

/* Reasons for missing GPU figures: GPUs not read yet, not opened, or excluded by an option. */
extern const char origins_gpus_pending[], origins_gpus_not_opened[], origins_gpus_unwanted[];

/* Sets the origins before anything has been read. */
void origins_init(struct origin origins[METRIC_COUNT]);

/* Copies the values of the host's metrics. */
void origins_host_values(const struct host_reading *host, uint64_t value[METRIC_COUNT]);

/* Sets the origins of GPU metrics. The strings of the view must outlive them. */
void origins_update_gpus(struct origin origins[METRIC_COUNT], const struct gpu_view *view);
