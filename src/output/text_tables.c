/* SPDX-License-Identifier: Apache-2.0 */
#include "output/text_parts.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/amount.h"
#include "base/cleanup.h"
#include "base/compiler.h"
#include "sample/origins.h"
#include "text/number.h"
#include "text/utf8.h"

/* ---- notes ----------------------------------------------------------------- */

/* When the text report has a row for a figure. */
enum row { EVERY, IF_KNOWN, GPU_MEMORY_ROW, GPU_USE_ROW };

/* The figures that notes explain, and their names. */
static const struct topic {
    const char *path;
    const char *name;
    enum row row;
} topics[] = {
    { "cpu.total_seconds", "CPU time", EVERY },
    { "cpu.user_seconds", "user and system time", EVERY },
    { "memory.combined.total_rss_bytes", "peak memory", EVERY },
    { "memory.at_peak.private_rss_bytes", "private and shared memory", EVERY },
    { "gpu.memory.combined_bytes", "GPU memory", GPU_MEMORY_ROW },
    { "gpu.job_utilization.mean_gpus", "GPU use of the job", GPU_USE_ROW },
    { "gpu.utilization.mean_gpus", "GPU use", GPU_USE_ROW },
    { "cpu.page_faults.minor", "page faults", IF_KNOWN },
    { "cpu.context_switches.voluntary", "context switches", IF_KNOWN },
    { "io.read_bytes", "disk I/O", EVERY },
    { "io.read_chars", "all I/O", EVERY },
    { "network.received_bytes", "network", EVERY },
    { "processes.started", "processes", EVERY },
    { "cpu.threads.combined", "threads", EVERY },
};

/* The figures of a machine without a job that notes explain. */
static const struct topic system_topics[] = {
    { "system.cpu.busy_cores", "CPU", EVERY },
    { "system.memory.used_bytes", "memory", EVERY },
    { "system.disk.read_bytes_per_second", "disk I/O", EVERY },
    { "system.disk.space_used_bytes", "disk space", EVERY },
    { "system.network.received_bytes_per_second", "network", EVERY },
    { "system.pressure.cpu_ratio", "pressure", EVERY },
};

enum { TOPICS_MAX = ARRAY_SIZE(topics) };

/* Only the bound of the total is shown, and only if it is below twice the value: a higher bound
 * is of little use. */
static bool has_useful_bound(const struct topic *topic, const struct spoor_figure *figure)
{
    return strcmp(topic->name, "peak memory") == 0 && figure->high > figure->value &&
           figure->high < 2 * figure->value;
}

static void note_inexact(const struct spoor_figure *figures, struct page *page)
{
    CLEANUP(buffer_done) struct buffer names = { 0 };

    for (size_t i = 0; i < ARRAY_SIZE(topics); i++) {
        if (isnan(figures[i].value) || figures[i].is_exact)
            continue;
        buffer_add_text(page_item(&names), topics[i].name);
        if (has_useful_bound(&topics[i], &figures[i]))
            buffer_format(&names, " (at most %s)", number_bytes(figures[i].high).text);
    }
    if (names.length > 0)
        page_note(page, PAGE_DIM, "not exact", names.text);
}

/* Writes one line per reason, with all figures that are unknown for that reason. */
static void note_missing(const struct topic *of, const struct spoor_figure *figures,
                         size_t count, struct page *page)
{
    bool is_noted[TOPICS_MAX] = { false };

    for (size_t i = 0; i < count; i++) {
        const char *reason = figures[i].reason;
        CLEANUP(buffer_done) struct buffer text = { 0 };

        if (!isnan(figures[i].value) || is_noted[i] || !reason)
            continue;
        for (size_t other = i; other < count; other++) {
            if (!figures[other].reason || strcmp(figures[other].reason, reason) != 0)
                continue;
            buffer_add_text(page_item(&text), of[other].name);
            is_noted[other] = true;
        }
        buffer_add_text(&text, ": ");
        page_escape(page, reason, &text);
        page_note(page, PAGE_DIM, "unknown", buffer_text(&text));
    }
}

