/* SPDX-License-Identifier: Apache-2.0 */
#include "record/fill.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "record/ending.h"
#include "record/fill_curve.h"
#include "record/fill_gpu.h"
#include "record/fill_processes.h"
#include "record/fill_server.h"
#include "record/fill_system.h"
#include "series/figure.h"
#include "text/escape.h"

static double seconds_of(uint64_t ns)
{
    return is_known(ns) ? (double)ns / 1e9 : (double)NAN;
}

/* In whole milliseconds, which is what reports show. */
static double date_of(const struct summary *summary, uint64_t realtime_ns)
{
    return summary->sample_count > 0 ? (double)(realtime_ns / NS_PER_MS) / 1e3 : (double)NAN;
}

static double elapsed_of(const struct summary *summary)
{
    return summary->sample_count > 0 ? seconds_of(summary->ended_ns - summary->started_ns)
                                     : (double)NAN;
}

static const char **copy_texts(struct record *record, const char *const *texts)
{
    size_t count = 0;
    const char **copy;

    while (texts && texts[count])
        count++;
    copy = record_alloc(record, count + 1, sizeof(*copy));
    for (size_t i = 0; copy && i < count; i++)
        copy[i] = record_text(record, texts[i]);
    return copy;
}

/* "KEY=VALUE" or "KEY" in two. */
static struct record_tag split_tag(struct record *record, const char *text)
{
    size_t length = strcspn(text, "=");
    char *key = record_alloc(record, length + 1, 1);

    if (key)
        memcpy(key, text, length);
    return (struct record_tag){ key,
                                record_text(record, text[length] ? text + length + 1 : "") };
}

/* Are two keys one in JSON, where all bytes that are not UTF-8 look the same? */
static bool is_same_key(const char *a, const char *b)
{
    struct buffer texts[2] = { { 0 }, { 0 } };
    bool is_same;

    escape_json(a, &texts[0]);
    escape_json(b, &texts[1]);
    is_same = texts[0].text && texts[1].text && strcmp(texts[0].text, texts[1].text) == 0;
    buffer_done(&texts[0]);
    buffer_done(&texts[1]);
    return is_same;
}

/* A key that was given twice has the value that came last, and its place. */
static void fill_tags(struct record *record, const char *const *tags)
{
    struct record_tags *to = &record->tags;
    size_t count = 0;

    while (tags && tags[count])
        count++;
    to->items = count > 0 ? record_alloc(record, count, sizeof(*to->items)) : NULL;
    for (size_t i = 0; to->items && i < count; i++) {
        struct record_tag tag = split_tag(record, tags[i]);

        for (size_t k = 0; tag.key && k < to->count; k++) {
            if (is_same_key(to->items[k].key, tag.key)) {
                to->count--;
                memmove(&to->items[k], &to->items[k + 1], (to->count - k) * sizeof(*to->items));
                break;
            }
        }
        if (tag.key)
            to->items[to->count++] = tag;
    }
}

static void fill_run(struct record *record, const struct record_input *input)
{
    const struct summary *summary = input->summary;
    struct ending ending = ending_of(input->has_ended, input->wait_status);

    record->id = record_text(record, input->id);
    record->name = record_text(record, input->name);
    fill_tags(record, input->tags);
    record->command = copy_texts(record, input->command);
    record->pid = input->pid != 0 ? (uint64_t)input->pid : UNKNOWN;
    record->user = record_known_text(record, input->user);
    record->cwd = record_known_text(record, input->cwd);
    record->started_at = date_of(summary, summary->started_realtime_ns);
    record->ended_at = date_of(summary, summary->ended_realtime_ns);
    record->elapsed_seconds = elapsed_of(summary);
    record->exit_code = ending.exit_code;
    record->signal = record_known_text(record, ending.signal_name);
    record->has_dumped_core = ending.has_dumped_core;
    record->is_attached = input->is_attached;
    record->is_still_running = input->is_still_running && !input->has_ended;
    record->interval_seconds = seconds_of(input->interval_ns);
    record->samples = summary->sample_count;
    record->spoor_version = record_text(record, SPOOR_VERSION);
    record->tracker_cpu_seconds = seconds_of(input->tracker_cpu_ns);
    record->tracker_max_rss_bytes = input->tracker_max_rss_bytes;
    record->late_samples = input->late_samples;
    record->detail_reads = input->detail_reads;
    if (input->budget.job_millionths != UINT64_MAX)
        record->budget_percent = (double)input->budget.job_millionths / 1e4;
    for (int i = 0; i < SPENDING_COUNT; i++) {
        record->spent_seconds[i] = seconds_of(input->budget.spent_ns[i]);
        record->postponed[i] = input->budget.postponed[i];
    }
}

