/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe.h - probes which sources work on this machine, for this user.
 *
 * Each source is tried, not guessed from versions or names: a source may be denied
 * however new the kernel is.
 */
#ifndef SESSION_PROBE_H
#define SESSION_PROBE_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/root.h"
#include "job/job.h"
#include "spoor/spoor.h"

/* Calls `each` for every source, the best source of a quantity first. `like` has the
 * settings of the run in question; its process is ignored. */
void probe_sources(const struct root *root, const struct job_options *like,
                   void (*each)(const struct spoor_source *source, void *data), void *data);

#endif
