/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory_parts.h - makes private and shared memory of a sample those of its totals.
 *
 * Sizes are read with every sample, but what is private and shared only from time to time, and the
 * highest values since the sample before are of different moments. In a sample private and shared
 * memory add up to the total, and the private memory of main and descendants to that of the job; where
 * what is known of the parts does not explain the total, they are unknown.
 */
#ifndef SAMPLE_MEMORY_PARTS_H
#define SAMPLE_MEMORY_PARTS_H

#include "sample/sample.h"

/* The highest values of the parts stay in sample->highest. */
void memory_parts_settle(struct sample *sample);

#endif
