/* SPDX-License-Identifier: Apache-2.0 */
/* command_info.c - spoor info: what machine this is, and its GPUs. */
#include <unistd.h>

#include "base/compiler.h"
#include "front/common/command.h"
#include "front/common/gpus_check.h"
#include "front/common/message.h"

int command_info(const struct command *command, int argc, char **argv)
{
    CLEANUP(settings_done) struct cli_settings settings;
    struct spoor_error err = { 0 };
    int operand = 0;
    int code;

    settings_init(&settings);
    code = command_begin(command, argc, argv, &settings, &operand);
    if (code >= 0)
        return code;
    if (settings.format == SPOOR_CSV)
        return complain("--format: info is told in text or json");
    if (spoor_machine_write(NULL, settings.gpus, settings.format, STDOUT_FILENO, &err) < 0) {
        gpus_name_source(&settings, &err);
        return complain("%s", err.message);
    }
    return 0;
}
