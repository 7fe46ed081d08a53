/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent.c - `resource-tracker agent`: the agent (front/agent.h) that tracks for the Python
 * package resource_tracker.
 *
 *     resource-tracker agent [--pid PID [--no-children]] [--interval SECS]
 *                            [--process-rows FILE.f64] [--system-rows FILE.f64] [--dialect NAME]
 *                            [--upload FILE.json]
 *
 * Both files hold rows of 8-byte floating-point numbers, little-endian, NaN for None: the
 * columns of the tables `process` and `system` of the dialect, by default resource-tracker. The
 * rows of both files are taken at the same moments, at multiples of the interval since 1970.
 * The first and the last row may cover less than an interval. The operations:
 *
 *     process-stats PID CHILDREN, system-stats
 *                      "stats": {...}, the totals so far. CHILDREN is true or false. If the
 *                      machine may have GPUs, system-stats also has "gpus": {...}
 *     recommend CPUS_MEAN MEMORY_BYTES GPUS_MEAN GPUS_MAX VRAM_BYTES SECONDS RUNS
 *                      "recommendation": {...}, as in the report page of spoor(1), but by the formulas
 *                      of the predecessor. The arguments are the usage of RUNS runs; empty:
 *                      unknown
 *     figures          "figures": {PATH: MEASURE, ...}: totals and peaks of the run so far, as in
 *                      the JSON report of spoor(1); null if no process is tracked
 *     stop             takes the last rows, closes the files, and responds like `figures`, with
 *                      "warnings": [TEXT, ...]: which rows could not be written, and why.
 *                      May be repeated
 *     finish CODE STATUS
 *                      with --upload (program.h): stops like `stop`, and ends the upload
 *     cloud            "vendor": "aws", "region": "us-west-2", "zone": ..., "instance_type": ..., "account":
 *                      ..., "reason": null, "seconds": 0.004. Unknown members are null, and
 *                      `reason` is the cause; outside a cloud all are null. `seconds` is the
 *                      duration of the lookup.
 *     server           "machine": {...} as `spoor info --format json`, without the cloud
 *     servers REQUEST  "servers": {...} as `spoor recommend --server --format json`. The request is the text of
 *                      a JSON object; only its first two members are required:
 *                      {"cpus": 4, "memory_mib": 8192, "gpus": 1, "vram_mib": 4096, "count": 10,
 *                      "vendors": ["aws"], "architecture": "x86_64", "catalog": "servers.csv"}
 *     price REQUEST    "price": 0.096 in US dollars per hour, or null; the request is
 *                      {"vendor": "aws", "server": "m5.large", "region": "us-west-2", "catalog": null}
 *
 * The files may be deleted once the agent is ready.
 *
 * When the tracked process ends, its last row is taken. Rows of the system are taken until a
 * stop or the end of the input.
 */

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/amount.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/compiler.h"
#include "base/environment.h"
#include "base/error.h"
#include "base/measure.h"
#include "base/root.h"
#include "compat/resource_tracker/program.h"
#include "front/agent.h"
#include "front/arguments.h"
#include "output/format.h"
#include "output/recommendation.h"
#include "run/watch.h"
#include "services/cloud/cloud.h"
#include "services/prices/catalog.h"
#include "services/prices/keeper.h"
#include "source/host/devices.h"
#include "source/host/host.h"
#include "text/json_member.h"
#include "text/json_writer.h"
#include "text/number.h"

#define BYTES_PER_MIB 1048576.0

/* ---- the machine -------------------------------------------------------- */

static void add_mib(struct json_writer *json, const char *key, uint64_t bytes)
{
    json_add_number(json, key, as_number(bytes) / BYTES_PER_MIB); /* NaN becomes null */
}

static void add_memory(const struct meminfo *memory, struct json_writer *json)
{
    add_mib(json, "memory_free_mib", memory->free_bytes);
    add_mib(json, "memory_used_mib", sub_known(memory->total_bytes, memory->available_bytes));
    add_mib(json, "memory_buffers_mib", memory->buffers_bytes);
    add_mib(json, "memory_cached_mib",
            sum_u64(memory->page_cache_bytes, memory->reclaimable_bytes));
    add_mib(json, "memory_active_mib", memory->active_bytes);
    add_mib(json, "memory_inactive_mib", memory->inactive_bytes);
}

