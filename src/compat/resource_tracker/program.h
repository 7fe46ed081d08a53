/* SPDX-License-Identifier: Apache-2.0 */
/* program.h - resource-tracker: the predecessor's command line. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "front/agent.h"
#include "front/arguments.h"
#include "front/option.h"
#include "front/program.h"
#include "services/upload/uploader.h"
#include "text/json_writer.h"

/* ---- options ------------------------------------------------------------ */

/* The commands that have an option: bits of option.flags. */
enum { TRACK_SCOPE = 1u << 0, AGENT_SCOPE = 1u << 1, UPLOAD_SCOPE = 1u << 2 };

extern const struct option_table resource_tracker_table;

/* In the order in which --format lists them. */
enum tracker_format { TRACKER_JSON, TRACKER_CSV };

/* The number of texts that describe the run to the Sentinel service, besides the job's name. */
enum { TRACKER_METADATA_COUNT = 10 };

/* Texts and lists are owned; a text that was not given is NULL. */
struct tracker_settings {
    pid_t pid; /* 0: not given */
    uint64_t interval_ns;
    enum tracker_format format;
    char *config_path;
    char *output_path; /* NULL: stderr */
    char *job_name;
    bool is_quiet;
    char *metadata[TRACKER_METADATA_COUNT];
    struct text_list tags;
    /* options of the agent */
    bool excludes_children;
    char *dialect; /* NULL: the newest */
    char *process_rows_path, *system_rows_path;
    char *upload_path; /* settings of the upload; NULL: nothing is uploaded */
};

void tracker_settings_init(struct tracker_settings *settings);
void tracker_settings_done(struct tracker_settings *settings);

/* ---- the config file ----------------------------------------------------
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

/* Applies the file to settings that are not set yet; applies nothing if any of it is
 * invalid. `path` NULL: resource-tracker.toml, if it exists; an error in it is only a
 * warning. It is also only a warning if the file at `path` does not exist. */
int tracker_config_read(struct arguments *arguments, const char *path, struct spoor_error *err);

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
 * is zeroed if nothing is uploaded. `command` is NULL-terminated; NULL: a running process is
 * tracked. There must be no other threads yet. */
void tracker_upload_start(const struct tracker_settings *settings, const char *const *command,
                          struct upload_process *ret);

/* Ends the upload and reports unsent samples. Does nothing without an upload. */
void tracker_upload_end(struct upload_process *process, int exit_code, bool is_quiet);

/* Runs the command `resource-tracker upload`. */
int tracker_upload_main(const struct command *command, int argc, char **argv);

/* ---- the program -------------------------------------------------------- */

extern const struct program resource_tracker_program;

/* Runs the agent: a hidden command for the Python and R packages. */
int resource_tracker_agent(const struct command *command, int argc, char **argv);

/* Two operations of that agent, whose requests are JSON; here for tests. */
int lookup_servers(void *data, const struct agent_request *request, struct json_writer *json,
                   struct spoor_error *err);
int lookup_price(void *data, const struct agent_request *request, struct json_writer *json,
                 struct spoor_error *err);
