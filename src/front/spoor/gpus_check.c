/* SPDX-License-Identifier: Apache-2.0 */
#include "front/spoor/gpus_check.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"

#define LIBRARY_PREFIX "--gpus: "

void gpus_name_source(const struct settings *settings, struct spoor_error *err)
{
    size_t skipped = strlen(LIBRARY_PREFIX);

    if (settings->gpus_source == SET_BY_OPTION ||
        strncmp(err->message, LIBRARY_PREFIX, skipped) != 0)
        return;
    memmove(err->message, err->message + skipped, strlen(err->message + skipped) + 1);
    if (settings->gpus_source == SET_BY_VARIABLE)
        (void)error_prefix(err, err->code, "SPOOR_GPUS");
    else
        (void)error_prefix(err, err->code, "%s: gpus", settings->config_path);
}

static void pass_over(const struct spoor_gpu *gpu, void *data)
{
    (void)gpu;
    (void)data;
}

int gpus_check(const struct settings *settings, struct spoor_error *err)
{
    const char *gpus = settings->gpus;
    int r;

    if (!gpus || strcasecmp(gpus, "all") == 0 || strcasecmp(gpus, "none") == 0)
        return 0;
    r = spoor_gpu_list(NULL, gpus, pass_over, NULL, err);
    if (r != -ENOENT && r != -ENOTUNIQ)
        return 0;
    gpus_name_source(settings, err);
    return -EINVAL;
}
