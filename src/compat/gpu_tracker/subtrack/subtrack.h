/* SPDX-License-Identifier: Apache-2.0 */
/* subtrack.h - gpu-tracker sub-track combine|analyze|compare: the options. */
#ifndef COMPAT_GPU_TRACKER_SUBTRACK_SUBTRACK_H
#define COMPAT_GPU_TRACKER_SUBTRACK_SUBTRACK_H

#include "front/program.h"

/* Which commands have an option: bits of option.flags. */
enum {
    SUBTRACK_COMBINE = 1u << 0,
    SUBTRACK_ANALYZE = 1u << 1,
    SUBTRACK_COMPARE = 1u << 2,
    SUBTRACK_EVERY = SUBTRACK_COMBINE | SUBTRACK_ANALYZE | SUBTRACK_COMPARE
};

extern const struct option_table subtrack_table;
extern const struct command subtrack_commands[];

/* Returns the exit code: 0 or 1. */
int subtrack_main(const struct command *command, int argc, char **argv);

#endif
