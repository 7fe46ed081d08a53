/* SPDX-License-Identifier: Apache-2.0 */
/* commands.h - what the commands of gpu-tracker sub-track are given, and what they share. */
#ifndef COMPAT_GPU_TRACKER_SUBTRACK_COMMANDS_H
#define COMPAT_GPU_TRACKER_SUBTRACK_COMMANDS_H

#include "compat/gpu_tracker/output.h"
#include "compat/gpu_tracker/subtrack/comparison.h"
#include "front/option.h"
#include "text/buffer.h"

/* All texts are owned; NULL: not given. */
struct subtrack_settings {
    char *output;
    char *format;
    char *tracking_file;
    char *sub_tracking_file;
    char *config;
    char *statistic;
    struct text_list paths;       /* of -p */
    struct text_list maps;        /* of -m: NAME=PATH */
    struct text_list config_maps; /* the same, from the config file */
};

/* Each returns the exit code; errors are on stderr. */
int subtrack_combine(const struct subtrack_settings *settings);
int subtrack_analyze(const struct subtrack_settings *settings);
int subtrack_compare(const struct subtrack_settings *settings);

/* The analysis of two files. Without a sub-tracking file (NULL) there are no blocks. */
int subtrack_results(const char *tracking_file, const char *sub_tracking_file,
                     struct results *ret, struct spoor_error *err);

/* Reads the results of a session from its file. */
int subtrack_load(struct compared *session, struct spoor_error *err);

/* The format of --format. Returns 0; or 1, the exit code, after an error on stderr. */
int subtrack_format(const struct subtrack_settings *settings, enum gpu_tracker_format *ret);

/* Makes a report: 0 or -errno. */
typedef int subtrack_writer(enum gpu_tracker_format format, const void *data,
                            struct buffer *out);

/* Writes a report to the file of --output, or to stdout with a newline. Returns the exit code. */
int subtrack_write(const struct subtrack_settings *settings, enum gpu_tracker_format format,
                   subtrack_writer *write, const void *data);

#endif
