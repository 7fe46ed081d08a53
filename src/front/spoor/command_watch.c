/* SPDX-License-Identifier: Apache-2.0 */
/* command_watch.c - lists the current runs of this user, by their status (run/job_socket.h). */
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/compiler.h"
#include "base/error.h"
#include "front/spoor/live.h"
#include "front/spoor/outputs.h"
#include "front/spoor/settings.h"
#include "output/format.h"
#include "output/text_layout.h"
#include "record/record.h"
#include "run/job_socket.h"
#include "run/process.h"
#include "run/watch.h"
#include "text/json_member.h"
#include "text/json_writer.h"
#include "text/number.h"

enum { RUNS_MAX = 256, RUN_TITLE_SIZE = 640, TABLE_LINES_MIN = 3, TABLE_COLUMNS_MIN = 10 };

/* NaN: unknown. */
struct watched_run {
    pid_t tracker, pid; /* pid 0: the tracker does not respond */
    char title[RUN_TITLE_SIZE];
    double elapsed_seconds, sampled_seconds;
    double cpu_seconds, cores;
    double rss_bytes, gpu_bytes;
};

struct watched_runs {
    struct watched_run list[RUNS_MAX];
    size_t count;
    bool has_gpus;            /* the GPU memory of a run is known */
    struct json_writer *json; /* each status is also written here, unless NULL */
};

static void read_status(const json_t *status, struct watched_run *run)
{
    const char *name = member_text(status, "name");
    const char *command = member_text(status, "command");

    run->pid = (pid_t)json_integer_value(json_object_get(status, "pid"));
    (void)snprintf(run->title, sizeof(run->title), "%s%s%s", name ? name : "", name ? "  " : "",
                   command ? command : ""); /* fits */
    run->elapsed_seconds = member_number(status, "elapsed_seconds");
    run->sampled_seconds = member_number(status, "sampled_seconds");
    run->cpu_seconds = member_number(status, "job_cpu_seconds");
    run->rss_bytes = member_number(status, "job_rss_bytes");
    run->gpu_bytes = member_number(status, "job_gpu_memory_bytes");
    run->cores = run->cpu_seconds / run->sampled_seconds;
}

static void add_run(pid_t tracker, const char *status, void *data)
{
    struct watched_runs *runs = data;
    struct watched_run *run = &runs->list[runs->count];
    json_auto_t *object = status ? json_loads(status, JSON_REJECT_DUPLICATES, NULL) : NULL;

    if (runs->count == RUNS_MAX)
        return;
    *run = (struct watched_run){ .tracker = tracker, .title = "(stopped, or not responding)" };
    run->elapsed_seconds = run->cpu_seconds = run->cores = (double)NAN;
    run->rss_bytes = run->gpu_bytes = run->sampled_seconds = (double)NAN;
    if (object)
        read_status(object, run);
    runs->has_gpus |= !isnan(run->gpu_bytes);
    runs->count++;
    if (runs->json && object) {
        CLEANUP(buffer_done) struct buffer document = { 0 };

        buffer_add_text(&document, status);
        json_add_document(runs->json, NULL, &document);
    } else if (runs->json) {
        json_begin_line(runs->json, NULL, '{');
        json_add_number(runs->json, "tracker_pid", tracker);
        json_add_null(runs->json, "pid");
        json_end(runs->json);
    }
}

static int compare_runs(const void *a, const void *b)
{
    const struct watched_run *first = a, *second = b;

    return (first->tracker > second->tracker) - (first->tracker < second->tracker);
}

/* Cores are the mean between the two latest samples or, for a run that is seen for the first
 * time, since the run started. */
static void list_runs(struct watched_runs *runs, const struct watched_runs *before)
{
    size_t before_count = before ? before->count : 0;

    runs->count = 0;
    runs->has_gpus = false;
    runs_list(add_run, runs);
    qsort(runs->list, runs->count, sizeof(runs->list[0]), compare_runs);
    for (size_t i = 0; i < runs->count; i++) {
        struct watched_run *run = &runs->list[i];
        const struct watched_run *old =
            before_count ? bsearch(run, before->list, before_count, sizeof(*run), compare_runs)
                         : NULL;

        if (!old || old->pid != run->pid)
            continue;
        if (run->sampled_seconds > old->sampled_seconds)
            run->cores = (run->cpu_seconds - old->cpu_seconds) /
                         (run->sampled_seconds - old->sampled_seconds);
        else
            run->cores = old->cores;
    }
}

/* ---- the table ---------------------------------------------------------- */

enum { PID_COLUMN, TIME_COLUMN, CPU_COLUMN, MEMORY_COLUMN, GPU_COLUMN, COLUMN_COUNT };

static const struct {
    const char *heading;
    int width;
    size_t columns_min; /* minimum width of a terminal that shows this column */
} columns[COLUMN_COUNT] = {
    { "PID", 8, 50 },   { "ELAPSED", 12, 0 },  { "CPU", 6, 0 },
    { "MEMORY", 9, 0 }, { "GPU MEM", 10, 64 },
};

static struct number cell_of(const struct watched_run *run, int column)
{
    switch (column) {
    case PID_COLUMN:
        return number_count(run->pid ? run->pid : run->tracker);
    case TIME_COLUMN:
        return number_duration(run->elapsed_seconds);
    case CPU_COLUMN:
        return number_short(run->cores);
    case MEMORY_COLUMN:
        return number_bytes(run->rss_bytes);
    default:
        return run->pid && isnan(run->gpu_bytes) ? (struct number){ "-" }
                                                 : number_bytes(run->gpu_bytes);
    }
}