static void add_devices(const struct devices *devices, struct json_writer *json)
{
    json_begin(json, "disk_stats", '{');
    for (size_t i = 0; i < devices->disk_count; i++) {
        json_begin(json, devices->disks[i].name, '{');
        json_add_u64(json, "read_bytes", devices->disks[i].read_bytes);
        json_add_u64(json, "write_bytes", devices->disks[i].written_bytes);
        json_end(json);
    }
    json_end(json);
    json_begin(json, "disk_spaces", '{');
    for (size_t i = 0; i < devices->mounts.count; i++) {
        const struct mount_item *mount = &devices->mounts.items[i];
        /* A pool is listed by name, since its datasets are mounted in several places. */
        bool is_pool = strncmp(mount->source, "zfs:", 4) == 0;

        json_begin(json, is_pool ? mount->source : mount->point, '{');
        json_add_u64(json, "total", mount->space.total_bytes);
        json_add_u64(json, "used",
                     sub_known(mount->space.total_bytes, mount->space.free_bytes));
        json_add_u64(json, "free", mount->space.free_bytes);
        json_end(json);
    }
    json_end(json);
}

/* The readers for facts about the machine. */
struct machine {
    struct root root;
    struct host host;
    struct space space;
};

static int add_machine(struct machine *machine, struct json_writer *json,
                       struct spoor_error *err)
{
    CLEANUP(devices_done) struct devices devices = { 0 };
    struct instant now = clock_now();
    struct host_reading reading;
    int r = devices_read(&machine->root, &machine->space, &devices);

    if (r < 0)
        return error_sys(err, r, "devices");
    host_read(&machine->host, &machine->root, now.monotonic_ns, &reading);
    json_begin(json, "stats", '{');
    json_add_number(json, "timestamp", (double)now.realtime_ns / 1e9);
    json_add_u64(json, "processes", reading.process_count);
    json_add_seconds(json, "utime", reading.cpu.user_ns);
    json_add_seconds(json, "stime", sub_known(reading.cpu.system_ns, reading.cpu.interrupt_ns));
    add_memory(&reading.memory, json);
    add_devices(&devices, json);
    json_add_u64(json, "net_recv_bytes", reading.network.in);
    json_add_u64(json, "net_sent_bytes", reading.network.out);
    json_end(json);
    return 0;
}

/* ---- statistics ---------------------------------------------------------
 *
 * The usage of a process or the machine so far, for one-shot callers: get_process_stats() and
 * get_system_stats() of the Python package.
 *
 * Totals count from the start of the process or the machine. After the first request, a process
 * is observed continuously, so that its totals never decrease: descendants may end between two
 * requests, and a parent that ignores SIGCHLD does not inherit their counters.
 */

/* Limit of observed items: a process with its descendants, a process alone, or the machine.
 * The oldest is removed to make room. */
enum { STATS_MAX = 8 };

struct stats {
    struct observed *observed[STATS_MAX]; /* owned */
    size_t count;                         /* places assigned so far */
    struct machine machine;
};

/* A member of a response: a metric and its divisor. */
struct stats_member {
    const char *key;
    enum metric metric;
    double unit;
};

static const struct stats_member process_members[] = {
    { "utime", METRIC_JOB_USER, 1 },
    { "stime", METRIC_JOB_SYSTEM, 1 },
    { "memory_mib", METRIC_JOB_PSS, BYTES_PER_MIB },
    { "disk_read_bytes", METRIC_JOB_READ, 1 },
    { "disk_write_bytes", METRIC_JOB_WRITTEN, 1 },
    { "gpu_usage", METRIC_JOB_GPU_UTILIZATION, 1 },
    { "gpu_vram_mib", METRIC_JOB_GPU_MEMORY, BYTES_PER_MIB },
};

