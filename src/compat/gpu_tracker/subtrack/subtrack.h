/* SPDX-License-Identifier: Apache-2.0 */
/* subtrack.h - gpu-tracker sub-track combine|analyze|compare: the options. */
#ifndef COMPAT_GPU_TRACKER_SUBTRACK_SUBTRACK_H
#define COMPAT_GPU_TRACKER_SUBTRACK_SUBTRACK_H

#include "compat/gpu_tracker/report.h"
#include "compat/gpu_tracker/subtrack/comparison.h"
#include "front/option.h"
#include "front/program.h"
#include "text/buffer.h"

/* ---- options and commands ----------------------------------------------- */

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

/* ---- the agent ----------------------------------------------------------
 *
 * Gpu-tracker agent sub-track: an agent (front/agent.h) that does the sub-tracking of the Python package. Its
 * operations, with the members of their responses:
 *
 *     analyze TRACKING-FILE [SUB-TRACKING-FILE]   "results": {...}, "text": "..."
 *     calls SUB-TRACKING-FILE BLOCK               "calls": [[PROCESS-ID, START, STOP], ...]
 *     combine NEW-FILE FILE...
 *     compare [SESSION RESULTS-FILE]...           "warnings": ["...", ...],
 *                                                 "statistics": {"min": {"results": {...},
 *                                                 "text": "..."}, ...}
 *
 * "results" and "text" are the output of gpu-tracker sub-track.
 */

/* Returns the exit code. */
int subtrack_agent(int argument_count);

#endif
