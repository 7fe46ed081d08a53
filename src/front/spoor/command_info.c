/* SPDX-License-Identifier: Apache-2.0 */
/* command_info.c - spoor info: what machine this is, its cloud and its GPUs. */
#include <errno.h>
#include <unistd.h>

#include "base/compiler.h"
#include "front/spoor/gpus_check.h"
#include "front/spoor/program.h"
#include "services/cloud/cloud.h"

int command_info(const struct command *command, int argc, char **argv)
{
    CLEANUP(settings_done) struct settings settings;
    struct arguments arguments;
    struct root root = ROOT_CLOSED;
    struct spoor_error err = { 0 }, cloud_err = { 0 };
    struct cloud_facts facts = { 0 };
    struct spoor_cloud cloud;
    int code = settings_begin(&settings, &arguments, command, argc, argv);
    int r;

    if (code >= 0)
        return code;
    r = root_open(NULL, &root);
    if (r == 0)
        r = cloud_find(&root, &facts, &cloud_err);
    root_close(&root);
    cloud = cloud_describe(&facts);
    cloud.reason = r < 0 && r != -ENODEV ? cloud_err.message : NULL;
    if (spoor_machine_write(NULL, settings.gpus, &cloud, settings.format, STDOUT_FILENO, &err) <
        0) {
        gpus_name_source(&settings, &err);
        return complain("%s", err.message);
    }
    return 0;
}
