/* SPDX-License-Identifier: Apache-2.0 */
/* subtrack_commands.h - what gpu-tracker sub-track can do. */
#ifndef FRONT_GPU_TRACKER_SUBTRACK_COMMANDS_H
#define FRONT_GPU_TRACKER_SUBTRACK_COMMANDS_H

#include <stdbool.h>
#include <stddef.h>

#include "front/gpu_tracker/subtrack/results.h"

/* All texts are borrowed; NULL: not given. */
struct subtrack_settings {
    const char *output;
    const char *format;
    const char *tracking_file;
    const char *sub_tracking_file;
    const char *config;
    const char *statistic;
    const char **paths; /* of -p */
    size_t path_count;
    const char **maps; /* of -m: NAME=PATH */
    size_t map_count;
    bool is_help;
};

/* Each returns the exit code; what went wrong is on stderr. */
int subtrack_combine(const struct subtrack_settings *settings);
int subtrack_analyze(const struct subtrack_settings *settings);
int subtrack_compare(const struct subtrack_settings *settings);

/* What analyze reports; without a sub-tracking file (NULL) there are no blocks. */
int subtrack_results(const char *tracking_file, const char *sub_tracking_file,
                     struct results *ret, struct spoor_error *err);

/* The results in a JSON file that analyze wrote. */
int subtrack_load_results(const char *path, struct results *ret, struct spoor_error *err);

#endif
