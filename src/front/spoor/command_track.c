/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "front/agent.h"
#include "front/spoor/live.h"
#include "front/spoor/outputs.h"
#include "front/spoor/settings.h"
#include "record/fill.h"
#include "run/process.h"
#include "run/track.h"
#include "text/escape.h"

/* ---- the report of a job that ran untracked ----------------------------- */

#define REASON "the job ran untracked"

int untracked_record_fill(const struct tracked *tracked, const struct spoor_options *options,
                          struct record *ret)
{
    struct host_facts host = { .cpus = UNKNOWN, .memory_bytes = UNKNOWN };
    static const struct series series;
    const struct limits limits = { .cpus = (double)NAN, .memory_bytes = UNKNOWN };
    const struct gpu_view gpu = { .state = GPU_PENDING, .reason = REASON };
    struct warning warning = { .code = "untracked" };
    struct summary summary;
    struct launch launch;
    char id[RUN_ID_SIZE], cwd[PATH_MAX];
    struct record_input input = {
        .id = options->id ? options->id : id,
        .name = options->name,
        .tags = options->tags,
        .command = options->command,
        .cwd = getcwd(cwd, sizeof(cwd)),
        .launch = &launch,
        .is_tracked = true,
        .has_ended = true,
        .wait_status = tracked->end.wait_status,
        .interval_ns = options->interval_ns,
        .host = &host,
        .limits = &limits,
        .gpu = &gpu,
        .summary = &summary,
        .series = &series,
        .tracker_cpu_ns = UNKNOWN,
        .tracker_max_rss_bytes = UNKNOWN,
        .budget = { .job_millionths = UINT64_MAX },
        .warnings = &warning,
        .warning_count = 1,
    };

    if (!options->id)
        record_make_id(id);
    launch_read(&launch, environment_own);
    (void)gethostname(host.hostname, sizeof(host.hostname) - 1); /* stays empty if unknown */
    summary_init(&summary, options->interval_ns);
    for (size_t i = 0; i < METRIC_COUNT; i++)
        summary.tally[i].origin.reason = REASON;
    (void)snprintf(warning.message, sizeof(warning.message), REASON ": %.200s", tracked->why);
    return record_fill(&input, ret);
}

static void set_times(const struct tracked *tracked, struct record *record)
{
    uint64_t now_ms = clock_now().realtime_ns / NS_PER_MS;

    record->elapsed_seconds = (double)tracked->elapsed_ns / 1e9;
    record->ended_at = (double)now_ms / 1e3;
    record->started_at = (double)(now_ms - tracked->elapsed_ns / NS_PER_MS) / 1e3;
}

struct run_report {
    const struct settings *settings;
    const struct outputs *outputs;
    const struct spoor_options *options;
    struct live *live;
    struct exporter *exporter;
    bool is_limit_kept;
};

/* Writes the report of a job that ran untracked. Returns false if a limit is broken, or could
 * not be checked. */
static bool untracked_report_write(const struct run_report *report,
                                   const struct tracked *tracked)
{
    struct record record;
    bool is_kept;

    if (untracked_record_fill(tracked, report->options, &record) < 0)
        return report->settings->limits.count == 0; /* no memory */
    set_times(tracked, &record);
    outputs_write_untracked(report->outputs, &record);
    is_kept = after_run_of(report->settings, report->outputs, &record);
    record_done(&record);
    return is_kept;
}

/* Exit code if the job succeeded but broke a limit of --max. */
enum { EXIT_LIMIT = 1 };

/* ---- run ----------------------------------------------------------------
 *
 * Everything is checked before the job is started. After that, no failure of ours may affect the
 * job: without a session it runs untracked, and if the report cannot be written, spoor still ends
 * as the job did: with its exit code, or by the signal that killed it.
 */

static int check_gpus(void *data, UNUSED pid_t pid, struct spoor_error *err)
{
    return gpus_check(data, err);
}

/* ---- the live view ---- */

/* Threads are started after the fork. */
static void start_views(void *data, UNUSED spoor_session *session, UNUSED pid_t pid)
{
    const struct run_report *report = data;
    struct spoor_error err;

    exporter_start(report->exporter);
    if (report->live && live_start(report->live, &err) < 0)
        complain("%s", err.message);
}

static void hide_live(void *data, bool is_stopping)
{
    live_hide(data, is_stopping);
}

/* Opens the live view. Returns NULL if none can be shown. */
static struct live *open_live(const struct settings *settings, char **command,
                              struct track_options *options)
{
    CLEANUP(buffer_done) struct buffer title = { 0 };
    struct live *live;

    if (settings->is_live && live_is_possible() && live_shares_stdout() &&
        !settings->is_live_line) {
        complain("no live view: the command writes to the same terminal (use --live=line, or "
                 "redirect its output, for example with >FILE)");
        return NULL;
    }
    escape_command((const char *const *)command, &title);
    live = live_begin(settings, &title, false, &options->session);
    if (live)
        options->supervision.stopping = hide_live;
    options->supervision.stopping_data = live;
    return live;
}

