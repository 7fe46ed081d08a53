/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay.c - runs the whole pipeline on a fixture machine, with a simulated clock.
 *
 * usage: replay MACHINE PID FORMAT
 *
 * MACHINE contains the folders t0, t1, ...: the state of the machine at instants one second
 * apart. FORMAT selects the output: "text", "json" or "csv" for the report; "samples" for the
 * rows of a samples file, as CSV; "gpu-tracker-text" or "gpu-tracker-json" for the report of
 * gpu-tracker; "gpu-tracker-rows" for its rows; "resource-..." for the rows of that dialect, as
 * CSV, or as JSONL if "/jsonl" follows.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "compat/gpu_tracker/report.h"
#include "output/stream.h"
#include "session/session.h"
#include "text/number.h"

#define FIRST_REALTIME_NS 1773480413000000000ull /* 2026-03-14T09:26:53Z */
#define FIRST_MONOTONIC_NS (1000 * NS_PER_SECOND)

static struct instant instant_of(unsigned step)
{
    return (struct instant){ FIRST_MONOTONIC_NS + step * NS_PER_SECOND,
                             FIRST_REALTIME_NS + step * NS_PER_SECOND };
}

static int fail(const char *what)
{
    fprintf(stderr, "replay: %s\n", what);
    return 1;
}

static bool find_instant(const char *machine, unsigned step, char *path, size_t size)
{
    struct stat stat_buf;

    (void)snprintf(path, size, "%s/t%u", machine, step);
    return stat(path, &stat_buf) == 0;
}

/* ---- gpu-tracker --------------------------------------------------------- */

struct gpu_tracker {
    spoor_session *session;
    struct tracking_facts facts;
    struct rows rows;
    bool writes_rows;
};

static void put_row(const double row[TRACKING_COLUMNS])
{
    for (int i = 0; i < TRACKING_COLUMNS; i++)
        printf("%s%s", decimal_float(row[i]).text, i + 1 < TRACKING_COLUMNS ? "," : "\n");
}

static void see_sample(const struct spoor_sample *sample, void *data)
{
    struct gpu_tracker *tracker = data;
    double row[TRACKING_COLUMNS];

    if (rows_take(&tracker->rows, sample, NULL, row) && tracker->writes_rows)
        put_row(row);
}

static void gpu_tracker_init(struct gpu_tracker *tracker, const char *format)
{
    *tracker = (struct gpu_tracker){
        .facts = {
            .texts = { "megabytes", "megabytes", "seconds" },
            .numbers = { [TRACKING_EXPECTED_CORES] = 2 },
        },
        .writes_rows = strcmp(format, "gpu-tracker-rows") == 0,
    };
    rows_init(&tracker->rows, &tracker->facts, 1);
}

static double find_figure(void *session, const char *path)
{
    struct spoor_figure figure = { .value = (double)NAN };

    (void)spoor_session_figure(session, path, &figure, NULL); /* NaN if there is none */
    return figure.value;
}

static int gpu_tracker_write(struct gpu_tracker *tracker, const char *format)
{
    struct report_style style = { GPU_TRACKER_TEXT, false };
    struct resource_usage usage;
    struct buffer out = { 0 };
    int r;

    if (tracker->writes_rows)
        return 0;
    if (strcmp(format, "gpu-tracker-json") == 0)
        style.format = GPU_TRACKER_JSON;
    usage = usage_of(&tracker->facts, &tracker->rows, tracker->rows.latest.elapsed_seconds,
                     find_figure, tracker->session);
    report_write(&usage, style, &out);
    buffer_add(&out, "\n", 1);
    r = buffer_write(&out, STDOUT_FILENO);
    buffer_done(&out);
    return r < 0;
}

/* ---- all ----------------------------------------------------------------- */

static bool is_dialect(const char *format)
{
    return strncmp(format, "resource-", strlen("resource-")) == 0;
}

static struct stream find_stream(const char *format, char *dialect, size_t size)
{
    char *encoding;
    struct stream stream = { 0 };
    struct spoor_error err = { 0 };

    (void)snprintf(dialect, size, "%s", is_dialect(format) ? format : "spoor");
    encoding = strchr(dialect, '/');
    if (encoding)
        *encoding++ = '\0';
    if (stream_find("-", dialect, encoding, true, &stream, &err) < 0)
        exit(fail(err.message));
    return stream;
}

