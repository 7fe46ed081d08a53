/* SPDX-License-Identifier: Apache-2.0 */
#include "front/gpu_tracker/subtrack_report.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "front/gpu_tracker/program.h"

int subtrack_format(const struct subtrack_settings *settings, enum gpu_tracker_format *ret)
{
    struct spoor_error err;

    if (gpu_tracker_format_parse(settings->format, ret, &err) < 0)
        return gpu_tracker_error("%s", err.message);
    return 0;
}

/* All of it is made before the file is touched. */
static char *make(enum gpu_tracker_format format, subtrack_writer *write, const void *data)
{
    char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    int r;

    if (!out)
        return NULL;
    r = write(format, data, out);
    if (fclose(out) != 0 || r < 0) {
        free(text);
        return NULL;
    }
    return text;
}

int subtrack_write(const struct subtrack_settings *settings, enum gpu_tracker_format format,
                   subtrack_writer *write, const void *data)
{
    AUTO_FREE char *text = make(format, write, data);
    struct spoor_error err;

    if (!text)
        return gpu_tracker_error("out of memory");
    if (gpu_tracker_output_write(settings->output, text, &err) < 0)
        return gpu_tracker_error("%s", err.message);
    return 0;
}