static const struct stats_member machine_members[] = {
    { "gpu_usage", METRIC_HOST_GPU_UTILIZATION, 1 },
    { "gpu_vram_mib", METRIC_HOST_GPU_MEMORY, BYTES_PER_MIB },
};

/* A process under observation, or the machine. */
struct observed {
    pid_t pid; /* 0: the machine */
    bool has_children;
    spoor_session *session;
    /* From the latest sample, written by the sampling thread under the mutex: */
    pthread_mutex_t mutex;
    bool has_processes;
    struct buffer stats; /* a JSON object */
};

static void add_members(const struct spoor_sample *sample, const struct stats_member *members,
                        size_t count, struct json_writer *json)
{
    for (size_t i = 0; i < count; i++)
        json_add_number(json, members[i].key,
                        sample->moments[members[i].metric] / members[i].unit);
}

static void add_process(const struct observed *observed, const struct spoor_sample *sample,
                        struct json_writer *json)
{
    json_add_number(json, "timestamp", sample->unix_seconds);
    json_add_u64(json, "pid", (uint64_t)observed->pid);
    json_add_number(json, "children",
                    observed->has_children ? sample->moments[METRIC_JOB_PROCESSES] - 1
                                           : (double)NAN);
    add_members(sample, process_members, ARRAY_SIZE(process_members), json);
}

/* Each part of a partitioned GPU counts as one. */
static void add_busy_gpus(const struct observed *observed, const struct spoor_sample *sample,
                          struct json_writer *json)
{
    uint64_t count = sample->gpu_count > 0 ? 0 : UNKNOWN;

    json_begin(json, "gpu_utilized_indexes", '[');
    for (size_t i = 0; i < sample->gpu_count; i++) {
        const struct spoor_gpu_sample *gpu = &sample->gpus[i];

        if (!((observed->pid == 0 ? gpu->utilization : gpu->job_utilization) > 0))
            continue;
        json_add_u64(json, NULL, gpu->index);
        count++;
    }
    json_end(json);
    json_add_u64(json, "gpu_utilized", count);
}

static void keep_sample(const struct spoor_sample *sample, void *data)
{
    struct observed *observed = data;
    struct json_writer json = { .out = &observed->stats, .style = &json_compact };

    pthread_mutex_lock(&observed->mutex);
    observed->has_processes = sample->moments[METRIC_JOB_PROCESSES] > 0;
    buffer_clear(&observed->stats);
    json_begin(&json, NULL, '{');
    if (observed->pid != 0)
        add_process(observed, sample, &json);
    else
        add_members(sample, machine_members, ARRAY_SIZE(machine_members), &json);
    add_busy_gpus(observed, sample, &json);
    json_end(&json);
    pthread_mutex_unlock(&observed->mutex);
}

static void skip_gpu(UNUSED const struct spoor_gpu *gpu, UNUSED void *data)
{
}

static void observed_free(struct observed *observed)
{
    if (!observed)
        return;
    observed->session = spoor_session_close(observed->session);
    (void)pthread_mutex_destroy(&observed->mutex);
    buffer_done(&observed->stats);
    free(observed);
}

/* Waits at most half a second for GPU drivers, which respond only after the first sample. */
static void wait_for_gpus(struct observed *observed)
{
    const struct timespec pause = { .tv_nsec = 5 * 1000 * 1000 };

    if (!spoor_may_have_gpus(NULL))
        return;
    for (int i = 0; i < 100; i++) {
        if (spoor_session_gpus(observed->session, skip_gpu, NULL, NULL) != -EAGAIN)
            break;
        (void)nanosleep(&pause, NULL);
        (void)spoor_session_sample(observed->session, NULL); /* try again on failure */
    }
    (void)spoor_session_sample(observed->session, NULL); /* else use the last sample */
}

/* Starts to observe a process, or the machine (pid 0). NULL, with a message, on failure. */
static struct observed *observe(pid_t pid, bool has_children, struct spoor_error *err)
{
    struct observed *observed = calloc(1, sizeof(*observed));
    struct spoor_options options = SPOOR_OPTIONS_INIT;
    int r;

