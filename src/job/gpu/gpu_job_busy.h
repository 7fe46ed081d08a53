/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_job_busy.h - for how long a GPU worked for the job, and whether that is known. Pure.
 *
 * A process of the job may be on a GPU before anything tells what it did there: a driver's
 * samples come late, and some counters are known from the second look on. Until then the job's
 * busy time is not known, whatever it was before.
 */
#ifndef JOB_GPU_GPU_JOB_BUSY_H
#define JOB_GPU_GPU_JOB_BUSY_H

#include "job/gpu/gpu_tally.h"

/* After processes were listed: whether one of the job is on it. */
void gpu_job_busy_note(struct gpu_unit_tally *unit, uint64_t now_ns);

/* What is said of it now, into the view. */
void gpu_job_busy_show(struct gpu_unit_tally *unit, uint64_t start_ns);

/* A process of the job has not told it, but may do so later. */
bool gpu_job_busy_is_unreported(const struct gpu_unit_tally *unit);

/* The same, or one that ended had not: where the figure is 0 it was not measured. */
bool gpu_job_busy_has_unreported(const struct gpu_unit_tally *unit);

/* It is not known just now. */
bool gpu_job_busy_is_unknown(const struct gpu_unit_tally *unit);

/* Why it is not known now, or 0 was not measured. Static text; never NULL. */
const char *gpu_job_busy_reason(const struct gpu_unit_tally *unit);

#endif
