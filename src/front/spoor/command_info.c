/* SPDX-License-Identifier: Apache-2.0 */
/* command_info.c - spoor info: what machine this is, and its GPUs. */
#include <unistd.h>

#include "base/compiler.h"
#include "front/spoor/gpus_check.h"
#include "front/spoor/program.h"

int command_info(const struct command *command, int argc, char **argv)
{
    CLEANUP(settings_done) struct settings settings;
    struct arguments arguments;
    struct spoor_error err = { 0 };
    int code = settings_begin(&settings, &arguments, command, argc, argv);

    if (code >= 0)
        return code;
    if (spoor_machine_write(NULL, settings.gpus, settings.format, STDOUT_FILENO, &err) < 0) {
        gpus_name_source(&settings, &err);
        return complain("%s", err.message);
    }
    return 0;
}
