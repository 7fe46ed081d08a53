/* SPDX-License-Identifier: Apache-2.0 */
/* machine_stats.h - what the machine has used since it was started: see stats.h. */
#ifndef COMPAT_RESOURCE_TRACKER_MACHINE_STATS_H
#define COMPAT_RESOURCE_TRACKER_MACHINE_STATS_H

#include "base/root.h"
#include "spoor/spoor.h"
#include "text/json_writer.h"

struct machine;

/* On success the caller frees it. */
int machine_open(struct machine **ret, struct spoor_error *err);
void machine_free(struct machine *machine); /* accepts NULL */

/* Adds the members that do not concern GPUs. */
int machine_add_stats(struct machine *machine, struct json_writer *json,
                      struct spoor_error *err);

#endif