/* Figures without a row need no note, unless GPUs are unknown. */
static bool is_shown(const struct topic *topic, const struct spoor_figure *figure,
                     const struct record *record)
{
    if (topic->row == EVERY)
        return true;
    if (topic->row == IF_KNOWN)
        return !isnan(figure->value);
    if (record->gpu_count == 0)
        return !is_known(record->whole_gpus) && figure->reason &&
               strcmp(figure->reason, origins_gpus_pending) != 0 &&
               strcmp(figure->reason, origins_gpus_not_opened) != 0 &&
               strcmp(figure->reason, origins_gpus_unwanted) != 0;
    return topic->row == GPU_MEMORY_ROW || text_gpu_has_used(record);
}

static void note_system(const struct record *record, struct page *page)
{
    struct spoor_figure figures[ARRAY_SIZE(system_topics)];

    for (size_t i = 0; i < ARRAY_SIZE(system_topics); i++)
        figures[i] = record_system_find(record, system_topics[i].path);
    note_missing(system_topics, figures, ARRAY_SIZE(system_topics), page);
}

void notes_write(const struct record *record, struct page *page)
{
    struct spoor_figure figures[ARRAY_SIZE(topics)];

    if (record->system) {
        note_system(record, page);
        return;
    }
    for (size_t i = 0; i < ARRAY_SIZE(topics); i++) {
        figures[i] = record_find(record->figures, topics[i].path);
        if (!is_shown(&topics[i], &figures[i], record))
            figures[i] = record_unknown_figure(NULL);
    }
    note_inexact(figures, page);
    note_missing(topics, figures, ARRAY_SIZE(topics), page);
}

/* ---- phase table ----------------------------------------------------------- */

enum { NAME_COLUMNS = 32 };

/* The columns after name and time. */
static const struct {
    const char *title;
    int width;
    const char *path;
    struct number (*format)(double value);
} columns[] = {
    { "CPU time", 13, "cpu.total_seconds", number_duration },
    { "peak memory", 13, "memory.combined.total_rss_bytes", number_bytes },
};

static void write_phase_title(struct page *page)
{
    struct buffer line = { 0 };

    page_add(page, PAGE_BOLD, "Phases");
    buffer_format(&line, "%*s", NAME_COLUMNS - 6 + 13, "time");
    for (size_t i = 0; i < ARRAY_SIZE(columns); i++)
        buffer_format(&line, "%*s", columns[i].width, columns[i].title);
    page_line(page, PAGE_DIM, &line);
}

static void write_phase(const struct record_phase *phase, struct page *page)
{
    CLEANUP(buffer_done) struct buffer safe = { 0 };
    struct buffer line = { 0 };
    size_t used;

    page_escape(page, phase->name ? phase->name : "n/a", &safe);
    buffer_add_text(&line, "  ");
    page_cut(buffer_text(&safe), NAME_COLUMNS - 2, &line);
    used = utf8_columns(buffer_text(&line));
    buffer_format(&line, "%*s%13s", (int)(NAME_COLUMNS - used), "",
                  number_duration(phase->elapsed_seconds).text);
    for (size_t i = 0; i < ARRAY_SIZE(columns); i++) {
        double value = record_find(phase->figures, columns[i].path).value;

        buffer_format(&line, "%*s", columns[i].width, columns[i].format(value).text);
    }
    page_line(page, PAGE_PLAIN, &line);
}

void phase_table_write(const struct record *record, struct page *page)
{
    size_t shown = record->phase_count;

    if (shown == 0)
        return;
    if (shown > PHASE_TABLE_ROWS_MAX)
        shown = PHASE_TABLE_ROWS_MAX;
    page_blank(page);
    write_phase_title(page);
    for (size_t i = 0; i < shown; i++)
        write_phase(&record->phases[i], page);
    if (shown < record->phase_count)
        buffer_format(page->out, "  and %zu more\n", record->phase_count - shown);
}

