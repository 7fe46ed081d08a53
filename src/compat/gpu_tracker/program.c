/* SPDX-License-Identifier: Apache-2.0 */
#include "compat/gpu_tracker/program.h"

#include "compat/gpu_tracker/agent.h"
#include "compat/gpu_tracker/options.h"
#include "compat/gpu_tracker/subtrack/subtrack.h"
#include "compat/gpu_tracker/track.h"
#include "front/arguments.h"

static int track_main(const struct command *command, int argc, char **argv)
{
    CLEANUP(gpu_tracker_texts_done) struct gpu_tracker_texts texts = { 0 };
    CLEANUP(gpu_tracker_settings_done) struct gpu_tracker_settings settings = { 0 };
    struct arguments arguments = ARGUMENTS_INIT(&gpu_tracker_program, command, &texts);
    struct spoor_error err = { 0 };
    int code = program_read(&arguments, argc, argv);

    if (code >= 0)
        return code;
    if (gpu_tracker_settings_make(&texts, &settings, &err) < 0)
        return gpu_tracker_error("%s", err.message);
    return gpu_tracker_track(&settings);
}

static const struct command track_command = {
    .name = "",
    .options = &gpu_tracker_table,
    .scope = TRACK_SCOPE,
    .about = "Run a command and report what it and all its descendants use: RAM, GPU RAM, CPU "
             "and GPU utilization, and compute time. Long options may be abbreviated to any "
             "unambiguous prefix.",
    .notes = "Run 'gpu-tracker sub-track --help' for the options of sub-track.",
    .main = track_main,
};

static const struct command commands[] = {
    {
        .name = "sub-track",
        .options = &subtrack_table,
        .scope = SUBTRACK_EVERY,
        .operands = "combine, analyze or compare",
        .max_operands = 1,
        .about = "Report what each code block of a tracked job used.",
        .subcommands = subtrack_commands,
        .main = subtrack_main,
    },
    {
        .name = "agent",
        .options = &gpu_tracker_table,
        .scope = AGENT_SCOPE,
        .is_hidden = true,
        .main = gpu_tracker_agent,
    },
    { 0 },
};

const struct program gpu_tracker_program = {
    .name = "gpu-tracker",
    .description = "Measure what a command uses: RAM, GPU RAM, CPU, GPUs and time.",
    .commands = commands,
    .main_command = &track_command,
    .version_prefix = "5.0.1+spoor.", /* that of the predecessor, then ours */
    .error_prefix = "ERROR:root:",
    .warning_prefix = "WARNING:root:",
    .failure_code = 1,
    .allows_abbreviations = true,
    .ignores_null = true,
    .has_full_usage = true,
};
