/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fake_run.h - a record of a run with figures set by a test.
 *
 * The run took 100 s and ended with exit code 0, on a machine without GPUs. All figures are
 * unknown at first.
 */
#ifndef TESTS_FAKE_RUN_H
#define TESTS_FAKE_RUN_H

#include "record/record.h"

/* The test must call record_done(). */
void fake_run_init(struct record *run);

/* Returns one of its figures, to be changed. */
struct spoor_figure *fake_run_figure(struct record *run, const char *path);

/* Sets a figure and marks it as exact. */
void fake_run_set(struct record *run, const char *path, double value);

/* Adds a GPU of a vendor, with this much memory used. */
void fake_run_add_gpu(struct record *run, const char *vendor, double job_memory_bytes);

#endif
