/* SPDX-License-Identifier: Apache-2.0 */
/* report_output.c - the format and the destination of the reports of analyze and compare. */
#include "compat/gpu_tracker/subtrack/commands.h"

#include "base/compiler.h"
#include "base/error.h"
#include "compat/gpu_tracker/program.h"

int subtrack_format(const struct subtrack_settings *settings, enum gpu_tracker_format *ret)
{
    struct spoor_error err;

    if (gpu_tracker_format_parse(settings->format, ret, &err) < 0)
        return gpu_tracker_error("%s", err.message);
    return 0;
}

/* The report is complete before the file is touched. */
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
