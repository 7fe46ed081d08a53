/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent.h - gpu-tracker agent: the tracker behind the Python class (front/agent.h),
 * with options of gpu-tracker, and --pid=PID, or --check: then the options are checked and
 * nothing is tracked.
 *
 * With sub-track as the first argument it is that of subtrack/agent.h.
 *
 * The answers "ready" and "result" have warnings, a list of texts; "result" has the usage as
 * JSON and as text.
 */
#ifndef COMPAT_GPU_TRACKER_AGENT_H
#define COMPAT_GPU_TRACKER_AGENT_H

#include "front/program.h"

/* Returns the exit code. */
int gpu_tracker_agent(const struct command *command, int argc, char **argv);

#endif