/* Adds a run, or the heading if `run` is NULL. */
static void add_line(struct page *page, const struct watched_run *run, bool has_gpus)
{
    CLEANUP(buffer_done) struct buffer line = { 0 }, safe = { 0 };

    for (int i = 0; i < COLUMN_COUNT; i++) {
        if (page->columns >= columns[i].columns_min && (i != GPU_COLUMN || has_gpus))
            buffer_format(&line, "%*s", columns[i].width,
                          run ? cell_of(run, i).text : columns[i].heading);
    }
    buffer_add_text(&line, "  ");
    page_escape_command(page, run ? run->title : "COMMAND", &safe);
    buffer_add_text(&line, buffer_text(&safe));
    buffer_done(&safe);
    page_cut(buffer_text(&line), page->columns, &safe);
    page_add(page, run ? PAGE_PLAIN : PAGE_DIM, buffer_text(&safe));
    buffer_done(&safe);
}

/* Writes at most `lines` lines, without a newline after the last. Returns how many. */
static size_t write_table(struct page *page, const struct watched_runs *runs, size_t lines)
{
    size_t count = runs->count + 1 > lines ? lines - 2 : runs->count;

    if (runs->count == 0) {
        page_add(page, PAGE_DIM, "no runs");
        return 1;
    }
    if (lines < TABLE_LINES_MIN) {
        buffer_format(page->out, "%zu runs", runs->count);
        return 1;
    }
    add_line(page, NULL, runs->has_gpus);
    for (size_t i = 0; i < count; i++) {
        buffer_add_text(page->out, "\n");
        add_line(page, &runs->list[i], runs->has_gpus);
    }
    if (count == runs->count)
        return count + 1;
    buffer_format(page->out, "\n%zu more", runs->count - count);
    return count + 2;
}

/* ---- once --------------------------------------------------------------- */

static int write_once(void *data, const struct output *output, const struct format_style *style,
                      struct buffer *out, UNUSED struct spoor_error *err)
{
    struct json_writer json = { .out = out };
    struct page page = { out, style->has_color, style->has_unicode,
                         isatty(output->fd) ? style->columns : SIZE_MAX };
    struct watched_runs *runs = data;

    runs->json = output->format == SPOOR_JSON ? &json : NULL;
    if (runs->json) {
        json_begin(&json, NULL, '{');
        json_add_text(&json, "schema", RECORD_SCHEMA);
        json_begin(&json, "runs", '[');
    }
    list_runs(runs, NULL);
    if (runs->json) {
        json_end(&json);
        json_end(&json);
    } else {
        (void)write_table(&page, runs, SIZE_MAX);
    }
    buffer_add_text(out, "\n");
    return 0;
}

/* ---- again and again ---------------------------------------------------- */

struct table {
    struct watched_runs now, before;
};

static size_t write_again(void *data, const struct live_style *style, struct buffer *out)
{
    struct page page = live_page(style, out);
    struct table *table = data;
    size_t lines = style->lines > 1 ? style->lines - 1 : 0;

    if (page.columns < TABLE_COLUMNS_MIN || lines == 0)
        return 0;
    table->before = table->now;
    list_runs(&table->now, &table->before);
    lines = write_table(&page, &table->now, lines);
    buffer_add_text(out, "\n");
    page_add(&page, PAGE_DIM, "q: end");
    return lines + 1;
}

static int watch_runs(const struct settings *settings, struct table *table)
{
    const struct live_options options = {
        .title = "runs",
        .has_color = outputs_has_color(settings->color, STDERR_FILENO),
        .has_keys = true,
        .write = write_again,
        .write_data = table,
    };
    CLEANUP(watch_close) struct watch watch = WATCH_CLOSED;
    struct spoor_error err = { 0 };
    CLEANUP(live_close) struct live *live = live_open(&options, &err);
    enum watch_end end;

    if (!live || live_start(live, &err) < 0 || watch_open(0, NULL, &watch, &err) < 0)
        return complain("%s", err.message);
    watch.input_fd = live_end_fd(live);
    return watch_wait(&watch, 0, &end, &err) < 0 ? complain("%s", err.message) : 0;
}

int command_watch(struct settings *settings, UNUSED char **operands, UNUSED int count)
{
    AUTO_FREE struct table *table = calloc(1, sizeof(*table));

    if (!table)
        return complain("out of memory");
    if (!settings->has_format && settings->outputs.count == 0 && isatty(STDOUT_FILENO) &&
        live_is_possible())
        return watch_runs(settings, table);
    return outputs_print(settings, FORMATS_TEXT_JSON, NULL, write_once, &table->now);
}

/* ---- a run by its name -------------------------------------------------- */

struct wanted {
    const char *name;
    pid_t pid;
    size_t count;
};

static void compare_name(UNUSED pid_t tracker, const char *status, void *data)
{
    json_auto_t *object = status ? json_loads(status, 0, NULL) : NULL;
    const char *name = member_text(object, "name");
    struct wanted *wanted = data;

    if (!name || strcmp(name, wanted->name) != 0)
        return;
    wanted->pid = (pid_t)json_integer_value(json_object_get(object, "pid"));
    wanted->count++;
}

int watch_find(const char *name, pid_t *ret, struct spoor_error *err)
{
    struct wanted wanted = { .name = name };

    runs_list(compare_name, &wanted);
    if (wanted.count > 1)
        return error_set(err, ENOTUNIQ,
                         "%zu runs are called '%.100s': give the PID ('spoor watch' lists it)",
                         wanted.count, name);
    if (wanted.count == 0)
        return process_find_named(name, ret, err);
    *ret = wanted.pid;
    return 0;
}
