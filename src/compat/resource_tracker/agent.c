/* SPDX-License-Identifier: Apache-2.0 */
#include "compat/resource_tracker/agent.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/compiler.h"
#include "base/error.h"
#include "base/root.h"
#include "compat/resource_tracker/agent_upload.h"
#include "compat/resource_tracker/lookup.h"
#include "compat/resource_tracker/options.h"
#include "compat/resource_tracker/program.h"
#include "compat/resource_tracker/stats.h"
#include "front/agent.h"
#include "front/arguments.h"
#include "output/dialect.h"
#include "output/format.h"
#include "run/watch.h"

#define NEWEST_DIALECT "resource-tracker"
#define UPLOAD_DIALECT "resource-tracker:combined"
#define NO_UPLOAD "nothing is uploaded"

/* One of the two tables. */
struct table {
    int fd; /* of the file of its rows, -1: there is none */
    size_t row_bytes;
    size_t stream; /* its number in the session */
};

struct tracking {
    struct watch watch;
    spoor_session *session; /* NULL: nothing is tracked */
    struct table process, system;
    bool has_process; /* one is tracked */
    bool has_exited;  /* it did */
    struct stats stats;
    struct upload_process upload; /* pid 0: nothing is uploaded, or it has ended */
};

/* ---- the session ---------------------------------------------------------- */

/* The next multiple of the interval since 1970. One that comes before the session has certainly
 * begun, or too soon for a row of its own, is left out. */
static uint64_t next_multiple_ns(uint64_t interval_ns)
{
    uint64_t least_ns = interval_ns / 2 + 100 * NS_PER_MS;
    struct instant now = clock_now();
    uint64_t left_ns = interval_ns - now.realtime_ns % interval_ns;

    if (left_ns < least_ns)
        left_ns += (least_ns - left_ns + interval_ns - 1) / interval_ns * interval_ns;
    return now.monotonic_ns + left_ns;
}

static size_t row_bytes(const char *dialect_name)
{
    const struct dialect *dialect;
    const struct dialect_table *table;
    const char *prefix;
    size_t count = 0;

    if (!dialect_find(dialect_name, false, &dialect, &table))
        return SIZE_MAX; /* then the session cannot be opened */
    while (dialect_column(table, count, &prefix))
        count++;
    return count * sizeof(double);
}

/* A table and its stream. */
struct table_request {
    struct table *table;
    const char *name;
    const char *path; /* NULL: without rows */
    char dialect[64];
    char descriptor[32];
};

/* The program deletes the file as soon as it may: no process opens it later than here. */
static int add_stream(struct table_request *request, const char *dialect,
                      struct spoor_options *options, struct spoor_stream *streams,
                      struct spoor_error *err)
{
    /* Not O_CLOEXEC: a session takes a descriptor that is for its own process for a mistake. */
    const int flags = O_RDWR | O_CREAT | O_TRUNC | O_APPEND | O_NOFOLLOW;
    struct table *table = request->table;

    if (!request->path)
        return 0;
    table->fd = open(request->path, flags, 0666);
    if (table->fd < 0)
        return error_sys(err, errno, "rows file '%s'", request->path);
    (void)snprintf(request->descriptor, sizeof(request->descriptor), "/dev/fd/%d", table->fd);
    (void)snprintf(request->dialect, sizeof(request->dialect), "%s:%s", dialect,
                   request->name); /* one that is cut off is unknown */
    table->stream = options->stream_count;
    table->row_bytes = row_bytes(request->dialect);
    streams[options->stream_count++] =
        (struct spoor_stream){ request->descriptor, request->dialect, "f64" };
    return 0;
}

/* Both tables come from one session, so that their rows are of the same moments. */
static int open_session(struct tracking *tracking, const struct tracker_settings *settings,
                        struct spoor_error *err)
{
    const char *dialect = settings->dialect ? settings->dialect : NEWEST_DIALECT;
    const bool has_upload = tracking->upload.pid != 0;
    struct table_request requests[] = {
        { .table = &tracking->system, .name = "system", .path = settings->system_rows_path },
        { .table = &tracking->process, .name = "process", .path = settings->process_rows_path },
    };
    struct spoor_stream streams[ARRAY_SIZE(requests) + 1];
    struct spoor_options options = SPOOR_OPTIONS_INIT;
    int r = 0;