    if (!observed) {
        (void)error_set(err, ENOMEM, "out of memory");
        return NULL;
    }
    *observed = (struct observed){ .pid = pid, .has_children = has_children };
    (void)pthread_mutex_init(&observed->mutex, NULL); /* cannot fail with defaults */
    options.pid = pid;
    options.interval_ns = SPOOR_INTERVAL_MAX_NS; /* samples are taken on request */
    options.detail = SPOOR_DETAIL_ALWAYS;
    options.flags = has_children ? 0 : SPOOR_MAIN_ONLY;
    options.sample_seen = keep_sample;
    options.sample_data = observed;
    r = spoor_session_open(&options, &observed->session, err);
    if (r == 0)
        r = spoor_session_start(observed->session, err);
    if (r < 0) {
        observed_free(observed);
        return NULL;
    }
    wait_for_gpus(observed);
    return observed;
}

/* Takes a new sample of the process. False: the process has exited, and its pid may have
 * been reused. */
static bool is_alive(struct observed *observed)
{
    bool has_processes;

    if (spoor_session_sample(observed->session, NULL) < 0)
        return false;
    pthread_mutex_lock(&observed->mutex);
    has_processes = observed->has_processes;
    pthread_mutex_unlock(&observed->mutex);
    return observed->pid == 0 || has_processes;
}

static void stats_done(struct stats *stats)
{
    for (size_t i = 0; i < STATS_MAX; i++)
        observed_free(stats->observed[i]);
    host_done(&stats->machine.host);
    space_done(&stats->machine.space);
    root_close(&stats->machine.root);
}

/* Returns the observed process with a new sample; starts to observe it if necessary. NULL,
 * with a message, on failure. */
static struct observed *get_observed(struct stats *stats, pid_t pid, bool has_children,
                                     struct spoor_error *err)
{
    size_t place = 0;
    struct observed *observed;

    while (place < STATS_MAX && !((observed = stats->observed[place]) && observed->pid == pid &&
                                  observed->has_children == has_children))
        place++;
    if (place < STATS_MAX && is_alive(observed))
        return observed;
    if (place == STATS_MAX)
        place = stats->count++ % STATS_MAX;
    observed_free(stats->observed[place]);
    return stats->observed[place] = observe(pid, has_children, err);
}

/* Adds the statistics of the latest sample to a response. */
static void add_observed(struct observed *observed, const char *key, struct json_writer *json)
{
    pthread_mutex_lock(&observed->mutex);
    json_add_document(json, key, &observed->stats);
    pthread_mutex_unlock(&observed->mutex);
}

/* ---- the agent ---------------------------------------------------------- */

#define NEWEST_DIALECT "resource-tracker"
#define UPLOAD_DIALECT "resource-tracker:combined"

/* One of the two tables: process or system. */
struct table {
    const char *name;
    int fd; /* descriptor of the file with its rows; -1: no file */
    char dialect[64];
    char descriptor[32];
    size_t stream; /* index of its stream in the session */
};

struct tracking {
    struct watch watch;
    spoor_session *session; /* NULL: nothing is tracked */
    struct table process, system;
    bool has_process; /* a process is tracked */
    struct stats stats;
    struct upload_process upload; /* pid 0: no upload, or it has ended */
};

/* Returns the next multiple of the interval since 1970, as monotonic time. Skips multiples
 * that come too soon: before the session has certainly started, or less than half an
 * interval from now. */
static uint64_t next_multiple_ns(uint64_t interval_ns)
{
    uint64_t least_ns = interval_ns / 2 + 100 * NS_PER_MS;
    struct instant now = clock_now();
    uint64_t left_ns = interval_ns - now.realtime_ns % interval_ns;

    if (left_ns < least_ns)
        left_ns += (least_ns - left_ns + interval_ns - 1) / interval_ns * interval_ns;
    return now.monotonic_ns + left_ns;
}

