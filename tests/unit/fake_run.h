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

/* The test ends it with record_done(). */
void fake_run_init(struct record *run);

/* A figure of it, to change. */
struct spoor_figure *fake_run_figure(struct record *run, const char *path);

/* Makes a figure known, as one that is exact. */
void fake_run_set(struct record *run, const char *path, double value);

/* Gives it a GPU of a vendor, on which it has so much memory. */
void fake_run_add_gpu(struct record *run, const char *vendor, double job_memory_bytes);

#endif
