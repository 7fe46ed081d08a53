/* SPDX-License-Identifier: Apache-2.0 */
#include "compat/resource_tracker/upload.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "compat/resource_tracker/program.h"
#include "compat/resource_tracker/run_description.h"
#include "front/arguments.h"
#include "services/upload/uploader.h"

enum { REQUEST_TIMEOUT_MS = 30000 };

#define warn(...) program_warn(&resource_tracker_program, __VA_ARGS__)

void tracker_upload_start(const struct tracker_settings *settings, const char *const *command,
                          struct upload_process *ret)
{
    CLEANUP(buffer_done) struct buffer metadata = { 0 };
    struct upload_settings upload;
    struct upload_order order = { .settings = &upload,
                                  .metadata = &metadata,
                                  .add_machine = run_description_add_machine };
    struct spoor_error err = { 0 };
    int r = upload_settings_read(environment_own, &upload, &err);

    *ret = (struct upload_process){ 0 };
    if (r == 0 && *upload.token == '\0')
        return;
    if (r == 0) {
        run_description_write(settings, command, &metadata);
        r = upload_process_start(&order, ret, &err);
    }
    if (r < 0)
        warn("samples are not uploaded: %s", err.message);
}

void tracker_upload_end(struct upload_process *process, int exit_code, bool is_quiet)
{
    struct pollfd output = { .fd = STDERR_FILENO, .events = POLLOUT };
    struct upload_result result;
    bool has_room;

    if (process->pid == 0)
        return;
    upload_process_end(process, exit_code, exit_code != 0, &result);
    has_room = poll(&output, 1, 0) == 1; /* otherwise the reader of stderr would hold us up */
    if (!result.is_complete && !is_quiet && has_room)
        warn("upload incomplete: %s; %" PRIu64
             " %s kept in %s and will be sent by the next run, or by "
             "'resource-tracker upload'",
             result.err.message, result.kept_rows,
             result.kept_rows == 1 ? "sample is" : "samples are", process->path);
    if (result.dropped_rows > 0 && has_room)
        warn("%" PRIu64 " %s dropped: too many waited to be uploaded; see "
             "TRACKER_UPLOAD_DISK_LIMIT",
             result.dropped_rows, result.dropped_rows == 1 ? "sample was" : "samples were");
    buffer_done(&result.summary);
}

/* ---- resource-tracker upload ------------------------------------------------ */

static const char *plural(uint64_t count)
{
    return count == 1 ? "" : "s";
}

static int show(const struct kept_report *report)
{
    if (report->sent_runs > 0 && report->sent_rows == 1)
        printf("runs uploaded: %" PRIu64 " (1 sample)\n", report->sent_runs);
    else if (report->sent_runs > 0)
        printf("runs uploaded: %" PRIu64 " (%" PRIu64 " samples)\n", report->sent_runs,
               report->sent_rows);
    if (report->busy_runs > 0)
        printf("runs in progress, skipped: %" PRIu64 "\n", report->busy_runs);
    if (report->sent_runs + report->busy_runs + report->kept_runs == 0)
        printf("nothing to upload\n");
    if (report->kept_runs == 0)
        return 0;
    return program_complain(&resource_tracker_program,
                            "%s; still kept: %" PRIu64 " sample%s of %" PRIu64 " run%s",
                            report->err.message, report->kept_rows, plural(report->kept_rows),
                            report->kept_runs, plural(report->kept_runs));
}

int tracker_upload_main(const struct command *command, int argc, char **argv)
{
    CLEANUP(tracker_settings_done) struct tracker_settings settings;
    struct arguments arguments = ARGUMENTS_INIT(&resource_tracker_program, command, &settings);
    struct upload_settings upload;
    struct uploader uploader = { .settings = &upload,
                                 .add_machine = run_description_add_machine,
                                 .timeout_ms = REQUEST_TIMEOUT_MS };
    struct kept_report report;
    struct spoor_error err = { 0 };
    int code;

    tracker_settings_init(&settings);
    code = program_read(&arguments, argc, argv);
    if (code >= 0)
        return code;
    if (upload_settings_read(environment_own, &upload, &err) < 0)
        return program_complain(&resource_tracker_program, "%s", err.message);
    if (*upload.token == '\0')
        return program_complain(&resource_tracker_program,
                                "nothing can be uploaded: set SENTINEL_API_TOKEN");
    if (kept_runs_send(&uploader, &report) < 0)
        return program_complain(&resource_tracker_program,
                                "the directory of kept samples cannot be read");
    uploader_done(&uploader);
    return show(&report);
}