/* Opens the file here, not later: the calling program deletes it once the agent is ready. */
static int add_stream(struct table *table, const char *path, const char *dialect,
                      struct spoor_options *options, struct spoor_stream *streams,
                      struct spoor_error *err)
{
    /* Not O_CLOEXEC: a session rejects descriptors that exec would close. */
    const int flags = O_RDWR | O_CREAT | O_TRUNC | O_APPEND | O_NOFOLLOW;

    if (!path)
        return 0;
    table->fd = open(path, flags, 0666);
    if (table->fd < 0)
        return error_sys(err, errno, "rows file '%s'", path);
    (void)snprintf(table->descriptor, sizeof(table->descriptor), "/dev/fd/%d", table->fd);
    (void)snprintf(table->dialect, sizeof(table->dialect), "%s:%s", dialect,
                   table->name); /* a truncated name is unknown */
    table->stream = options->stream_count;
    streams[options->stream_count++] =
        (struct spoor_stream){ table->descriptor, table->dialect, "f64" };
    return 0;
}

/* One session writes both tables, so that their rows have the same times. */
static int open_session(struct tracking *tracking, const struct tracker_settings *settings,
                        struct spoor_error *err)
{
    const char *dialect = settings->dialect ? settings->dialect : NEWEST_DIALECT;
    const bool has_upload = tracking->upload.pid != 0;
    struct spoor_stream streams[3];
    struct spoor_options options = SPOOR_OPTIONS_INIT;
    int r;

    options.pid = settings->pid;
    options.flags = settings->excludes_children ? SPOOR_MAIN_ONLY : 0;
    options.interval_ns = settings->interval_ns;
    options.second_sample_ns = next_multiple_ns(settings->interval_ns);
    options.streams = streams;
    if (settings->system_rows_path || has_upload)
        options.gpus = "all";
    r = add_stream(&tracking->system, settings->system_rows_path, dialect, &options, streams,
                   err);
    if (r == 0)
        r = add_stream(&tracking->process, settings->process_rows_path, dialect, &options,
                       streams, err);
    if (has_upload)
        streams[options.stream_count++] =
            (struct spoor_stream){ tracking->upload.rows.path, UPLOAD_DIALECT, "csv" };
    if (r < 0 || (settings->pid == 0 && options.stream_count == 0))
        return r;
    tracking->has_process = settings->pid != 0;
    r = spoor_session_open(&options, &tracking->session, err);
    return r < 0 ? r : spoor_session_start(tracking->session, err);
}

static int open_tracking(struct tracking *tracking, const struct tracker_settings *settings,
                         struct spoor_error *err)
{
    struct machine *machine = &tracking->stats.machine;
    int r = watch_open(settings->pid, NULL, &tracking->watch, err);

    machine->host.counts_processes = true;
    if (r == 0) {
        r = root_open(NULL, &machine->root);
        if (r < 0)
            (void)error_sys(err, r, "cannot open '/'");
    }
    file_limit_raise();                  /* perf needs a descriptor for each thread */
    if (r == 0 && settings->upload_path) /* before threads start */
        r = agent_upload_start(settings->upload_path, &tracking->upload, err);
    if (r == 0)
        r = open_session(tracking, settings, err);
    if (r == 0)
        upload_process_begin(&tracking->upload);
    else
        upload_process_cancel(&tracking->upload);
    return r;
}

/* Stops the session. May be called twice. The error is ignored: if the last row is missing, the
 * number of rows shows it. */
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

