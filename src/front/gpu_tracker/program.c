/* SPDX-License-Identifier: Apache-2.0 */
#include "front/gpu_tracker/program.h"

#include <string.h>

#include "base/compiler.h"
#include "front/common/help.h"
#include "front/gpu_tracker/agent.h"
#include "front/gpu_tracker/log.h"
#include "front/gpu_tracker/options.h"
#include "front/gpu_tracker/subtrack.h"
#include "front/gpu_tracker/track.h"

/* A usage line names every option of the table but these, which have lines of their own. */
static bool is_shown_apart(size_t option)
{
    return option == GPU_TRACKER_HELP || option == GPU_TRACKER_VERSION;
}

static void put_option_usage(FILE *out, size_t i)
{
    const struct cli_option *option = &gpu_tracker_table.rows[i];
    bool is_needed = i == GPU_TRACKER_EXECUTE;

    fprintf(out, " %s--%s%s%s%s", is_needed ? "" : "[", option->name, option->value ? "=" : "",
            option->value ? option->value : "", is_needed ? "" : "]");
}

void gpu_tracker_usage(FILE *out)
{
    fputs("Usage:\n"
          "    gpu-tracker -h | --help\n"
          "    gpu-tracker -v | --version\n"
          "    gpu-tracker",
          out);
    for (size_t i = 0; i < gpu_tracker_table.count; i++) {
        if (!is_shown_apart(i))
            put_option_usage(out, i);
    }
    fputc('\n', out);
    gpu_tracker_subtrack_usage(out);
}

static int show_help(void)
{
    fputs(
        "Runs a command and reports what it, and all that it starts, uses: RAM, GPU RAM, CPU\n"
        "utilization, GPU utilization and compute time.\n\n",
        stdout);
    gpu_tracker_usage(stdout);
    fputs("\nOptions:\n", stdout);
    for (size_t i = 0; i < gpu_tracker_table.count; i++)
        help_option(stdout, &gpu_tracker_table.rows[i]);
    fputs("\n'gpu-tracker sub-track --help' shows the options of sub-track.\n", stdout);
    return 0;
}

static int refuse_usage(const char *message)
{
    fprintf(stderr, "%s\n", message);
    gpu_tracker_usage(stderr);
    return 1;
}

int gpu_tracker_main(int argc, char **argv)
{
    CLEANUP(gpu_tracker_texts_done) struct gpu_tracker_texts texts = { 0 };
    CLEANUP(gpu_tracker_settings_done) struct gpu_tracker_settings settings = { 0 };
    struct spoor_error err = { 0 };

    if (argc > 1 && strcmp(argv[1], "sub-track") == 0)
        return gpu_tracker_subtrack(argc - 2, argv + 2);
    if (argc > 1 && strcmp(argv[1], "agent") == 0)
        return gpu_tracker_agent(argc - 1, argv + 1);
    if (gpu_tracker_texts_parse(&texts, argc, argv, &err) < 0)
        return refuse_usage(err.message);
    if (texts.text[GPU_TRACKER_HELP])
        return show_help();
    if (texts.text[GPU_TRACKER_VERSION])
        return printf("%s\n", spoor_version()) < 0;
    if (!texts.text[GPU_TRACKER_EXECUTE])
        return refuse_usage("no command was given: --execute=<command>");
    if (texts.text[GPU_TRACKER_CONFIG] &&
        gpu_tracker_config_read(&texts, texts.text[GPU_TRACKER_CONFIG], &err) < 0)
        return gpu_tracker_error("%s", err.message);
    if (gpu_tracker_settings_make(&texts, &settings, &err) < 0)
        return gpu_tracker_error("%s", err.message);
    return gpu_tracker_track(&settings);
}
