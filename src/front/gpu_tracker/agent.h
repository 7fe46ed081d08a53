/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent.h - gpu-tracker agent: the tracker of the Python class (cli/agent.h), with
 * the options of gpu-tracker behind its first argument, which is --pid=PID, or --check: then
 * the options are checked and nothing is tracked.
 *
 * sub-track: see subtrack_agent.h.
 *
 * The answers ready and result have warnings, a list of texts; result has the usage as JSON, and
 * as text.
 */
#ifndef FRONT_GPU_TRACKER_AGENT_H
#define FRONT_GPU_TRACKER_AGENT_H

/* argv[0] is "agent". Returns the exit code. */
int gpu_tracker_agent(int argc, char **argv);

#endif
