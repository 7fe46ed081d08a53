/* SPDX-License-Identifier: Apache-2.0 */
/*
 * analysis.h - samples of a tracking file, sorted into the code blocks they fall into.
 *
 * A sample belongs to a block if it was taken during one of its calls, their ends included;
 * it counts once, however many calls ran. Of a sample no more than its time is kept.
 */
#ifndef COMPAT_GPU_TRACKER_SUBTRACK_ANALYSIS_H
#define COMPAT_GPU_TRACKER_SUBTRACK_ANALYSIS_H

#include "compat/gpu_tracker/subtrack/results.h"
#include "compat/tracking/sub_tracking_file.h"

struct analysis;

/* Takes the log apart; it may be freed afterwards. -EBADMSG: it contradicts itself. */
int analysis_open(struct block_log *log, struct analysis **ret, struct spoor_error *err);
void analysis_close(struct analysis *analysis);

/* Takes one sample; for tracking_read(). 0 or -ENOMEM. */
tracking_row_seen analysis_add;

/* Of all that was added. 0 or -ENOMEM. */
int analysis_get(struct analysis *analysis, struct results *ret);

#endif