    options.pid = settings->pid;
    options.flags = settings->excludes_children ? SPOOR_MAIN_ONLY : 0;
    options.interval_ns = settings->interval_ns;
    options.second_sample_ns = next_multiple_ns(settings->interval_ns);
    options.streams = streams;
    if (settings->system_rows_path || has_upload)
        options.gpus = "all";
    for (size_t i = 0; r == 0 && i < ARRAY_SIZE(requests); i++)
        r = add_stream(&requests[i], dialect, &options, streams, err);
    if (has_upload)
        streams[options.stream_count++] =
            (struct spoor_stream){ tracking->upload.rows_path, UPLOAD_DIALECT, "csv" };
    if (r < 0 || (settings->pid == 0 && options.stream_count == 0))
        return r;
    tracking->has_process = settings->pid != 0;
    r = spoor_session_open(&options, &tracking->session, err);
    return r < 0 ? r : spoor_session_start(tracking->session, err);
}

static int open_tracking(struct tracking *tracking, const struct tracker_settings *settings,
                         struct spoor_error *err)
{
    int r = watch_open(settings->pid, &tracking->watch, err);

    file_limit_raise();                  /* perf needs a descriptor for each thread */
    if (r == 0 && settings->upload_path) /* before there are threads */
        r = agent_upload_start(settings->upload_path, &tracking->upload, err);
    if (r == 0)
        r = open_session(tracking, settings, err);
    if (r == 0)
        upload_process_begin(&tracking->upload);
    else
        upload_process_cancel(&tracking->upload);
    return r;
}

/* May be called twice. A last row that is missing is seen by the number of rows. */
static void stop(struct tracking *tracking)
{
    if (tracking->session)
        (void)spoor_session_stop(tracking->session, NULL);
}

static void close_tracking(struct tracking *tracking)
{
    tracking->session = spoor_session_close(tracking->session);
    if (tracking->process.fd >= 0)
        close(tracking->process.fd);
    if (tracking->system.fd >= 0)
        close(tracking->system.fd);
    stats_done(&tracking->stats);
    watch_close(&tracking->watch);
}

/* ---- operations ----------------------------------------------------------- */

static void add_row_count(const struct table *table, const char *key, struct json_writer *json)
{
    struct stat status;

    if (table->fd >= 0 && fstat(table->fd, &status) == 0)
        json_add_u64(json, key, (uint64_t)status.st_size / table->row_bytes);
    else
        json_add_null(json, key);
}

static int show_rows(void *data, const struct agent_request *request, struct json_writer *json,
                     struct spoor_error *err)
{
    const struct tracking *tracking = data;
    const char *status = tracking->has_exited ? "exited" : "running";

    (void)request;
    (void)err;
    add_row_count(&tracking->process, "process", json);
    add_row_count(&tracking->system, "system", json);
    json_add_text(json, "status", tracking->has_process ? status : NULL);
    return 0;
}

static int show_figures(void *data, const struct agent_request *request,
                        struct json_writer *json, struct spoor_error *err)
{
    static const char *const paths[] = {
        "cpu.total_seconds",
        "cpu.user_seconds",
        "cpu.system_seconds",
        "memory.main.total_rss_bytes",
        "memory.combined.total_rss_bytes",
        "memory.combined.pss_bytes",
        "memory.job_peak_bytes",
        "gpu.memory.combined_bytes",
        "io.read_bytes",
        "io.written_bytes",
        "processes.max_concurrent",
        "processes.started",
    };
    const struct tracking *tracking = data;

    (void)request;
    if (!tracking->has_process) {
        json_add_null(json, "figures");
        return 0;
    }
    json_begin(json, "figures", '{');
    for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
        struct spoor_figure figure;
        int r = spoor_session_figure(tracking->session, paths[i], &figure, err);

        if (r < 0)
            return r;
        json_add_measure(json, paths[i], &figure);
    }
    json_end(json);
    return 0;
}

static void add_lost_rows(const struct tracking *tracking, const struct table *table,
                          const char *key, struct json_writer *json)
{
    const char *reason;

    if (table->fd >= 0)
        json_add_u64(json, key,
                     spoor_session_lost_rows(tracking->session, table->stream, &reason));
    else
        json_add_null(json, key);
}

static void add_warning(const struct tracking *tracking, const struct table *table,
                        const char *name, struct json_writer *json)
{
    const char *reason = NULL;
    uint64_t count =
        table->fd >= 0 ? spoor_session_lost_rows(tracking->session, table->stream, &reason) : 0;
    char message[240];

    if (count == 0)
        return;
    (void)snprintf(message, sizeof(message), "could not write %llu row%s of the %s table: %s",
                   (unsigned long long)count, count == 1 ? "" : "s", name, reason);
    json_add_text(json, NULL, message);
}

static int show_result(void *data, const struct agent_request *request,
                       struct json_writer *json, struct spoor_error *err)
{
    struct tracking *tracking = data;

    stop(tracking);
    (void)show_rows(data, request, json, err); /* cannot fail */
    json_begin(json, "lost", '{');
    add_lost_rows(tracking, &tracking->process, "process", json);
    add_lost_rows(tracking, &tracking->system, "system", json);
    json_end(json);
    json_begin(json, "warnings", '[');
    add_warning(tracking, &tracking->process, "process", json);
    add_warning(tracking, &tracking->system, "system", json);
    json_end(json);
    return show_figures(data, request, json, err);
}

