/* SPDX-License-Identifier: Apache-2.0 */
/* track.h - resource-tracker [OPTIONS] [COMMAND]. */
#ifndef COMPAT_RESOURCE_TRACKER_TRACK_H
#define COMPAT_RESOURCE_TRACKER_TRACK_H

#include "front/program.h"

int resource_tracker_main(const struct command *command, int argc, char **argv);

#endif
