/* SPDX-License-Identifier: Apache-2.0 */
/* program.h - resource-tracker: the predecessor's command line. */
#ifndef COMPAT_RESOURCE_TRACKER_PROGRAM_H
#define COMPAT_RESOURCE_TRACKER_PROGRAM_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "front/agent.h"
#include "front/arguments.h"
#include "front/option.h"
#include "front/program.h"

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

/* ---- the program -------------------------------------------------------- */

extern const struct program resource_tracker_program;

/* Runs the agent: a hidden command for the Python and R packages. */
int resource_tracker_agent(const struct command *command, int argc, char **argv);

/* Operations of that agent, see lookup.c. */
int lookup_cloud(void *data, const struct agent_request *request, struct json_writer *json,
                 struct spoor_error *err);
int lookup_server(void *data, const struct agent_request *request, struct json_writer *json,
                  struct spoor_error *err);
int lookup_servers(void *data, const struct agent_request *request, struct json_writer *json,
                   struct spoor_error *err);
int lookup_price(void *data, const struct agent_request *request, struct json_writer *json,
                 struct spoor_error *err);

#endif
