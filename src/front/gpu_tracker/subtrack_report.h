/* SPDX-License-Identifier: Apache-2.0 */
/* subtrack_report.h - where the report of analyze and compare goes, and in which format. */
#ifndef FRONT_GPU_TRACKER_SUBTRACK_REPORT_H
#define FRONT_GPU_TRACKER_SUBTRACK_REPORT_H

#include "front/gpu_tracker/output.h"
#include "front/gpu_tracker/subtrack_commands.h"
#include "text/buffer.h"

/* Which one --format says. Returns 0; or 1, the exit code, after saying what is wrong. */
int subtrack_format(const struct subtrack_settings *settings, enum gpu_tracker_format *ret);

/* Writes a report: 0 or -errno. */
typedef int subtrack_writer(enum gpu_tracker_format format, const void *data,
                            struct buffer *out);

/* To the file of --output, or to stdout with a newline behind it. Returns the exit code. */
int subtrack_write(const struct subtrack_settings *settings, enum gpu_tracker_format format,
                   subtrack_writer *write, const void *data);

#endif