static void write_report(const struct tracked *tracked, void *data)
{
    struct run_report *report = data;

    live_stop(report->live);
    exporter_stop(report->exporter);
    if (tracked->session) {
        outputs_write(report->outputs, tracked->session);
        report->is_limit_kept = after_run(report->settings, report->outputs, tracked->session);
    } else {
        report->is_limit_kept = untracked_report_write(report, tracked);
    }
    exporter_end(report->exporter);
}

static int run_job(struct settings *settings, const struct outputs *outputs, char **command)
{
    struct track_options options = {
        .command = command,
        .session = session_options(settings),
        .supervision.waits_for_all = settings->wait_for == WAIT_FOR_ALL,
        .reports_untracked = true,
        .takes_phases = true,
        .warn = spoor_warn,
        .prepare = check_gpus,
        .prepare_data = settings,
        .started = start_views,
    };
    CLEANUP(live_close) struct live *live = open_live(settings, command, &options);
    CLEANUP(exporter_close) struct exporter *exporter = NULL;
    struct run_report report = { settings, outputs, &options.session, live, NULL, true };
    struct spoor_error err;
    int code;

    if (exporter_open(settings, &options.session, &exporter, &err) < 0)
        return complain("%s", err.message);
    report.exporter = exporter;
    options.started_data = &report;
    code = program_run(&spoor_program, &options, write_report, &report);
    return code == 0 && !report.is_limit_kept ? EXIT_LIMIT : code;
}

int command_run(struct settings *settings, char **command, int count)
{
    CLEANUP(outputs_done) struct outputs outputs = { 0 };
    struct rank_group group;
    struct spoor_error err;

    if (count == 0)
        return complain("missing command: spoor run [OPTIONS] -- COMMAND [ARGUMENT...]");
    if (command[0][0] == '\0')
        return complain("empty command: spoor run [OPTIONS] -- COMMAND [ARGUMENT...]");
    if (outputs_plan(settings, &outputs, &err) < 0)
        return complain("%s", err.message);
    rank_group_begin(settings, command, &group);
    outputs.group = group.folder[0] ? &group : NULL;
    return run_job(settings, &outputs, command);
}

/* ---- attach and system ------------------------------------------------------------- */

/* Writes "process 4242 (python3)", or the name of the run, the cgroup or the machine. */
static void write_title(const struct settings *settings, struct buffer *out)
{
    char host[HOST_NAME_MAX + 1] = "";
    const char *name = settings->name ? settings->name : settings->cgroup;
    struct pid_stat process = { 0 };
    struct root root = ROOT_CLOSED;

    (void)gethostname(host, sizeof(host) - 1); /* empty if unknown */
    if (name || settings->has_no_job) {
        escape_terminal(name ? name : host, out);
        return;
    }
    buffer_format(out, "process %d", (int)settings->pid);
    if (root_open(NULL, &root) == 0 &&
        pid_stat_read(NULL, &root, settings->pid, &process) == 0) {
        buffer_add_text(out, " (");
        escape_terminal(process.comm, out);
        buffer_add_text(out, ")");
    }
    root_close(&root);
}

/* A report of the machine that goes to a file or has a format for programs is written at once,
 * without a view. */
static struct live *begin_live(const struct settings *settings, struct spoor_options *options)
{
    CLEANUP(buffer_done) struct buffer title = { 0 };

    if (settings->has_no_job && settings->stream_count == 0 &&
        (settings->has_format || !isatty(STDOUT_FILENO) || settings->outputs.count > 1 ||
         strcmp(settings->outputs.items[0], "-") != 0))
        return NULL;
    write_title(settings, &title);
    return live_begin(settings, &title, true, options);
}

struct system_report {
    const struct outputs *outputs;
    spoor_session *session;
};

static int write_system_report(void *data)
{
    const struct system_report *report = data;
    struct spoor_error err = { 0 };
    int code = 0;

    for (size_t i = 0; i < report->outputs->count; i++) {
        if (outputs_write_one(report->outputs, i, report->session, &err) < 0)
            code = complain("%s", err.message);
    }
    return code;
}

/* Whether a report of the machine is the only output. With rows or exported samples, the
 * machine is tracked until the end, and the summary has the form of a run's summary. */
static bool is_once(const struct settings *settings)
{
    return settings->has_no_job && settings->stream_count == 0 &&
           !export_is_requested(settings);
}

