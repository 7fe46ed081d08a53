/* SPDX-License-Identifier: Apache-2.0 */
/* command_report.c - spoor report: a stored JSON report in any format. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "front/spoor/outputs.h"
#include "front/spoor/program.h"
#include "output/format.h"
#include "output/save.h"
#include "record/load.h"

/* Without -o it goes to standard output; there is no summary beside it. */
static int plan_output(struct settings *settings, struct outputs *ret, struct spoor_error *err)
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
    return r < 0 ? error_sys(err, r, "cannot write the report") : 0;
}

int command_report(const struct command *command, int argc, char **argv)
{
    CLEANUP(settings_done) struct settings settings;
    CLEANUP(outputs_done) struct outputs outputs = { .device_fd = -1 };
    struct arguments arguments = ARGUMENTS_INIT(&spoor_program, command, &settings);
    struct spoor_error err = { 0 };
    struct record record;
    int code, r;

    settings_init(&settings);
    code = settings_begin(&arguments, argc, argv);
    if (code >= 0)
        return code;
    if (arguments.operand_count == 0)
        return complain("missing argument: spoor report [OPTIONS] FILE");
    if (plan_output(&settings, &outputs, &err) < 0 ||
        record_load(arguments.operands[0], &record, &err) < 0)
        return complain("%s", err.message);
    r = write_record(&record, &outputs, &err);
    record_done(&record);
    return r < 0 ? complain("%s", err.message) : 0;
}
