/* SPDX-License-Identifier: Apache-2.0 */
/*
 * command_run.c - spoor run.
 *
 * Whatever can be refused is refused before the job is started. After that, no failure of
 * ours may fail the job: without a session it runs untracked, and if the report cannot be
 * written, we still end as the job did: with its exit code, or of the signal that killed it.
 */
#include <unistd.h>

#include "base/compiler.h"
#include "base/error.h"
#include "front/spoor/gpus_check.h"
#include "front/spoor/live.h"
#include "front/spoor/outputs.h"
#include "front/spoor/program.h"
#include "front/spoor/session_options.h"
#include "front/spoor/untracked_report.h"
#include "text/escape.h"

static void say(const char *message)
{
    complain("%s", message);
}

static int check_gpus(void *data, pid_t pid, struct spoor_error *err)
{
    (void)pid;
    return gpus_check(data, err);
}

/* ---- the live view ---- */

/* The thread that draws is started after the fork. */
static void start_live(void *data, spoor_session *session, pid_t pid)
{
    struct spoor_error err;

    (void)session;
    (void)pid;
    if (live_start(data, &err) < 0)
        complain("%s", err.message);
}

static void hide_live(void *data, bool is_stopping)
{
    live_hide(data, is_stopping);
}

/* NULL: there is none. */
static struct live *open_live(const struct settings *settings, char **command,
                              struct track_options *options)
{
    struct live_options own = {
        .scope = LIVE_JOB,
        .interval_ns = settings->interval_ns,
        .has_color = outputs_has_color(settings->color, STDERR_FILENO),
    };
    struct buffer title = { 0 };
    struct live *live;
    struct spoor_error err;

    if (!settings->is_live || !live_is_possible())
        return NULL;
    if (live_shares_stdout()) {
        complain("no live view: the command writes to the same terminal (redirect its output, "
                 "for example with >FILE)");
        return NULL;
    }
    escape_command((const char *const *)command, &title);
    own.title = title.text ? title.text : "";
    live = live_open(&own, &err);
    buffer_done(&title);
    if (!live) {
        complain("%s", err.message);
        return NULL;
    }
    options->session.sample_seen = live_sample_seen;
    options->started = start_live;
    options->stopping = hide_live;
    options->session.sample_data = options->started_data = options->stopping_data = live;
    return live;
}

struct report {
    const struct outputs *outputs;
    const struct spoor_options *options;
    struct live *live;
};

static void write_report(const struct tracked *tracked, void *data)
{
    const struct report *report = data;

    live_stop(report->live);
    if (tracked->session)
        outputs_write(report->outputs, tracked->session);
    else
        untracked_report_write(report->outputs, tracked, report->options);
}

static int run_job(struct settings *settings, const struct outputs *outputs, char **command)
{
    struct track_options options = {
        .command = command,
        .session = session_options(settings),
        .waits_for_all = settings->wait_for == WAIT_FOR_ALL,
        .reports_untracked = true,
        .takes_phases = true,
        .say = say,
        .prepare = check_gpus,
        .prepare_data = settings,
    };
    CLEANUP(live_cleanup) struct live *live = open_live(settings, command, &options);

    return program_run(&spoor_program, &options, write_report,
                       &(struct report){ outputs, &options.session, live });
}

int command_run(const struct command *command, int argc, char **argv)
{
    CLEANUP(settings_done) struct settings settings;
    struct arguments arguments;
    CLEANUP(outputs_done) struct outputs outputs = { .device_fd = -1 };
    struct spoor_error err;
    int code = settings_begin(&settings, &arguments, command, argc, argv);

    if (code >= 0)
        return code;
    if (arguments.first_operand >= argc)
        return complain("missing command: spoor run [OPTIONS] -- COMMAND [ARGUMENT...]");
    if (argv[arguments.first_operand][0] == '\0')
        return complain("empty command: spoor run [OPTIONS] -- COMMAND [ARGUMENT...]");
    if (outputs_plan(&settings, &outputs, &err) < 0)
        return complain("%s", err.message);
    return run_job(&settings, &outputs, argv + arguments.first_operand);
}
