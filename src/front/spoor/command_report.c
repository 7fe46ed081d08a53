/* SPDX-License-Identifier: Apache-2.0 */
/* command_report.c - spoor report: a stored JSON report in any format. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "front/common/command.h"
#include "front/common/message.h"
#include "front/common/outputs.h"
#include "output/format.h"
#include "output/save.h"
#include "record/load.h"

/* Options may stand before and after the file. Variables and config files are not read: they
 * say where reports on runs go. */
static int read_arguments(int argc, char **argv, struct cli_settings *settings,
                          const char **ret_path, struct spoor_error *err)
{
    uint32_t given = 0;
    int next = 1;

    while (next < argc) {
        next = option_parse(&settings_table, OPTION_REPORT, argc, argv, next, settings, &given,
                            err);
        if (next < 0 || settings->action != CLI_WORK)
            return next;
        if (next < argc && *ret_path)
            return error_set(err, EINVAL, "only one FILE may be given");
        if (next < argc)
            *ret_path = argv[next++];
    }
    if (!*ret_path)
        return error_set(err, EINVAL, "no report given: spoor report [OPTIONS] FILE");
    if (settings->is_append && settings->is_no_clobber)
        return error_set(err, EINVAL, "--append and --no-clobber exclude each other");
    return 0;
}

/* Without -o it goes to standard output; there is no summary beside it. */
static int plan_output(struct cli_settings *settings, struct outputs *ret,
                       struct spoor_error *err)
{
    if (!settings->output_path)
        settings->output_path = strdup("-");
    if (!settings->output_path)
        return error_set(err, ENOMEM, "out of memory");
    settings->is_quiet = true;
    return outputs_plan(settings, ret, err);
}

static int write_record(const struct record *record, const struct outputs *outputs,
                        struct spoor_error *err)
{
    CLEANUP(buffer_done) struct buffer text = { 0 };
    const struct output *output = &outputs->items[0];
    struct format_style style = format_style_for(output->fd, output->flags & SPOOR_COLOR);
    int r;

    style.has_header = outputs->save != SPOOR_APPEND || !save_has_content(output->path);
    format_get(output->format)->write(record, &style, &text);
    r = buffer_error(&text);
    if (r == 0 && output->fd < 0)
        return save_text(&text, output->path, outputs->save, err);
    if (r == 0)
        r = buffer_write(&text, output->fd);
    return r < 0 ? error_sys(err, r, "write the report") : 0;
}

int command_report(const struct command *command, int argc, char **argv)
{
    CLEANUP(settings_done) struct cli_settings settings;
    CLEANUP(outputs_done) struct outputs outputs = { .device_fd = -1 };
    struct spoor_error err = { 0 };
    const char *path = NULL;
    struct record record;
    int r;

    settings_init(&settings);
    if (read_arguments(argc, argv, &settings, &path, &err) < 0)
        return complain("%s", err.message);
    if (settings.action != CLI_WORK)
        return command_show(command, settings.action);
    if (plan_output(&settings, &outputs, &err) < 0 || record_load(path, &record, &err) < 0)
        return complain("%s", err.message);
    r = write_record(&record, &outputs, &err);
    record_done(&record);
    return r < 0 ? complain("%s", err.message) : 0;
}
