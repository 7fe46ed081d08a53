/* SPDX-License-Identifier: Apache-2.0 */
/* command_report.c - spoor report: stored JSON reports in any format. */
#include "base/compiler.h"
#include "front/spoor/outputs.h"
#include "front/spoor/program.h"
#include "output/save.h"
#include "record/load.h"

static int write_records(const struct records *records, const struct outputs *outputs,
                         struct spoor_error *err)
{
    const struct output *output = &outputs->items[0];

    return output->fd >= 0 ? save_to_descriptor(records->items, records->count, output->format,
                                                output->flags & SPOOR_COLOR, output->fd, err)
                           : save_to_file(records->items, records->count, output->format,
                                          output->path, output->save, err);
}

int command_report(const struct command *command, int argc, char **argv)
{
    CLEANUP(settings_done) struct settings settings;
    CLEANUP(outputs_done) struct outputs outputs = { .device_fd = -1 };
    struct arguments arguments;
    struct spoor_error err = { 0 };
    CLEANUP(records_done) struct records records = { 0 };
    int code = settings_begin(&settings, &arguments, command, argc, argv);

    if (code >= 0)
        return code;
    if (arguments.operand_count == 0)
        return complain("missing argument: spoor report [OPTIONS] FILE");
    if (outputs_plan_stdout(&settings, &outputs, &err) < 0 ||
        records_load(arguments.operands[0], &records, &err) < 0 ||
        write_records(&records, &outputs, &err) < 0)
        return complain("%s", err.message);
    return 0;
}
