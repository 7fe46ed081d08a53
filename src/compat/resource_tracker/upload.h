/* SPDX-License-Identifier: Apache-2.0 */
/*
 * upload.h - uploads of resource-tracker to Sentinel: those of a run, and `resource-tracker upload`,
 * which sends what earlier runs could not.
 */
#ifndef COMPAT_RESOURCE_TRACKER_UPLOAD_H
#define COMPAT_RESOURCE_TRACKER_UPLOAD_H

#include "compat/resource_tracker/options.h"
#include "front/program.h"
#include "services/upload/uploader.h"

/* Starts the upload of a run if SENTINEL_API_TOKEN is set; a failure is a warning. *ret is zeroed if
 * there is none. `command` as in run_description.h. There must be no other threads yet. */
void tracker_upload_start(const struct tracker_settings *settings, const char *const *command,
                          struct upload_process *ret);

/* Ends it, and says what was not sent. Does nothing if there is none. */
void tracker_upload_end(struct upload_process *process, int exit_code, bool is_quiet);

/* resource-tracker upload */
int tracker_upload_main(const struct command *command, int argc, char **argv);

#endif
