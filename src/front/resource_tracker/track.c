/* SPDX-License-Identifier: Apache-2.0 */
/*
 * track.c - the samples of a command, of a process or of the machine alone.
 *
 * Whatever can be refused is refused before the command starts. After that, no failure of ours may
 * fail it.
 */
#include "front/resource_tracker/track.h"

#include <errno.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "front/common/attachment.h"
#include "front/resource_tracker/config.h"
#include "front/resource_tracker/options.h"
#include "front/resource_tracker/program.h"
#include "front/resource_tracker/upload.h"
#include "output/stream.h"
#include "run/reraise.h"
#include "run/track.h"

#define DIALECT "resource-tracker-rs"

#define complain(...) program_complain(&resource_tracker_program, __VA_ARGS__)

struct run {
    const struct tracker_settings *settings;
    struct spoor_options options;
    struct spoor_stream streams[2];
    struct upload_process upload;
};

/* The samples of the run. */
static struct spoor_stream make_stream(const struct tracker_settings *settings)
{
    return (struct spoor_stream){
        .path = settings->output_path ? settings->output_path : "/dev/stderr",
        .dialect = DIALECT,
        .format = settings->format == TRACKER_CSV ? "csv" : "jsonl",
    };
}

/* Borrows from the settings and the stream. */
static struct spoor_options make_options(const struct tracker_settings *settings,
                                         const struct spoor_stream *stream)
{
    struct spoor_options options = SPOOR_OPTIONS_INIT;

    options.interval_ns = settings->interval_ns;
    options.name = settings->job_name;
    options.tags = (const char *const *)settings->tags.items;
    options.streams = stream;
    options.stream_count = settings->is_quiet ? 0 : 1;
    return options;
}

/* Before a command starts: afterwards, a file that cannot be written must not stop it. */
static int check_output(const struct spoor_stream *stream, struct spoor_error *err)
{
    struct stream found;
    int r = stream_find(stream->path, stream->dialect, stream->format, true, &found, err);

    if (r == 0)
        r = stream_check(&found, stream->path, OUTPUT_TRUNCATE, err);
    return r < 0 ? error_prefix(err, r, "cannot write to '%s'", stream->path) : 0;
}

static void say(const char *message)
{
    complain("%s", message);
}

/* Not to a stderr that is full: its reader would hold us up, and may be why samples are lost. */
static void warn_about_lost_samples(spoor_session *session)
{
    const char *message = spoor_session_warning(session, "samples-lost");
    struct pollfd output = { .fd = STDERR_FILENO, .events = POLLOUT };

    if (message && poll(&output, 1, 0) == 1)
        program_warn(&resource_tracker_program, "%s", message);
}

static void begin_upload(void *data, spoor_session *session, pid_t pid)
{
    const struct run *run = data;

    (void)session;
    (void)pid;
    upload_process_begin(&run->upload);
}

static int run_command(struct run *run, char **command)
{
    struct track_options options = { .command = command,
                                     .session = run->options,
                                     .say = say,
                                     .started = begin_upload,
                                     .started_data = run };
    struct spoor_error err = { 0 };
    struct tracked tracked;
    int code;

    switch (track(&options, &tracked, &err)) {
    case TRACK_REFUSED:
        upload_process_cancel(&run->upload);
        return complain("%s", err.message);
    case TRACK_NO_EXEC:
        upload_process_cancel(&run->upload);
        return program_refuse_exec(&resource_tracker_program, command[0], err.code);
    case TRACK_RAN:
        break;
    }
    if (tracked.session)
        warn_about_lost_samples(tracked.session);
    else
        upload_process_cancel(&run->upload); /* there are no samples */
    spoor_session_close(tracked.session);
    code = supervise_exit_code(tracked.end.wait_status);
    tracker_upload_end(&run->upload, code, run->settings->is_quiet);
    if (WIFSIGNALED(tracked.end.wait_status))
        reraise(WTERMSIG(tracked.end.wait_status));
    return code;
}

/* The exit code of a process that is not our child is known since Linux 6.15. */
static int exit_code_of(const struct attachment *attachment, enum watch_end end)
{
    int wait_status;

    if (end != WATCH_PROCESS_ENDED || watch_wait_status(&attachment->watch, &wait_status) < 0)
        return 0;
    return supervise_exit_code(wait_status);
}

/* Until the process ends, or a signal comes. */
static int follow(struct run *run)
{
    CLEANUP(attachment_close) struct attachment attachment = { .session = NULL };
    enum watch_end end = WATCH_INTERRUPTED;
    struct spoor_error err = { 0 };

    if (attachment_open(&run->options, &attachment, &err) < 0) {
        upload_process_cancel(&run->upload);
        return complain("%s", err.message);
    }
    upload_process_begin(&run->upload);
    if (watch_wait(&attachment.watch, 0, &end, &err) < 0)
        complain("%s", err.message);
    if (attachment_stop(&attachment, end, &err) < 0)
        complain("%s", err.message);
    warn_about_lost_samples(attachment.session);
    tracker_upload_end(&run->upload, exit_code_of(&attachment, end), run->settings->is_quiet);
    return 0;
}

/* The samples once more, for the uploads of the run. */
static void add_upload(struct run *run)
{
    if (run->upload.pid == 0)
        return;
    run->streams[run->options.stream_count++] =
        (struct spoor_stream){ run->upload.rows_path, DIALECT, "csv" };
}

int resource_tracker_main(const struct command *command, int argc, char **argv)
{
    CLEANUP(tracker_settings_done) struct tracker_settings settings;
    struct arguments arguments = ARGUMENTS_INIT(&resource_tracker_program, command, &settings);
    struct run run = { .settings = &settings };
    struct spoor_error err = { 0 };
    char **job;
    int code;

    tracker_settings_init(&settings);
    code = program_read(&arguments, argc, argv);
    if (code >= 0)
        return code;
    if (tracker_config_read(&arguments, settings.config_path, &err) < 0)
        return complain("%s", err.message);
    run.streams[0] = make_stream(&settings);
    if (!settings.is_quiet && check_output(&run.streams[0], &err) < 0)
        return complain("%s", err.message);
    run.options = make_options(&settings, run.streams);
    job = arguments.first_operand < argc ? argv + arguments.first_operand : NULL;
    tracker_upload_start(&settings, (const char *const *)job, &run.upload);
    add_upload(&run);
    if (job)
        return run_command(&run, job);
    run.options.pid = settings.pid;
    return follow(&run);
}
