/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json.c - the report as JSON, schema spoor/1.
 *
 * The sections of measures are not listed here: they are the dotted paths of the
 * table of figures. A path opens the objects it stands in and closes those it has
 * left; a few sections hold keys besides, which the table below adds.
 */
#include <string.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "output/ending.h"
#include "output/json_gpu.h"
#include "output/measure.h"
#include "output/output.h"
#include "series/figure.h"
#include "spoor/spoor.h"
#include "text/json_writer.h"

static void add_empty(struct json_writer *json, const char *key, char opening)
{
    json_begin_line(json, key, opening);
    json_end(json);
}

/* Of phases the totals only are known. */
static void begin_gpu(struct json_writer *json, const struct report *report)
{
    if (report)
        json_gpu_begin(json, report->gpu);
}

static void end_gpu(struct json_writer *json, const struct report *report)
{
    if (report)
        json_gpu_end(json, report->gpu);
}

static void end_network(struct json_writer *json, const struct report *report)
{
    (void)report;
    json_add_text(json, "scope", "host");
}

/* Keys of a section that are no measures: before the first and after the last. The report is
 * NULL in a phase. */
static const struct {
    const char *section;
    void (*begin)(struct json_writer *json, const struct report *report);
    void (*end)(struct json_writer *json, const struct report *report);
} extras[] = {
    { "gpu", begin_gpu, end_gpu },
    { "network", NULL, end_network },
};

enum { PATH_DEPTH_MAX = 4, PATH_SIZE = 64 };

/* The sections that are open. */
struct place {
    const struct report *report; /* NULL: those of a phase */
    unsigned depth;
    char name[PATH_DEPTH_MAX][PATH_SIZE];
};

static void enter(struct json_writer *json, struct place *place, const char *name,
                  size_t length)
{
    char *copy = place->name[place->depth++];

    memcpy(copy, name, length);
    copy[length] = '\0';
    json_begin(json, copy, '{');
    for (size_t i = 0; i < ARRAY_SIZE(extras); i++) {
        if (place->depth == 1 && extras[i].begin && strcmp(extras[i].section, copy) == 0)
            extras[i].begin(json, place->report);
    }
}

static void leave_to(struct json_writer *json, struct place *place, unsigned depth)
{
    while (place->depth > depth) {
        place->depth--;
        for (size_t i = 0; i < ARRAY_SIZE(extras); i++) {
            if (place->depth == 0 && extras[i].end &&
                strcmp(extras[i].section, place->name[0]) == 0)
                extras[i].end(json, place->report);
        }
        json_end(json);
    }
}

/* Opens and closes sections until those of `path` are open. Returns its last part. */
static const char *go_to(struct json_writer *json, struct place *place, const char *path)
{
    unsigned depth = 0;
    const char *dot;

    while ((dot = strchr(path, '.')) && depth < PATH_DEPTH_MAX && dot - path < PATH_SIZE) {
        size_t length = (size_t)(dot - path);

        if (depth >= place->depth || strlen(place->name[depth]) != length ||
            memcmp(place->name[depth], path, length) != 0) {
            leave_to(json, place, depth);
            enter(json, place, path, length);
        }
        depth++;
        path = dot + 1;
    }
    leave_to(json, place, depth);
    return path;
}

static void add_figures(struct json_writer *json, const struct summary *summary,
                        const struct origin *origins, const struct report *report)
{
    struct place place = { .report = report };

    for (size_t i = 0; i < figure_count(); i++) {
        struct spoor_figure figure = figure_get(i, summary, origins);

        json_add_measure(json, go_to(json, &place, figure_path(i)), &figure);
    }
    leave_to(json, &place, 0);
}

static void add_date(struct json_writer *json, const char *key, const struct summary *summary,
                     uint64_t realtime_ns)
{
    char text[CLOCK_TEXT_SIZE];

    clock_format(realtime_ns, text, sizeof(text));
    json_add_text(json, key, summary->sample_count > 0 ? text : NULL);
}

static void add_elapsed(struct json_writer *json, const struct summary *summary)
{
    if (summary->sample_count > 0)
        json_add_seconds(json, "elapsed_seconds", summary->ended_ns - summary->started_ns);
    else
        json_add_null(json, "elapsed_seconds");
}

/* A key that comes twice is written once, with the value that came last. */
static void add_tags(struct json_writer *json, const char *const *tags)
{
    json_begin(json, "tags", '{');
    for (size_t i = 0; tags && tags[i]; i++) {
        size_t length = strcspn(tags[i], "=");
        bool is_last = true;
        struct buffer key = { 0 };

        for (size_t later = i + 1; tags[later]; later++) {
            if (strncmp(tags[i], tags[later], length) == 0 &&
                strcspn(tags[later], "=") == length)
                is_last = false;
        }
        buffer_add(&key, tags[i], length);
        if (is_last && buffer_error(&key) == 0)
            json_add_text(json, key.text, tags[i][length] == '=' ? tags[i] + length + 1 : "");
        buffer_done(&key);
    }
    json_end(json);
}

