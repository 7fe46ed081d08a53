/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent.h - resource-tracker agent: the tracker of the Python package resource_tracker, an agent
 * as in front/agent.h.
 *
 *     resource-tracker agent [--pid PID [--no-children]] [--interval SECS]
 *                            [--process-rows FILE.f64] [--system-rows FILE.f64] [--dialect NAME]
 *                            [--upload FILE.json]
 *
 * Both files hold rows of 8-byte floating-point numbers, little-endian, NaN for None: the columns
 * of the tables `process` and `system` of the dialect, by default resource-tracker. The rows of
 * both are taken at the same moments, which are multiples of the interval since 1970. The first
 * and the last row may cover less than an interval. The operations:
 *
 *     process-stats PID CHILDREN, system-stats
 *                      "stats": {...}, totals so far; see agent.c. CHILDREN is true or false.
 *     recommend CPUS_MEAN MEMORY_BYTES GPUS_MEAN GPUS_MAX VRAM_BYTES SECONDS RUNS
 *                      "recommendation": {...}, as in the report page of spoor(1), but by the formulas
 *                      of the predecessor, from what RUNS runs used; empty: unknown
 *     figures          "figures": {PATH: MEASURE, ...}: totals and peaks of the run so far, as in
 *                      the JSON report of spoor(1); null if no process is tracked
 *     stop             takes the last rows, closes the files and answers as figures, and with
 *                      "warnings": [TEXT, ...], which rows could not be written and why; may be
 *                      repeated
 *     finish CODE STATUS
 *                      with --upload, see upload.h: stops, and ends the upload
 *
 * The files may be deleted once the agent is ready.
 *
 * When the tracked process ends, the last row of the process is taken. The rows of the system go on
 * until a stop or the end of the input.
 */
#ifndef COMPAT_RESOURCE_TRACKER_AGENT_H
#define COMPAT_RESOURCE_TRACKER_AGENT_H

#include "front/program.h"

int resource_tracker_agent(const struct command *command, int argc, char **argv);

#endif
