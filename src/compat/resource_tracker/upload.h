/* SPDX-License-Identifier: Apache-2.0 */
/*
 * upload.h - uploads of resource-tracker to Sentinel: the samples of a run, and
 * `resource-tracker upload`, which sends the rows that earlier runs could not send.
 */
#ifndef COMPAT_RESOURCE_TRACKER_UPLOAD_H
#define COMPAT_RESOURCE_TRACKER_UPLOAD_H

#include "compat/resource_tracker/program.h"
#include "front/program.h"
#include "services/upload/uploader.h"
#include "text/json_writer.h"

/* ---- uploads of an agent ------------------------------------------------
 *
 * Uploads of `resource-tracker agent --upload FILE`. FILE holds a JSON object; missing or null
 * members are taken from the environment, as in services/upload/sentinel.h:
 *
 *     {"token": "...", "api_url": "https://...", "interval": 60, "metadata": {"team": "blue"}}
 *
 * FILE may be removed once the agent is ready. The metadata is copied unchanged into the
 * description of the run. The response to `finish` has the member
 *
 *     "upload": {"is_complete": true, "message": null, "kept_rows": 0, "dropped_rows": 0,
 *                "folder": "...", "result": {...}}
 *
 * where `result` is the response of the service. If not all rows were sent, `message` is the
 * reason, and the unsent rows are kept in the folder. Without a `finish`, the run counts as
 * failed with exit code 1.
 */

/* Starts the upload that the file describes. -EINVAL: the file is not valid, or there is no
 * token. */
int agent_upload_start(const char *path, struct upload_process *ret, struct spoor_error *err);

/* Ends the upload. `exit_code` is a whole number, `status` "finished" or "failed". Adds
 * "upload" to the response. */
int agent_upload_finish(struct upload_process *process, const char *exit_code,
                        const char *status, struct json_writer *json, struct spoor_error *err);

/* ---- uploads of a run --------------------------------------------------- */

/* Starts the upload of a run if SENTINEL_API_TOKEN is set; a failure is only a warning. *ret
 * is zeroed if nothing is uploaded. `command` is ended by NULL; NULL: a running process is
 * tracked. There must be no other threads yet. */
void tracker_upload_start(const struct tracker_settings *settings, const char *const *command,
                          struct upload_process *ret);

/* Ends the upload and reports unsent samples. Does nothing without an upload. */
void tracker_upload_end(struct upload_process *process, int exit_code, bool is_quiet);

/* Runs the command `resource-tracker upload`. */
int tracker_upload_main(const struct command *command, int argc, char **argv);

#endif
