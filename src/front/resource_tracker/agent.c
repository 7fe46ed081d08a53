/* SPDX-License-Identifier: Apache-2.0 */
#include "front/resource_tracker/agent.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/compiler.h"
#include "base/error.h"
#include "base/file_limit.h"
#include "front/common/agent.h"
#include "front/common/arguments.h"
#include "front/resource_tracker/agent_upload.h"
#include "front/resource_tracker/options.h"
#include "front/resource_tracker/program.h"
#include "front/resource_tracker/stats.h"
#include "output/dialect.h"
#include "output/measure.h"
#include "run/watch.h"

#define NEWEST_DIALECT "resource-tracker"
#define UPLOAD_DIALECT "resource-tracker:combined"

/* One of the two tables. */
struct table {
    spoor_session *session; /* NULL: it is not tracked */
    const char *path;       /* of its rows; NULL: there is no file */
    size_t row_bytes;
};

struct tracking {
    struct watch watch;
    struct table process, system;
    bool has_process; /* one is tracked */
    bool has_exited;  /* it did */
    struct stats stats;
    struct upload_process upload; /* pid 0: nothing is uploaded, or it has ended */
};

/* ---- the sessions --------------------------------------------------------- */

/* The next multiple of the interval since 1970. One that comes before both sessions have certainly
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

static size_t row_bytes(const char *name, bool has_job)
{
    const struct dialect *dialect;
    const struct dialect_table *table;
    const char *prefix;
    size_t count = 0;

    if (!dialect_find(name, has_job, &dialect, &table))
        return SIZE_MAX; /* then the session cannot be opened */
    while (dialect_column(table, count, &prefix))
        count++;
    return count * sizeof(double);
}

/* `upload_path`: rows for the upload; NULL: none. */
static int open_table(struct table *table, const struct spoor_options *options,
                      const char *path, const char *dialect, const char *upload_path,
                      struct spoor_error *err)
{
    struct spoor_options with_rows = *options;
    struct spoor_stream streams[2];
    size_t count = 0;
    int r;

    if (path)
        streams[count++] = (struct spoor_stream){ path, dialect, "f64" };
    if (upload_path)
        streams[count++] = (struct spoor_stream){ upload_path, UPLOAD_DIALECT, "csv" };
    with_rows.streams = streams;
    with_rows.stream_count = count;
    table->path = path;
    table->row_bytes = row_bytes(dialect, options->pid != 0);
    r = spoor_session_open(&with_rows, &table->session, err);
    if (r == 0)
        r = spoor_session_start(table->session, err);
    return r;
}

static int open_tables(struct tracking *tracking, const struct tracker_settings *settings,
                       struct spoor_error *err)
{
    const char *dialect = settings->dialect ? settings->dialect : NEWEST_DIALECT;
    const char *upload_path = tracking->upload.pid != 0 ? tracking->upload.rows_path : NULL;
    bool has_process = settings->pid != 0;
    struct spoor_options options = SPOOR_OPTIONS_INIT;
    int r = 0;

    options.interval_ns = settings->interval_ns;
    options.second_sample_ns = next_multiple_ns(settings->interval_ns);
    if (settings->system_rows_path || (upload_path && !has_process))
        r = open_table(&tracking->system, &options, settings->system_rows_path, dialect,
                       has_process ? NULL : upload_path, err);
    if (r < 0 || !has_process)
        return r;
    tracking->has_process = true;
    options.pid = settings->pid;
    options.flags = settings->excludes_children ? SPOOR_MAIN_ONLY : 0;
    return open_table(&tracking->process, &options, settings->process_rows_path, dialect,
                      upload_path, err);
}

static int open_tracking(struct tracking *tracking, const struct tracker_settings *settings,
                         struct spoor_error *err)
{
    int r = watch_open(settings->pid, &tracking->watch, err);

    file_limit_raise();                  /* perf needs a descriptor for each thread */
    if (r == 0 && settings->upload_path) /* before there are threads */
        r = agent_upload_start(settings->upload_path, &tracking->upload, err);
    if (r == 0)
        r = open_tables(tracking, settings, err);
    if (r == 0)
        upload_process_begin(&tracking->upload);
    else
        upload_process_cancel(&tracking->upload);
    return r;
}

/* May be called twice. A last row that is missing is seen by the number of rows. */
static void stop_table(struct table *table)
{
    if (table->session)
        (void)spoor_session_stop(table->session, NULL);
}

static void close_tracking(struct tracking *tracking)
{
    tracking->process.session = spoor_session_close(tracking->process.session);
    tracking->system.session = spoor_session_close(tracking->system.session);
    stats_done(&tracking->stats);
    watch_close(&tracking->watch);
}

/* ---- operations ----------------------------------------------------------- */

static void add_row_count(const struct table *table, const char *key, struct json_writer *json)
{
    struct stat status;

    if (table->path && stat(table->path, &status) == 0)
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
    if (!tracking->process.session) {
        json_add_null(json, "figures");
        return 0;
    }
    json_begin(json, "figures", '{');
    for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
        struct spoor_figure figure;
        int r = spoor_session_figure(tracking->process.session, paths[i], &figure, err);

        if (r < 0)
            return r;
        json_add_measure(json, paths[i], &figure);
    }
    json_end(json);
    return 0;
}

static void add_lost_rows(const struct table *table, const char *key, struct json_writer *json)
{
    if (table->path && table->session)
        json_add_u64(json, key, spoor_session_lost_rows(table->session));
    else
        json_add_null(json, key);
}

static void add_warning(const struct table *table, struct json_writer *json)
{
    const char *message =
        table->session ? spoor_session_warning(table->session, "samples-lost") : NULL;

    if (message)
        json_add_text(json, NULL, message);
}

static int show_result(void *data, const struct agent_request *request,
                       struct json_writer *json, struct spoor_error *err)
{
    struct tracking *tracking = data;

    stop_table(&tracking->process);
    stop_table(&tracking->system);
    (void)show_rows(data, request, json, err); /* cannot fail */
    json_begin(json, "lost", '{');
    add_lost_rows(&tracking->process, "process", json);
    add_lost_rows(&tracking->system, "system", json);
    json_end(json);
    json_begin(json, "warnings", '[');
    add_warning(&tracking->process, json);
    add_warning(&tracking->system, json);
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

static int finish_upload(void *data, const struct agent_request *request,
                         struct json_writer *json, struct spoor_error *err)
{
    struct tracking *tracking = data;

    if (tracking->upload.pid == 0)
        return error_set(err, EINVAL, "nothing is uploaded");
    stop_table(&tracking->process);
    stop_table(&tracking->system);
    return agent_upload_finish(&tracking->upload, request->arguments[0], request->arguments[1],
                               json, err);
}

static const struct agent_op ops[] = {
    { "rows", 0, 0, show_rows },
    { "process-stats", 2, 2, show_process_stats },
    { "system-stats", 0, 0, show_system_stats },
    { "figures", 0, 0, show_figures },
    { "stop", 0, 0, show_result },
    { "finish", 2, 2, finish_upload },
};

/* ---- the agent ------------------------------------------------------------ */

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
        stop_table(&tracking->process);
    }
    agent_finish(&agent);
    stop_table(&tracking->process);
    stop_table(&tracking->system);
    agent_upload_abandon(&tracking->upload);
}

int resource_tracker_agent(const struct command *command, int argc, char **argv)
{
    CLEANUP(tracker_settings_done) struct tracker_settings settings;
    CLEANUP(close_tracking) struct tracking tracking = { .watch = WATCH_CLOSED };
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