static void add_cloud(struct record *record, const struct spoor_cloud *cloud)
{
    if (!cloud || !cloud->vendor || !*cloud->vendor)
        return;
    record->cloud = record_alloc(record, 1, sizeof(*record->cloud));
    if (record->cloud)
        *record->cloud = fill_cloud(record, cloud);
}

static void fill_machine(struct record *record, const struct host_facts *host,
                         const struct limits *limits, const struct gpu_view *gpu)
{
    record->host = record_known_text(record, host->hostname);
    record->os = record_known_text(record, host->os);
    record->kernel = record_known_text(record, host->kernel);
    record->cpu_model = record_known_text(record, host->cpu_model);
    record->cpus = host->cpus;
    record->memory_bytes = host->memory_bytes;
    record->cpus_limit = limits->cpus;
    record->cpus_limit_source = record_text(record, limits->cpus_source);
    record->memory_limit_bytes = limits->memory_bytes;
    record->memory_limit_source = record_text(record, limits->memory_source);
    fill_gpus(record, gpu);
}

/* `like`: figures that are probably from the same sources, or NULL. */
static struct spoor_figure *make_figures(struct record *record, const struct summary *summary,
                                         const struct spoor_figure *like)
{
    struct spoor_figure *figures = record_alloc(record, figure_count(), sizeof(*figures));

    for (size_t i = 0; figures && i < figure_count(); i++)
        figures[i] = record_figure(record, figure_get(i, summary), like ? &like[i] : NULL);
    return figures;
}

static void fill_phases(struct record *record, const struct record_input *input)
{
    record->phases = record_alloc(record, input->phase_count, sizeof(*record->phases));
    record->phase_count = record->phases ? input->phase_count : 0;
    for (size_t i = 0; i < record->phase_count; i++) {
        const struct summary *summary = &input->phases[i].summary;

        record->phases[i] = (struct record_phase){
            .name = record_text(record, input->phases[i].name),
            .started_at = date_of(summary, summary->started_realtime_ns),
            .elapsed_seconds = elapsed_of(summary),
            .figures = make_figures(record, summary, record->figures),
        };
    }
}

static void fill_warnings(struct record *record, const struct record_input *input)
{
    record->warnings = record_alloc(record, input->warning_count, sizeof(*record->warnings));
    record->warning_count = record->warnings ? input->warning_count : 0;
    for (size_t i = 0; i < record->warning_count; i++)
        record->warnings[i] =
            (struct record_warning){ record_text(record, input->warnings[i].code),
                                     record_text(record, input->warnings[i].message) };
}

static int end_fill(struct record *record)
{
    int r = record->error;

    if (r < 0)
        record_done(record);
    return r;
}

int record_fill(const struct record_input *input, struct record *ret)
{
    record_init(ret);
    fill_run(ret, input);
    fill_machine(ret, input->host, input->limits, input->gpu);
    add_cloud(ret, input->cloud);
    ret->figures = make_figures(ret, input->summary, NULL);
    fill_processes(ret, input);
    fill_phases(ret, input);
    fill_curve(ret, input->series, input->summary);
    fill_warnings(ret, input);
    if (!input->is_tracked)
        fill_system(ret, input);
    return end_fill(ret);
}

int record_fill_machine(const struct host_facts *host, const struct limits *limits,
                        const struct gpu_view *gpu, const struct server_facts *server,
                        const struct spoor_cloud *cloud, struct record *ret)
{
    record_init(ret);
    fill_machine(ret, host, limits, gpu);
    fill_server(ret, server, cloud);
    return end_fill(ret);
}
