/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent.h - gpu-tracker agent sub-track: an agent (front/agent.h) that does the
 * sub-tracking of the Python package. Its operations, with the members of their answers:
 *
 *     analyze TRACKING-FILE [SUB-TRACKING-FILE]   "results": {...}, "text": "..."
 *     calls SUB-TRACKING-FILE BLOCK               "calls": [[PROCESS-ID, START, STOP], ...]
 *     combine NEW-FILE FILE...
 *     compare [SESSION RESULTS-FILE]...           "warnings": ["...", ...],
 *                                                 "statistics": {"min": {"results": {...},
 *                                                 "text": "..."}, ...}
 *
 * "results" and "text" are what gpu-tracker sub-track writes.
 */
#ifndef COMPAT_GPU_TRACKER_SUBTRACK_AGENT_H
#define COMPAT_GPU_TRACKER_SUBTRACK_AGENT_H

/* Returns the exit code. */
int subtrack_agent(int argument_count);

#endif