/* Takes a sample at each instant and writes the rows of a stream. */
static void step_through(spoor_session *session, const char *machine, const char *format,
                         struct buffer *rows)
{
    static const struct gpu_columns no_gpus;
    static const struct gpu_view no_gpu = { .state = GPU_NONE };
    char path[4096], after[4096], dialect[64];
    struct stream stream = find_stream(format, dialect, sizeof(dialect));
    struct device_sample devices = { 0 }, previous_devices = { 0 };
    struct sample previous;

    session->sampler.host.counts_processes = stream.counts_processes;
    if (stream.has_header)
        stream_write_header(&stream, &no_gpus, rows);
    for (unsigned step = 0; find_instant(machine, step, path, sizeof(path)); step++) {
        bool is_last = !find_instant(machine, step + 1, after, sizeof(after));

        root_close(&session->root);
        if (root_open(path, &session->root) < 0)
            exit(fail(path));
        session_take_sample(session, instant_of(step), is_last ? SAMPLE_LAST : SAMPLE_REGULAR);
        if (stream.lists_devices)
            device_sample_read(&devices, &session->root, NULL);
        (void)stream_write_row(&stream,
                               &(struct stream_row){
                                   .sample = &session->latest,
                                   .previous = step > 0 ? &previous : NULL,
                                   .gpu = stream.dialect ? &no_gpu : &session->gpu,
                                   .of_gpus = &no_gpus,
                                   .pid = session->pid,
                                   .devices = &devices,
                                   .previous_devices = &previous_devices,
                               },
                               rows); /* some fixtures have no row at first */
        previous = session->latest;
        device_sample_done(&previous_devices);
        previous_devices = devices;
        devices = (struct device_sample){ 0 };
    }
    device_sample_done(&previous_devices);
    session_warn(session);
}

static int write_result(spoor_session *session, const char *format, struct buffer *rows)
{
    static const struct {
        const char *name;
        enum spoor_format format;
    } formats[] = { { "text", SPOOR_TEXT }, { "json", SPOOR_JSON }, { "csv", SPOOR_CSV } };
    struct spoor_error err = { 0 };

    if (strcmp(format, "samples") == 0 || is_dialect(format))
        return buffer_write(rows, STDOUT_FILENO) < 0;
    for (size_t i = 0; i < ARRAY_SIZE(formats); i++) {
        if (strcmp(format, formats[i].name) == 0)
            return spoor_session_write(session, formats[i].format, 0, STDOUT_FILENO, &err) < 0;
    }
    return fail("no such format");
}

int main(int argc, char **argv)
{
    static const char *const command[] = { "fixture", "--job", NULL };
    struct spoor_options options = SPOOR_OPTIONS_INIT;
    struct gpu_tracker tracker;
    struct buffer rows = { 0 };
    struct spoor_error err;
    spoor_session *session;
    char first[4096];
    bool is_gpu_tracker;
    int r;

    if (argc != 4 || !find_instant(argv[1], 0, first, sizeof(first)))
        return fail("usage: replay MACHINE PID FORMAT");
    options.root = first;
    options.pid = (pid_t)strtol(argv[2], NULL, 10);
    options.command = command;
    is_gpu_tracker = strncmp(argv[3], "gpu-tracker-", strlen("gpu-tracker-")) == 0;
    gpu_tracker_init(&tracker, argv[3]);
    options.sample_seen = is_gpu_tracker ? see_sample : NULL;
    options.sample_data = &tracker;
    if (spoor_session_open(&options, &session, &err) < 0)
        return fail(err.message);
    memset(session->run.id, '0', sizeof(session->run.id) - 1);
    tracker.session = session;
    tracker.facts.numbers[TRACKING_CORE_COUNT] = (double)session->host.cpus;
    tracker.facts.numbers[TRACKING_RAM_CAPACITY] =
        (double)session->host.memory_bytes * usage_scale(&tracker.facts, TRACKING_IN_RAM);
    step_through(session, argv[1], argv[3], &rows);
    r = is_gpu_tracker ? gpu_tracker_write(&tracker, argv[3])
                       : write_result(session, argv[3], &rows);
    buffer_done(&rows);
    session = spoor_session_close(session);
    return r;
}
