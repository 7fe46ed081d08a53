/* SPDX-License-Identifier: Apache-2.0 */
#include "front/gpu_tracker/subtrack_report.h"

#include "base/compiler.h"
#include "base/error.h"
#include "front/gpu_tracker/log.h"

int subtrack_format(const struct subtrack_settings *settings, enum gpu_tracker_format *ret)
{
    struct spoor_error err;

    if (gpu_tracker_format_parse(settings->format, ret, &err) < 0)
        return gpu_tracker_error("%s", err.message);
    return 0;
}

/* All of it is made before the file is touched. */
int subtrack_write(const struct subtrack_settings *settings, enum gpu_tracker_format format,
                   subtrack_writer *write, const void *data)
{
    CLEANUP(buffer_done) struct buffer report = { 0 };
    struct spoor_error err;
    int r = write(format, data, &report);

    if (r == 0)
        r = buffer_error(&report);
    if (r < 0)
        (void)error_sys(&err, r, "The report cannot be made");
    else
        r = gpu_tracker_output_write(settings->output, report.text, &err);
    return r < 0 ? gpu_tracker_error("%s", err.message) : 0;
}
