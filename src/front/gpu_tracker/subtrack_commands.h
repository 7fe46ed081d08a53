/* SPDX-License-Identifier: Apache-2.0 */
/* subtrack_commands.h - what gpu-tracker sub-track can do. */
#ifndef FRONT_GPU_TRACKER_SUBTRACK_COMMANDS_H
#define FRONT_GPU_TRACKER_SUBTRACK_COMMANDS_H

#include "front/common/option.h"

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

/* Each returns the exit code; what went wrong is on stderr. */
int subtrack_combine(const struct subtrack_settings *settings);
int subtrack_analyze(const struct subtrack_settings *settings);
int subtrack_compare(const struct subtrack_settings *settings);

#endif
