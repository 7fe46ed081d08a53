/* SPDX-License-Identifier: Apache-2.0 */
/* rank_group.h - a run that is one rank of a job: it adds its report to the folder of the group (group/folder.h). */
#ifndef FRONT_SPOOR_RANK_GROUP_H
#define FRONT_SPOOR_RANK_GROUP_H

#include <limits.h>

#include "front/spoor/settings.h"
#include "record/launch.h"
#include "text/buffer.h"

struct rank_group {
    char folder[PATH_MAX]; /* empty: the run is in no group */
    struct launch launch;
    bool is_quiet;
};

/* Adds the begin record of a run to the group of --group or, for one of several ranks, to
 * the default group. A failure is a warning: the run goes on without a group. Sets the ID of
 * the run. */
void rank_group_begin(struct settings *settings, char **command, struct rank_group *ret);

/* Adds the report, a line of SPOOR_RANK; a failure is one line on stderr. */
void rank_group_end(const struct rank_group *group, const struct buffer *line);

#endif