static int follow(struct settings *settings, const struct outputs *outputs)
{
    CLEANUP(live_close) struct live *live = NULL; /* after the session */
    CLEANUP(exporter_close) struct exporter *exporter = NULL;
    CLEANUP(attachment_close) struct attachment attachment = { .session = NULL };
    struct spoor_options options = session_options(settings);
    uint64_t duration_ns = settings->duration_ns; /* 0: no end */
    struct system_report report = { .outputs = outputs };
    struct spoor_error err = { 0 };
    int code;

    options.pid = settings->pid;
    if (settings->cgroup) {
        options.flags |= SPOOR_TRACK_CGROUP;
        options.cgroup_folder = settings->cgroup;
        options.name = settings->name ? settings->name : settings->cgroup;
    }
    if (gpus_check(settings, &err) < 0)
        return complain("%s", err.message);
    live = begin_live(settings, &options);
    if (exporter_open(settings, &options, &exporter, &err) < 0)
        return complain("%s", err.message);
    exporter_start(exporter);
    if (duration_ns == 0 && !live && is_once(settings))
        duration_ns = settings->interval_ns;
    code = attachment_follow(&spoor_program, &options, duration_ns, live_end_fd(live),
                             outputs_reader_fd(settings), &attachment);
    live_stop(live);
    exporter_stop(exporter);
    report.session = attachment.session;
    if (code == 0 && is_once(settings)) {
        code = program_write_report(&spoor_program, write_system_report, &report);
    } else if (code == 0) {
        outputs_write(outputs, attachment.session);
        (void)after_run(settings, outputs, attachment.session); /* no limits: cannot fail */
    }
    if (attachment.session)
        exporter_end(exporter);
    return code;
}

/* The operand is already in the settings. */
int command_attach(struct settings *settings, UNUSED char **operands, UNUSED int count)
{
    CLEANUP(outputs_done) struct outputs outputs = { 0 };
    struct spoor_error err;

    if (settings->process_name && watch_find(settings->process_name, &settings->pid, &err) < 0)
        return complain("%s", err.message);
    if (settings->pid == 0 && !settings->cgroup)
        return complain("missing process: spoor attach [OPTIONS] PID|NAME");
    if (outputs_plan(settings, &outputs, &err) < 0)
        return complain("%s", err.message);
    return follow(settings, &outputs);
}

int command_system(struct settings *settings, UNUSED char **operands, UNUSED int count)
{
    CLEANUP(outputs_done) struct outputs outputs = { 0 };
    struct spoor_error err;

    if ((is_once(settings) ? outputs_plan_stdout(settings, &outputs, &err)
                           : outputs_plan(settings, &outputs, &err)) < 0)
        return complain("%s", err.message);
    return follow(settings, &outputs);
}

/* ---- agent -------------------------------------------------------------- */

/* Reports failures as warnings in the result, since the agent's stderr is /dev/null. */
static void write_files(spoor_session *session, void *data)
{
    const struct outputs *outputs = data;

    for (size_t i = 0; i < outputs->count; i++) {
        struct spoor_error err = { 0 };

        if (outputs_write_one(outputs, i, session, &err) < 0)
            spoor_session_warn(session, "output", err.message);
    }
}

static int add_report(spoor_session *session, UNUSED void *data, struct json_writer *json,
                      struct spoor_error *err)
{
    CLEANUP(buffer_done) struct buffer text = { 0 };
    int r = tracking_agent_add_report(session, json, err);

    if (r == 0)
        r = tracking_agent_format(session, SPOOR_TEXT, &text, err);
    if (r == 0)
        json_add_text(json, "text", text.text);
    return r;
}

static int serve(struct settings *settings)
{
    static const struct tracking_agent_kind kind = { write_files, add_report };
    CLEANUP(outputs_done) struct outputs outputs = { 0 };
    CLEANUP(attachment_close) struct attachment attachment = { .session = NULL };
    struct spoor_options options = session_options(settings);
    struct agent_answer ready;
    struct spoor_error err = { 0 };

    options.pid = settings->pid;
    settings->is_quiet = true;
    if (settings->pid == 0)
        return agent_refuse(EINVAL, "missing PID: spoor agent --pid PID");
    if (gpus_check(settings, &err) < 0 || outputs_plan(settings, &outputs, &err) < 0 ||
        attachment_open(&options, &attachment, &err) < 0)
        return agent_refuse(err.code, err.message);
    agent_begin_ready(&ready);
    agent_end_answer(&ready);
    return tracking_agent_serve(&attachment, &kind, &outputs);
}

int command_agent(const struct command *command, int argc, char **argv)
{
    CLEANUP(settings_done) struct settings settings;
    struct arguments arguments = ARGUMENTS_INIT(&spoor_program, command, &settings);
    struct spoor_error err = { 0 };

    agent_begin();
    settings_init(&settings);
    if (settings_load(&arguments, argc, argv, &err) < 0)
        return agent_refuse(err.code, err.message);
    return arguments.action == ACTION_WORK ? serve(&settings) : program_show(&arguments);
}