static int show_figures(void *data, UNUSED const struct agent_request *request,
                        struct json_writer *json, struct spoor_error *err)
{
    static const char *const paths[] = {
        "cpu.total_seconds",
        "cpu.user_seconds",
        "cpu.system_seconds",
        "cpu.mean_cores",
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

static void add_warning(const struct tracking *tracking, const struct table *table,
                        struct json_writer *json)
{
    const char *reason = NULL;
    uint64_t count =
        table->fd >= 0 ? spoor_session_lost_rows(tracking->session, table->stream, &reason) : 0;
    char message[240];

    if (count == 0)
        return;
    (void)snprintf(message, sizeof(message), "could not write %llu row%s of the %s table: %s",
                   (unsigned long long)count, count == 1 ? "" : "s", table->name, reason);
    json_add_text(json, NULL, message);
}

static int show_result(void *data, const struct agent_request *request,
                       struct json_writer *json, struct spoor_error *err)
{
    struct tracking *tracking = data;

    stop(tracking);
    json_begin(json, "warnings", '[');
    add_warning(tracking, &tracking->process, json);
    add_warning(tracking, &tracking->system, json);
    json_end(json);
    return show_figures(data, request, json, err);
}

static int show_process_stats(void *data, const struct agent_request *request,
                              struct json_writer *json, struct spoor_error *err)
{
    struct tracking *tracking = data;
    bool has_children = strcmp(request->arguments[1], "true") == 0;
    struct observed *observed;
    pid_t pid;
    int r = option_parse_pid(request->arguments[0], &pid, err);

    if (r < 0)
        return r;
    if (!has_children && strcmp(request->arguments[1], "false") != 0)
        return error_set(err, EINVAL, "invalid value '%.100s': expected true or false",
                         request->arguments[1]);
    observed = get_observed(&tracking->stats, pid, has_children, err);
    if (!observed)
        return -err->code;
    add_observed(observed, "stats", json);
    return 0;
}

/* Only the GPUs need a session; everything else is read directly. */
static int show_system_stats(void *data, UNUSED const struct agent_request *request,
                             struct json_writer *json, struct spoor_error *err)
{
    struct stats *stats = &((struct tracking *)data)->stats;
    struct spoor_error failure;
    struct observed *observed =
        spoor_may_have_gpus(NULL) ? get_observed(stats, 0, true, &failure) : NULL;

    if (observed)
        add_observed(observed, "gpus", json);
    return add_machine(&stats->machine, json, err);
}

static int finish_upload(void *data, const struct agent_request *request,
                         struct json_writer *json, struct spoor_error *err)
{
    struct tracking *tracking = data;

    if (tracking->upload.pid == 0)
        return error_set(err, EINVAL, "nothing is uploaded");
    stop(tracking);
    return agent_upload_finish(&tracking->upload, request->arguments[0], request->arguments[1],
                               json, err);
}

/* The arguments of the operation `recommend`. */
enum {
    USED_CPUS_MEAN,
    USED_MEMORY_BYTES,
    USED_GPUS_MEAN,
    USED_GPUS_MAX,
    USED_VRAM_BYTES,
    USED_SECONDS,
    USED_RUNS,
    USED_COUNT
};

static void set_need(struct need *need, double value, const char *measure, const char *runs,
                     const char *rule)
{
    need->value = value;
    (void)snprintf(need->why, sizeof(need->why), "%s%s, %s", measure, runs, rule); /* fits */
}

/* Applies the formulas of the predecessor; spoor's own are in recommend/needs.h. NaN stays NaN,
 * except that a job whose CPU usage is unknown gets one CPU. */
static void apply_formulas(const double *used, struct needs *needs)
{
    static const double margin = 1.2, minute = 60;
    static const char *const memory_rule = "times 1.2, rounded up to the next step";
    double gpus = used[USED_GPUS_MEAN], vram = used[USED_VRAM_BYTES];
    char runs[40] = "";

    if (used[USED_RUNS] > 1)
        (void)snprintf(runs, sizeof(runs), " of %.0f runs", used[USED_RUNS]);
    set_need(&needs->cpus, fmax(1, rint(used[USED_CPUS_MEAN])), "used on average", runs,
             "rounded; at least 1");
    set_need(&needs->memory_bytes, needs_round_memory(margin * used[USED_MEMORY_BYTES]),
             "the peak", runs, memory_rule);
    set_need(&needs->gpus, gpus > 0 ? fmax(1, rint(used[USED_GPUS_MAX])) : gpus,
             "the most in use", runs, "rounded");
    set_need(&needs->vram_bytes, vram > 0 ? needs_round_memory(margin * vram) : vram,
             "the peak", runs, memory_rule);
    set_need(&needs->seconds, minute * ceil(margin * used[USED_SECONDS] / minute),
             "the longest time", runs, "times 1.2, rounded up to whole minutes");
    (void)snprintf(needs->note, sizeof(needs->note), /* fits */
                   "These amounts follow the formulas of resource-tracker; those of 'spoor "
                   "recommend' differ.");
}

static int show_recommendation(UNUSED void *data, const struct agent_request *request,
                               struct json_writer *json, struct spoor_error *err)
{
    double used[USED_COUNT];
    struct needs needs;

    for (size_t i = 0; i < USED_COUNT; i++) {
        used[i] = (double)NAN;
        if (*request->arguments[i] && decimal_parse(request->arguments[i], &used[i]) < 0)
            return error_set(err, EINVAL, "invalid number '%.100s'", request->arguments[i]);
    }
    (void)needs_combine(NULL, 0, 1, &needs);
    apply_formulas(used, &needs);
    recommendation_add_json(json, &needs, RECOMMENDATION_REQUESTS);
    return 0;
}

/* ---- lookups, which need no tracking ------------------------------------- */

enum { VENDORS_MAX = 32, COUNT_DEFAULT = 10 };

static int show_cloud(UNUSED void *data, UNUSED const struct agent_request *request,
                      struct json_writer *json, struct spoor_error *err)
{
    CLEANUP(root_close) struct root root = ROOT_CLOSED;
    uint64_t start_ns = clock_now().monotonic_ns;
    struct cloud_facts facts = { 0 };
    int r = root_open(NULL, &root);

    if (r < 0)
        return error_sys(err, r, "/");
    r = cloud_find(&root, true, &facts, err);
    json_add_known_text(json, "vendor", facts.vendor);
    json_add_known_text(json, "region", facts.region);
    json_add_known_text(json, "zone", facts.zone);
    json_add_known_text(json, "instance_type", facts.instance_type);
    json_add_known_text(json, "account", facts.account);
    json_add_text(json, "reason", r < 0 && r != -ENODEV ? err->message : NULL);
    json_add_number(json, "seconds", (double)(clock_now().monotonic_ns - start_ns) / 1e9);
    return 0;
}

static int show_server(UNUSED void *data, UNUSED const struct agent_request *request,
                       struct json_writer *json, struct spoor_error *err)
{
    AUTO_CLOSE int fd = memfd_create("server", MFD_CLOEXEC);
    CLEANUP(buffer_done) struct buffer text = { 0 };
    int r;

    if (fd < 0)
        return error_sys(err, errno, "memfd_create");
    r = spoor_machine_write(NULL, "all", NULL, SPOOR_JSON, 0, fd, err);
    if (r < 0)
        return r;
    if (lseek(fd, 0, SEEK_SET) < 0)
        return error_sys(err, errno, "lseek");
    r = buffer_read(&text, fd, BUFFER_MAX);
    if (r < 0)
        return error_sys(err, r, "read");
    json_add_document(json, "machine", &text);
    return 0;
}

int lookup_servers(UNUSED void *data, const struct agent_request *request,
                   struct json_writer *json, struct spoor_error *err)
{
    CLEANUP(keeper_close) struct keeper keeper = { 0 };
    json_auto_t *order = json_loads(request->arguments[0], 0, NULL);
    const json_t *list = json_object_get(order, "vendors");
    double count = member_number(order, "count");
    const char *vendors[VENDORS_MAX + 1] = { 0 };
    struct needs needs;
    struct server_filter filter = { .needs = &needs,
                                    .vendors = json_array_size(list) > 0 ? vendors : NULL,
                                    .architecture = member_text(order, "architecture") };
    struct server_table table = { .source = member_text(order, "catalog"),
                                  .catalog = &keeper.catalog,
                                  .run_seconds = (double)NAN,
                                  .run_price = (double)NAN };
    int r;

    if (!json_is_object(order))
        return error_set(err, EINVAL, "expected a JSON object");
    for (size_t i = 0; i < json_array_size(list) && i < VENDORS_MAX; i++)
        vendors[i] = json_string_value(json_array_get(list, i));
    (void)needs_combine(NULL, 0, 1, &needs);
    needs.cpus.value = member_number(order, "cpus");
    needs.memory_bytes.value = member_number(order, "memory_mib") * BYTES_PER_MIB;
    needs.gpus.value = member_number(order, "gpus");
    needs.vram_bytes.value = member_number(order, "vram_mib") * BYTES_PER_MIB;
    if (!(needs.cpus.value >= 0) || !(needs.memory_bytes.value >= 0))
        return error_set(err, EINVAL, "CPUs and memory must be numbers");
    table.count = count >= 1 && count <= SERVERS_MAX ? (size_t)count : COUNT_DEFAULT;
    r = keeper_open(environment_own, table.source, &keeper, err);
    if (r == 0)
        r = keeper_find_servers(&keeper, &filter, table.count, err);
    if (r < 0)
        return r;
    catalog_choose(&keeper.catalog, &filter);
    server_table_add_json(&table, json);
    return 0;
}

int lookup_price(UNUSED void *data, const struct agent_request *request,
                 struct json_writer *json, struct spoor_error *err)
{
    CLEANUP(keeper_close) struct keeper keeper = { 0 };
    json_auto_t *order = json_loads(request->arguments[0], 0, NULL);
    const char *vendor = member_text(order, "vendor"), *name = member_text(order, "server");
    const char *region = member_text(order, "region");
    double price = (double)NAN;
    int r;

    if (!json_is_object(order))
        return error_set(err, EINVAL, "expected a JSON object");
    if (!vendor || !name)
        return error_set(err, EINVAL, "the vendor and the server must be texts");
    r = keeper_open(environment_own, member_text(order, "catalog"), &keeper, err);
    if (r == 0)
        r = keeper_find_price(&keeper, vendor, name, region ? region : "", &price, err);
    if (r == 0)
        json_add_number(json, "price", price);
    return r;
}

static const struct agent_op ops[] = {
    { "process-stats", 2, 2, show_process_stats },
    { "system-stats", 0, 0, show_system_stats },
    { "recommend", USED_COUNT, USED_COUNT, show_recommendation },
    { "figures", 0, 0, show_figures },
    { "stop", 0, 0, show_result },
    { "finish", 2, 2, finish_upload },
    { "cloud", 0, 0, show_cloud },
    { "server", 0, 0, show_server },
    { "servers", 1, 1, lookup_servers },
    { "price", 1, 1, lookup_price },
};

/* ---- the agent ------------------------------------------------------------ */

static void serve(struct tracking *tracking)
{
    struct agent agent = { .ops = ops, .op_count = ARRAY_SIZE(ops), .data = tracking };
    struct upload_result unwanted;

    if (agent_follow(&agent, &tracking->watch) == WATCH_PROCESS_ENDED &&
        tracking->process.fd >= 0) /* the session continues for the machine */
        (void)spoor_session_end_stream(tracking->session, tracking->process.stream, NULL);
    agent_finish(&agent);
    stop(tracking);
    upload_process_end(&tracking->upload, 1, true, &unwanted); /* unless finished before */
    buffer_done(&unwanted.answer);
}

int resource_tracker_agent(const struct command *command, int argc, char **argv)
{
    CLEANUP(tracker_settings_done) struct tracker_settings settings;
    CLEANUP(close_tracking)
    struct tracking tracking = { .watch = WATCH_CLOSED,
                                 .stats.machine.root = ROOT_CLOSED,
                                 .process = { .name = "process", .fd = -1 },
                                 .system = { .name = "system", .fd = -1 } };
    struct arguments arguments = ARGUMENTS_INIT(&resource_tracker_program, command, &settings);
    struct agent_answer ready;
    struct spoor_error err = { 0 };

    agent_begin();
    host_init(&tracking.stats.machine.host);
    tracker_settings_init(&settings);
    if (arguments_parse(&arguments, argc, argv, &err) < 0 ||
        open_tracking(&tracking, &settings, &err) < 0)
        return agent_refuse(err.code, err.message);
    agent_begin_ready(&ready);
    agent_end_answer(&ready);
    serve(&tracking);
    return 0;
}