static void add_command(struct json_writer *json, const char *const *command)
{
    json_begin_line(json, "command", '[');
    for (size_t i = 0; command && command[i]; i++)
        json_add_text(json, NULL, command[i]);
    json_end(json);
}

/* Empty text is "not known" in the facts. */
static const char *known(const char *text)
{
    return text && *text ? text : NULL;
}

static void add_run(struct json_writer *json, const struct report *report)
{
    const struct summary *summary = report->summary;
    struct ending ending = ending_get(report);

    json_begin(json, "run", '{');
    json_add_text(json, "id", report->id);
    json_add_text(json, "name", report->name);
    add_tags(json, report->tags);
    add_command(json, report->command);
    json_add_u64(json, "pid", (uint64_t)report->pid);
    json_add_text(json, "host", known(report->host->hostname));
    json_add_text(json, "user", report->user);
    json_add_text(json, "cwd", report->cwd);
    add_date(json, "started_at", summary, summary->started_realtime_ns);
    add_date(json, "ended_at", summary, summary->ended_realtime_ns);
    add_elapsed(json, summary);
    json_add_u64(json, "exit_code", ending.exit_code);
    json_add_text(json, "signal", known(ending.signal_name));
    json_add_seconds(json, "interval_seconds", report->interval_ns);
    json_add_u64(json, "samples", summary->sample_count);
    json_add_text(json, "spoor_version", SPOOR_VERSION);
    json_end(json);
}

static void add_machine(struct json_writer *json, const struct host_facts *host,
                        const struct limits *limits, const struct gpu_view *gpu)
{
    json_begin(json, "host", '{');
    json_add_text(json, "os", known(host->os));
    json_add_text(json, "kernel", known(host->kernel));
    json_add_text(json, "cpu_model", known(host->cpu_model));
    json_add_u64(json, "cpus", host->cpus);
    json_add_u64(json, "memory_bytes", host->memory_bytes);
    json_gpu_add_list(json, "gpus", gpu);
    add_empty(json, "cloud", '{');
    json_end(json);

    json_begin(json, "limits", '{');
    json_add_number(json, "cpus", limits->cpus);
    json_add_text(json, "cpus_source", limits->cpus_source);
    json_add_u64(json, "memory_bytes", limits->memory_bytes);
    json_add_text(json, "memory_source", limits->memory_source);
    json_gpu_add_selected(json, "gpus", gpu);
    json_end(json);
}

static void add_phases(struct json_writer *json, const struct report *report)
{
    json_begin(json, "phases", '[');
    for (size_t i = 0; i < report->phase_count; i++) {
        const struct phase *phase = &report->phases[i];

        json_begin(json, NULL, '{');
        json_add_text(json, "name", phase->name);
        add_date(json, "started_at", &phase->summary, phase->summary.started_realtime_ns);
        add_elapsed(json, &phase->summary);
        add_figures(json, &phase->summary, report->origins, NULL);
        json_end(json);
    }
    json_end(json);
}

static void add_tracker(struct json_writer *json, const struct report *report)
{
    json_begin(json, "tracker", '{');
    json_add_seconds(json, "cpu_seconds", report->tracker_cpu_ns);
    json_add_u64(json, "max_rss_bytes", report->tracker_max_rss_bytes);
    json_add_u64(json, "late_samples", report->late_samples);
    json_add_u64(json, "detail_reads", report->detail_reads);
    json_end(json);
}

static void add_warnings(struct json_writer *json, const struct report *report)
{
    json_begin(json, "warnings", '[');
    for (size_t i = 0; i < report->warning_count; i++) {
        json_begin_line(json, NULL, '{');
        json_add_text(json, "code", report->warnings[i].code);
        json_add_text(json, "message", report->warnings[i].message);
        json_end(json);
    }
    json_end(json);
}

void json_write(const struct report *report, struct buffer *out)
{
    struct json_writer json = { .out = out };

    json_begin(&json, NULL, '{');
    json_add_text(&json, "schema", "spoor/1");
    add_run(&json, report);
    add_machine(&json, report->host, report->limits, report->gpu);
    add_figures(&json, report->summary, report->origins, report);
    add_phases(&json, report);
    add_tracker(&json, report);
    add_warnings(&json, report);
    json_end(&json);
    buffer_add(out, "\n", 1);
}

void machine_write_json(const struct host_facts *host, const struct limits *limits,
                        const struct gpu_view *gpu, struct buffer *out)
{
    struct json_writer json = { .out = out };

    json_begin(&json, NULL, '{');
    json_add_text(&json, "schema", "spoor/1");
    json_add_text(&json, "hostname", known(host->hostname));
    add_machine(&json, host, limits, gpu);
    json_add_text(&json, "gpus_reason", gpu->reason); /* why some or all are missing */
    json_end(&json);
    buffer_add(out, "\n", 1);
}
