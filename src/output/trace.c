/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace.c - runs as events of the Chrome trace format, which Perfetto opens: a slice for each process, phases, and
 * the curves of the job and of GPUs as counters. Times are microseconds since the first run started.
 */
#include <math.h>

#include "base/amount.h"
#include "output/format.h"
#include "text/escape.h"

/* The PID of the job's track, and the distance between the PIDs of two runs. Both are above the
 * largest PID of Linux. */
enum { JOB_PID = 1 << 22 | 1, PIDS_PER_RUN = 1 << 23 };

struct trace {
    struct json_writer json;
    const struct record *record;
    uint64_t first_pid;
    double shift_seconds; /* time from the start of the first run to the start of this one */
};

static uint64_t microseconds(const struct trace *trace, double seconds)
{
    return (uint64_t)fmin((trace->shift_seconds + fmax(seconds, 0)) * 1e6 + 0.5, 0x1p53);
}

/* Begins an event. `seconds`: time since the start of its run; NaN: no time. */
static void begin_event(struct trace *trace, const char *kind, const char *name, uint64_t pid,
                        double seconds)
{
    struct json_writer *json = &trace->json;

    json_begin_line(json, NULL, '{');
    json_add_text(json, "ph", kind);
    json_add_text(json, "name", name);
    json_add_u64(json, "pid", trace->first_pid + pid);
    json_add_u64(json, "tid", trace->first_pid + pid);
    if (!isnan(seconds))
        json_add_u64(json, "ts", microseconds(trace, seconds));
}

static void add_metadata(struct trace *trace, uint64_t pid, const char *kind, const char *name,
                         size_t index)
{
    begin_event(trace, "M", kind, pid, (double)NAN);
    json_begin(&trace->json, "args", '{');
    if (name)
        json_add_text(&trace->json, "name", name);
    else
        json_add_u64(&trace->json, "sort_index", index);
    json_end(&trace->json);
    json_end(&trace->json);
}

static void name_track(struct trace *trace, uint64_t pid, const char *name, size_t index)
{
    add_metadata(trace, pid, "process_name", name, 0);
    add_metadata(trace, pid, "process_sort_index", NULL, index);
}

static void add_process(struct trace *trace, const struct record_process *process, size_t index)
{
    struct json_writer *json = &trace->json;
    const char *name = process->name ? process->name : "unknown";
    double end =
        isnan(process->ended_seconds) ? trace->record->elapsed_seconds : process->ended_seconds;

    if (!is_known(process->pid) || isnan(process->started_seconds))
        return;
    name_track(trace, process->pid, name, index);
    begin_event(trace, "X", process->command ? process->command : name, process->pid,
                process->started_seconds);
    json_add_u64(
        json, "dur",
        sub_floor0(microseconds(trace, end), microseconds(trace, process->started_seconds)));
    json_begin(json, "args", '{');
    json_add_u64(json, "pid", process->pid);
    json_add_u64(json, "parent_pid", process->parent_pid);
    json_add_number(json, "cpu_seconds", process->cpu_seconds);
    json_add_u64(json, "peak_rss_bytes", process->peak_rss_bytes);
    json_add_u64(json, "exit_code", process->exit_code);
    json_end(json);
    json_end(json);
}

/* A phase is an asynchronous event: phases may overlap, but slices of one track may not. */
static void add_phase(struct trace *trace, const struct record_phase *phase, size_t index)
{
    double start = phase->started_at - trace->record->started_at;

    for (int is_end = 0; is_end < 2; is_end++) {
        begin_event(trace, is_end ? "e" : "b", phase->name ? phase->name : "unknown", JOB_PID,
                    start + is_end * phase->elapsed_seconds);
        json_add_text(&trace->json, "cat", "phase");
        json_add_u64(&trace->json, "id", index + 1);
        json_end(&trace->json);
    }
}

static bool is_shown(const struct curve_column *column)
{
    return begins_with(column->name, "job_") || begins_with(column->name, "gpu");
}

/* Writes one event per point, at the start of the point: the mean of a rate, or the highest
 * value of a level. */
static void add_counter(struct trace *trace, const struct curve_column *column)
{
    const struct record_curve *curve = &trace->record->curve;
    size_t step = curve_step(curve, CURVE_JSON_POINTS);
    const char *unit = column->is_rate ? "per second" : "value";

    for (size_t i = 0; i < curve->count; i += step) {
        struct curve_value value = curve_get(curve, column, i, smaller(i + step, curve->count));
        double shown = column->is_rate ? value.mean : value.high;

        if (!isfinite(shown))
            continue;
        begin_event(trace, "C", column->name, JOB_PID, curve_start(curve, i));
        json_begin(&trace->json, "args", '{');
        json_add_number(&trace->json, unit, shown);
        json_end(&trace->json);
        json_end(&trace->json);
    }
}

static void add_run(struct trace *trace)
{
    const struct record *record = trace->record;
    CLEANUP(buffer_done) struct buffer title = { 0 };

    if (record->name)
        escape_terminal(record->name, &title);
    else
        escape_command(record->command, &title);
    name_track(trace, JOB_PID, title.text ? title.text : "job", 0);
    for (size_t i = 0; i < record->phase_count; i++)
        add_phase(trace, &record->phases[i], i);
    for (size_t i = 0; i < record->curve.column_count; i++) {
        if (is_shown(&record->curve.columns[i]))
            add_counter(trace, &record->curve.columns[i]);
    }
    for (size_t i = 0; i < record->process_count; i++)
        add_process(trace, &record->processes[i], i + 1);
}

void trace_write_all(const struct record *records, size_t count, struct buffer *out)
{
    struct trace trace = { .json = { .out = out } };
    double first = (double)NAN;

    for (size_t i = 0; i < count; i++)
        first = fmin(first, records[i].started_at); /* ignores NaN */
    json_begin(&trace.json, NULL, '{');
    json_begin(&trace.json, "traceEvents", '[');
    for (size_t i = 0; i < count; i++) {
        trace.record = &records[i];
        trace.first_pid = i * PIDS_PER_RUN;
        trace.shift_seconds = fmax(records[i].started_at - first, 0);
        add_run(&trace);
    }
    json_end(&trace.json);
    json_add_text(&trace.json, "displayTimeUnit", "ms");
    json_end(&trace.json);
    buffer_add_text(out, "\n");
}
