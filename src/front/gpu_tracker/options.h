/* SPDX-License-Identifier: Apache-2.0 */
/*
 * options.h - what the user of gpu-tracker asked for.
 *
 * Each option is a text first: from the command line, else from the config file. Then all are
 * checked, in a fixed order, before anything runs.
 */
#ifndef FRONT_GPU_TRACKER_OPTIONS_H
#define FRONT_GPU_TRACKER_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "front/common/option.h"
#include "front/gpu_tracker/report.h"
#include "front/gpu_tracker/usage.h"
#include "spoor/spoor.h"

/* In the order of the table, which is that of help. */
enum gpu_tracker_option {
    GPU_TRACKER_EXECUTE,
    GPU_TRACKER_OUTPUT,
    GPU_TRACKER_FORMAT,
    GPU_TRACKER_CONFIG,
    GPU_TRACKER_SLEEP_TIME,
    GPU_TRACKER_RAM_UNIT,
    GPU_TRACKER_GPU_RAM_UNIT,
    GPU_TRACKER_TIME_UNIT,
    GPU_TRACKER_CORES,
    GPU_TRACKER_GPU_UUIDS,
    GPU_TRACKER_DISABLE_LOGS,
    GPU_TRACKER_GPU_BRAND,
    GPU_TRACKER_TRACKING_FILE,
    GPU_TRACKER_OVERWRITE,
    GPU_TRACKER_PROPAGATE,
    GPU_TRACKER_SPELLING,
    GPU_TRACKER_HELP,
    GPU_TRACKER_VERSION,
    GPU_TRACKER_OPTIONS
};

extern const struct option_table gpu_tracker_table;

/* The options as texts; NULL: not given. A flag that is set is "". Owned. */
struct gpu_tracker_texts {
    char *text[GPU_TRACKER_OPTIONS];
};

/* Ready for use. The texts are borrowed from those above. */
struct gpu_tracker_settings {
    const char *command;     /* as it was given; NULL: none was, as to an agent */
    char **words;            /* the same, split; owned; at least one */
    const char *output_path; /* NULL: stdout */
    struct report_style style;
    double sleep_seconds; /* at most an hour */
    const struct usage_unit *ram_unit, *gpu_ram_unit, *time_unit;
    uint64_t expected_core_count; /* 0: as many as there are */
    const char *gpu_uuids;        /* between commas; NULL: all */
    const char *gpu_brand;        /* NULL: any */
    const char *tracking_path;    /* NULL: none */
    bool is_silent;               /* no warnings */
    bool overwrites;
    bool propagates; /* the command's exit code is ours */
};

/* Reads the command line. -EINVAL: the usage helps. */
int gpu_tracker_texts_parse(struct gpu_tracker_texts *texts, int argc, char **argv,
                            struct spoor_error *err);
void gpu_tracker_texts_done(struct gpu_tracker_texts *texts);

/* Adds what a config file says of options that were not given. Its keys are the parameters of
 * the Python class. `path` is for messages. */
int gpu_tracker_config_read(struct gpu_tracker_texts *texts, const char *path,
                            struct spoor_error *err);

/* Keeps a copy of the text of an option; a second one replaces the first. */
int gpu_tracker_texts_set(struct gpu_tracker_texts *texts, enum gpu_tracker_option option,
                          const char *text, struct spoor_error *err);

/* Checks all options. On success the caller frees *ret with gpu_tracker_settings_done(). */
int gpu_tracker_settings_make(const struct gpu_tracker_texts *texts,
                              struct gpu_tracker_settings *ret, struct spoor_error *err);
void gpu_tracker_settings_done(struct gpu_tracker_settings *settings);

#endif
