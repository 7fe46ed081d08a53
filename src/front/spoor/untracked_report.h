/* SPDX-License-Identifier: Apache-2.0 */
/* untracked_report.h - the report of a job that ran untracked: how it ended, and why nothing is known. */
#ifndef FRONT_SPOOR_UNTRACKED_REPORT_H
#define FRONT_SPOOR_UNTRACKED_REPORT_H

#include "front/spoor/outputs.h"
#include "run/track.h"

/* Writes the report to all outputs except stderr, which already has the message. An old report in its place would
 * seem to describe this run. */
void untracked_report_write(const struct outputs *outputs, const struct tracked *tracked,
                            const struct spoor_options *options);

#endif
