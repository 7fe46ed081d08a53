/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fake_run.h - a record of a run with figures set by a test.
 *
 * The run took 100 s and exited with code 0. Until a test adds a GPU or sets a figure, the
 * machine has no GPUs and all figures are unknown.
 */
#pragma once

#include "record/record.h"

/* The caller must call record_done(). */
void fake_run_init(struct record *run);

/* Returns a figure of the run; the test may change it. */
struct spoor_figure *fake_run_figure(struct record *run, const char *path);

/* Sets a figure and marks it as exact. */
void fake_run_set(struct record *run, const char *path, double value);

/* Adds a GPU on which the job used this much memory. */
void fake_run_add_gpu(struct record *run, const char *vendor, double job_memory_bytes);