/* ---- process list ---------------------------------------------------------- */

#define LABEL "Processes"
enum { PROCESSES_SHOWN = 3 };
enum { PID_COLUMNS = 15, COMMAND_START = PID_COLUMNS + 12 + 13 + 12 + 2 };

/* Sorts the largest first and unknown values last. */
static int compare_known(double a, double b)
{
    if (isnan(a) || isnan(b))
        return isnan(a) - isnan(b);
    return (a < b) - (a > b);
}

static int compare_processes(const void *left, const void *right)
{
    const struct record_process *a = *(const struct record_process *const *)left;
    const struct record_process *b = *(const struct record_process *const *)right;
    int order = compare_known(a->cpu_seconds, b->cpu_seconds);

    if (order == 0)
        order = compare_known(as_number(a->peak_rss_bytes), as_number(b->peak_rss_bytes));
    return order != 0 ? order : (a > b) - (a < b);
}

static void write_process_title(struct page *page)
{
    struct buffer line = { 0 };

    page_add(page, PAGE_BOLD, LABEL);
    buffer_format(&line, "%*s%12s%13s%12s  command", PID_COLUMNS - (int)strlen(LABEL), "PID",
                  "CPU time", "peak memory", "time");
    page_line(page, PAGE_DIM, &line);
}

/* Returns the time from the start of the process to its end, or to the end of the run. */
static double lifetime(const struct record *record, const struct record_process *process)
{
    double ended =
        isnan(process->ended_seconds) ? record->elapsed_seconds : process->ended_seconds;

    return ended - process->started_seconds;
}

static const char *skip_directory(const char *command)
{
    const char *name = command;

    for (const char *c = command; *c && *c != ' ' && *c != '\''; c++) {
        if (*c == '/' && c[1] != ' ' && c[1] != '\0')
            name = c + 1;
    }
    return name;
}

static void add_command(const struct record_process *process, const struct page *page,
                        struct buffer *out)
{
    if (process->command)
        page_escape_command(page, skip_directory(process->command), out);
    else
        page_escape(page, process->name ? process->name : "n/a", out);
}

static void write_process(const struct record *record, const struct record_process *process,
                          struct page *page)
{
    CLEANUP(buffer_done) struct buffer safe = { 0 };
    struct buffer line = { 0 };

    buffer_format(&line, "%*s%12s%13s%12s  ", PID_COLUMNS,
                  number_count(as_number(process->pid)).text,
                  number_duration(process->cpu_seconds).text,
                  number_bytes(as_number(process->peak_rss_bytes)).text,
                  number_duration(lifetime(record, process)).text);
    add_command(process, page, &safe);
    page_cut(buffer_text(&safe), page->columns - COMMAND_START, &line);
    page_line(page, PAGE_PLAIN, &line);
}

static uint64_t count_rest(const struct record *record, size_t shown)
{
    uint64_t rest = record->process_count - shown;

    for (size_t i = 0; i < record->other_process_count; i++)
        rest += first_known(record->other_processes[i].count, 0);
    return rest;
}

void process_list_write(const struct record *record, struct page *page)
{
    size_t count = record->process_count, shown = record->shown_processes;
    AUTO_FREE const struct record_process **rows = NULL;
    uint64_t rest;

    if (shown == SIZE_MAX)
        shown = count > 1 ? PROCESSES_SHOWN : 0;
    if (shown == 0 || count == 0)
        return;
    if (shown > count)
        shown = count;
    rows = calloc(count, sizeof(struct record_process *));
    if (!rows)
        return;
    for (size_t i = 0; i < count; i++)
        rows[i] = &record->processes[i];
    qsort(rows, count, sizeof(struct record_process *), compare_processes);
    page_blank(page);
    write_process_title(page);
    for (size_t i = 0; i < shown; i++)
        write_process(record, rows[i], page);
    rest = count_rest(record, shown);
    if (rest > 0)
        buffer_format(page->out, "  and %s more\n", number_count((double)rest).text);
}
