/* SPDX-License-Identifier: Apache-2.0 */
/*
 * track.c - the samples of a command, of a process or of the machine alone.
 *
 * Whatever can be refused is refused before the command starts. After that, no failure of ours may
 * fail it.
 */
#include "front/resource_tracker/track.h"

#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "front/common/attachment.h"
#include "front/resource_tracker/config.h"
#include "front/resource_tracker/options.h"
#include "front/resource_tracker/program.h"
#include "output/stream.h"

#define complain(...) program_complain(&resource_tracker_program, __VA_ARGS__)

/* The samples of the run. */
static struct spoor_stream make_stream(const struct tracker_settings *settings)
{
    return (struct spoor_stream){
        .path = settings->output_path ? settings->output_path : "/dev/stderr",
        .dialect = "resource-tracker-rs",
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
static void warn_about_lost_samples(spoor_session *session, void *data)
{
    const char *message = spoor_session_warning(session, "samples-lost");
    struct pollfd output = { .fd = STDERR_FILENO, .events = POLLOUT };

    (void)data;
    if (message && poll(&output, 1, 0) == 1)
        program_warn(&resource_tracker_program, "%s", message);
}

static int run_command(const struct spoor_options *session, char **command)
{
    struct track_options options = { .command = command, .session = *session, .say = say };

    return program_run(&resource_tracker_program, &options, warn_about_lost_samples, NULL);
}

/* Until the process ends, or a signal comes. */
static int follow(const struct spoor_options *options)
{
    CLEANUP(attachment_close) struct attachment attachment = { .session = NULL };
    int code = attachment_follow(&resource_tracker_program, options, 0, -1, -1, &attachment);

    if (code == 0)
        warn_about_lost_samples(attachment.session, NULL);
    return code;
}

static void warn_about_uploads(void)
{
    const char *token = getenv("SENTINEL_API_TOKEN");

    if (token && *token != '\0')
        program_warn(
            &resource_tracker_program,
            "SENTINEL_API_TOKEN is set, but uploads are not available yet: samples are "
            "only written locally");
}

int resource_tracker_main(const struct command *command, int argc, char **argv)
{
    CLEANUP(tracker_settings_done) struct tracker_settings settings;
    struct arguments arguments = ARGUMENTS_INIT(&resource_tracker_program, command, &settings);
    struct spoor_stream stream;
    struct spoor_options options;
    struct spoor_error err = { 0 };
    int code;

    tracker_settings_init(&settings);
    code = program_read(&arguments, argc, argv);
    if (code >= 0)
        return code;
    if (tracker_config_read(&arguments, settings.config_path, &err) < 0)
        return complain("%s", err.message);
    stream = make_stream(&settings);
    if (!settings.is_quiet && check_output(&stream, &err) < 0)
        return complain("%s", err.message);
    options = make_options(&settings, &stream);
    warn_about_uploads();
    if (arguments.first_operand < argc)
        return run_command(&options, argv + arguments.first_operand);
    options.pid = settings.pid;
    return follow(&options);
}
