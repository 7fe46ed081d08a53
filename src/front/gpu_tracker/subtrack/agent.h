/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent.h - gpu-tracker agent sub-track: sub-tracking for the Python package.
 *
 *     analyze TRACKING-FILE [SUB-TRACKING-FILE]   "results": {...}, "text": "..."
 *     calls SUB-TRACKING-FILE BLOCK               "calls": [[PROCESS-ID, START, STOP], ...]
 *     combine NEW-FILE FILE...
 *     compare [SESSION RESULTS-FILE]...           "statistics": {"min": {"results": {...},
 *                                                 "text": "..."}, ...}
 *
 * It does one command and answers with lines of JSON: any number of {"event": "warning",
 * "message": "..."}, then {"event": "result", ...} with the members above, or an error as in
 * front/common/agent.h. "results" and "text" are what gpu-tracker sub-track writes.
 */
#ifndef FRONT_GPU_TRACKER_SUBTRACK_AGENT_H
#define FRONT_GPU_TRACKER_SUBTRACK_AGENT_H

/* argv[0] is the name of the command. Returns the exit code. */
int subtrack_agent(int argc, char **argv);

#endif
