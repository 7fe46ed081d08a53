/* SPDX-License-Identifier: Apache-2.0 */
/*
 * track.c - the samples of a command, of a process or of the machine alone.
 *
 * Whatever can be refused is refused before the command starts. After that, no failure of ours may
 * fail it.
 */
#include "compat/resource_tracker/track.h"

#include <poll.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "compat/resource_tracker/config.h"
#include "compat/resource_tracker/options.h"
#include "compat/resource_tracker/program.h"
#include "compat/resource_tracker/upload.h"
#include "front/attachment.h"
#include "output/stream.h"

#define DIALECT "resource-tracker-rs"

#define complain(...) program_complain(&resource_tracker_program, __VA_ARGS__)

struct run {
    const struct tracker_settings *settings;
    struct spoor_options options;
    struct spoor_stream streams[2];
    struct upload_process upload;
    bool has_begun; /* the upload */
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

static void finish(const struct tracked *tracked, void *data)
{
    struct run *run = data;

    warn_about_lost_samples(tracked->session);
    tracker_upload_end(&run->upload, supervise_exit_code(tracked->end.wait_status),
                       run->settings->is_quiet);
}

static int run_command(struct run *run, char **command)
{
    struct track_options options = { .command = command, .session = run->options, .say = say };
    int code = program_run(&resource_tracker_program, &options, finish, run);

    upload_process_cancel(&run->upload); /* if the command was not tracked */
    return code;
}

/* Until the process ends, or a signal comes. */
static int follow(struct run *run)
{
    CLEANUP(attachment_close) struct attachment attachment = { .session = NULL };
    int code =
        attachment_follow(&resource_tracker_program, &run->options, 0, -1, -1, &attachment);

    if (code == 0) {
        warn_about_lost_samples(attachment.session);
        tracker_upload_end(&run->upload, 0, run->settings->is_quiet);
    }
    upload_process_cancel(&run->upload); /* if there was nothing to track */
    return code;
}

/* The first sample: the run is tracked. */
static void begin_upload(const struct spoor_sample *sample, void *data)
{
    struct run *run = data;

    (void)sample;
    if (!run->has_begun)
        upload_process_begin(&run->upload);
    run->has_begun = true;
}

/* The samples once more, for the uploads of the run. */
static void add_upload(struct run *run)
{
    if (run->upload.pid == 0)
        return;
    run->options.sample_seen = begin_upload;
    run->options.sample_data = run;
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
