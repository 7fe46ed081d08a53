/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ladder.h - probes which sources work on this machine, for this user.
 *
 * Each source is tried, not guessed from versions or names: a source may be denied
 * however new the kernel is.
 */
#ifndef JOB_LADDER_H
#define JOB_LADDER_H

#include "base/root.h"
#include "job/job.h"
#include "spoor/spoor.h"

/* Calls `each` for every source, the best source of a quantity first. `like` has the settings of
 * the run that is asked about; its process is ignored. */
void ladder_check(const struct root *root, const struct job_options *like,
                  void (*each)(const struct spoor_rung *rung, void *data), void *data);

#endif
