/* SPDX-License-Identifier: Apache-2.0 */
#include "compat/resource_tracker/program.h"

#include "compat/resource_tracker/agent.h"
#include "compat/resource_tracker/lookup.h"
#include "compat/resource_tracker/options.h"
#include "compat/resource_tracker/request.h"
#include "compat/resource_tracker/track.h"
#include "compat/resource_tracker/upload.h"

static const struct command track_command = {
    .name = "",
    .options = &resource_tracker_table,
    .scope = TRACK_SCOPE,
    .operands = "[--] [COMMAND [ARGUMENT...]]",
    .max_operands = OPERANDS_REST,
    .complete = COMPLETE_COMMANDS,
    .about =
        "Write what a job and its machine use, one sample per interval. The job is the "
        "command, or the process given by --pid, with all its descendants; without either, "
        "only the machine is measured, until you press Ctrl-C. Exit code: that of the "
        "command; 127 if it was not found; 126 if it could not be executed; 1 if "
        "resource-tracker failed before starting it. If signal N kills the command, "
        "resource-tracker dies of it too: $? is 128+N in a shell.",
    .notes =
        "TRACKER_OUTPUT, TRACKER_QUIET, TRACKER_JOB_NAME and variables for the options that "
        "describe the run (TRACKER_TEAM) set these options. If SENTINEL_API_TOKEN is set, "
        "samples are also uploaded to Sentinel, and 'resource-tracker upload' sends what could "
        "not be: see resource-tracker(1). The config file may "
        "set "
        "job.name, job.pid and tracker.interval_secs. An option overrides a variable, and "
        "a variable overrides the config file.",
    .example = "resource-tracker -i 5 -f csv -o samples.csv -- make -j8",
    .main = resource_tracker_main,
};

static const struct command commands[] = {
    {
        .name = "agent",
        .options = &resource_tracker_table,
        .scope = AGENT_SCOPE,
        .is_hidden = true,
        .ignores_variables = true,
        .main = resource_tracker_agent,
    },
    {
        .name = "agent-request",
        .is_hidden = true,
        .ignores_variables = true,
        .main = tracker_request_main,
    },
    {
        .name = "agent-lookup",
        .is_hidden = true,
        .ignores_variables = true,
        .main = tracker_lookup_main,
    },
    {
        .name = "upload",
        .options = &resource_tracker_table,
        .scope = UPLOAD_SCOPE,
        .summary = "send the samples that earlier runs could not upload",
        .about = "Send to Sentinel the samples that earlier runs could not upload, and say how "
                 "many there were. SENTINEL_API_TOKEN must be set. Exit code: 0 if all were "
                 "sent; 1 if some are kept.",
        .main = tracker_upload_main,
    },
    { 0 },
};

const struct program resource_tracker_program = {
    .name = "resource-tracker",
    .description = "Measure what a command, a process or the machine uses, over time.",
    .commands = commands,
    .main_command = &track_command,
    .version_prefix = "resource-tracker 0.1.14+spoor.", /* that of the predecessor, then ours */
    .environment_prefix = "TRACKER_",
    .error_prefix = "error: ",
    .warning_prefix = "warn: ",
    .failure_code = 1,
};