static int show_process_stats(void *data, const struct agent_request *request,
                              struct json_writer *json, struct spoor_error *err)
{
    struct tracking *tracking = data;
    bool has_children = strcmp(request->arguments[1], "true") == 0;
    pid_t pid;
    int r = tracker_parse_pid(request->arguments[0], &pid, err);

    if (r < 0)
        return r;
    if (!has_children && strcmp(request->arguments[1], "false") != 0)
        return error_set(err, EINVAL, "invalid value '%.100s': expected true or false",
                         request->arguments[1]);
    return stats_add_process(&tracking->stats, pid, has_children, json, err);
}

static int show_system_stats(void *data, const struct agent_request *request,
                             struct json_writer *json, struct spoor_error *err)
{
    struct tracking *tracking = data;

    (void)request;
    return stats_add_system(&tracking->stats, json, err);
}

static int show_upload(void *data, const struct agent_request *request,
                       struct json_writer *json, struct spoor_error *err)
{
    const struct tracking *tracking = data;

    (void)request;
    if (tracking->upload.pid == 0)
        return error_set(err, EINVAL, NO_UPLOAD);
    json_begin(json, "upload", '{');
    upload_process_add_state(&tracking->upload, json);
    json_end(json);
    return 0;
}

static int finish_upload(void *data, const struct agent_request *request,
                         struct json_writer *json, struct spoor_error *err)
{
    struct tracking *tracking = data;

    if (tracking->upload.pid == 0)
        return error_set(err, EINVAL, NO_UPLOAD);
    stop(tracking);
    return agent_upload_finish(&tracking->upload, request->arguments[0], request->arguments[1],
                               json, err);
}

static int show_facts(void *data, const struct agent_request *request, struct json_writer *json,
                      struct spoor_error *err)
{
    CLEANUP(buffer_done) struct buffer answer = { 0 };
    const char *text = request->argument_count > 1 ? request->arguments[1] : "";
    int r = lookup_answer(request->arguments[0], text, strlen(text), &answer, err);

    (void)data;
    if (r == 0)
        json_add_text(json, "answer", answer.text);
    return r;
}

static const struct agent_op ops[] = {
    { "rows", 0, 0, show_rows },
    { "process-stats", 2, 2, show_process_stats },
    { "system-stats", 0, 0, show_system_stats },
    { "lookup", 1, 2, show_facts },
    { "figures", 0, 0, show_figures },
    { "stop", 0, 0, show_result },
    { "upload", 0, 0, show_upload },
    { "finish", 2, 2, finish_upload },
};

/* ---- the agent ------------------------------------------------------------ */

/* The table of the process ends, that of the machine does not. */
static void end_process(struct tracking *tracking)
{
    if (tracking->process.fd >= 0)
        (void)spoor_session_end_stream(tracking->session, tracking->process.stream, NULL);
}

static void serve(struct tracking *tracking)
{
    struct agent agent = { .ops = ops, .op_count = ARRAY_SIZE(ops), .data = tracking };
    enum watch_end end = WATCH_INPUT;

    watch_ignore_signals(&tracking->watch);
    tracking->watch.input_fd = STDIN_FILENO;
    while (!agent.is_at_end && end == WATCH_INPUT) {
        if (watch_wait(&tracking->watch, 0, &end, NULL) < 0)
            break; /* then the end of the process is not noticed */
        if (end == WATCH_INPUT)
            agent_read(&agent);
    }
    if (end == WATCH_PROCESS_ENDED) {
        tracking->has_exited = true;
        end_process(tracking);
    }
    agent_finish(&agent);
    stop(tracking);
    agent_upload_abandon(&tracking->upload);
}

int resource_tracker_agent(const struct command *command, int argc, char **argv)
{
    CLEANUP(tracker_settings_done) struct tracker_settings settings;
    CLEANUP(close_tracking)
    struct tracking tracking = { .watch = WATCH_CLOSED,
                                 .process = { .fd = -1 },
                                 .system = { .fd = -1 } };
    struct arguments arguments = ARGUMENTS_INIT(&resource_tracker_program, command, &settings);
    struct agent_answer ready;
    struct spoor_error err = { 0 };

    agent_begin();
    tracker_settings_init(&settings);
    if (arguments_parse(&arguments, argc, argv, &err) < 0 ||
        open_tracking(&tracking, &settings, &err) < 0)
        return agent_refuse(err.code, err.message);
    agent_begin_ready(&ready);
    agent_end_answer(&ready);
    serve(&tracking);
    return 0;
}
