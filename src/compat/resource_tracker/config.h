/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config.h - the config file of resource-tracker, in TOML:
 *
 *     [job]
 *     name = "training"
 *     pid = 4242
 *
 *     [tracker]
 *     interval_secs = 5
 *
 * Other keys are ignored. Options and variables override the file.
 */
#ifndef COMPAT_RESOURCE_TRACKER_CONFIG_H
#define COMPAT_RESOURCE_TRACKER_CONFIG_H

#include "front/arguments.h"

/* Applies the file to what is not set yet, or nothing of it if any of it is wrong. `path` NULL:
 * resource-tracker.toml, if there is one; what is wrong with that is a warning only. */
int tracker_config_read(struct arguments *arguments, const char *path, struct spoor_error *err);

#endif
