/* SPDX-License-Identifier: Apache-2.0 */
#include "output/process_list.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/unknown.h"
#include "text/number.h"

#define LABEL "Processes"
enum { PID_COLUMNS = 15, COMMAND_START = PID_COLUMNS + 12 + 13 + 12 + 2 };

/* Largest first; unknown is last. */
static int compare_numbers(double a, double b)
{
    if (isnan(a) || isnan(b))
        return isnan(a) - isnan(b);
    return (a < b) - (a > b);
}

struct row {
    const struct record_process *process;
};

static int compare(const void *left, const void *right)
{
    const struct record_process *a = ((const struct row *)left)->process;
    const struct record_process *b = ((const struct row *)right)->process;
    int order = compare_numbers(a->cpu_seconds, b->cpu_seconds);

    if (order == 0)
        order = compare_numbers(as_number(a->peak_rss_bytes), as_number(b->peak_rss_bytes));
    return order != 0 ? order : (a > b) - (a < b);
}

static void write_title(struct page *page)
{
    struct buffer line = { 0 };

    page_add(page, PAGE_BOLD, LABEL);
    buffer_format(&line, "%*s%12s%13s%12s  command", PID_COLUMNS - (int)strlen(LABEL), "PID",
                  "CPU time", "peak memory", "time");
    page_add(page, PAGE_DIM, line.text ? line.text : "");
    page_blank(page);
    buffer_done(&line);
}

/* To its end, or that of the run. */
static double lifetime(const struct record *record, const struct record_process *process)
{
    double ended =
        isnan(process->ended_seconds) ? record->elapsed_seconds : process->ended_seconds;

    return ended - process->started_seconds;
}

/* Without the directory of the program, for which there is no room. */
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
    struct buffer safe = { 0 };
    struct buffer line = { 0 };

    buffer_format(&line, "%*s%12s%13s%12s  ", PID_COLUMNS,
                  number_count(as_number(process->pid)).text,
                  number_duration(process->cpu_seconds).text,
                  number_bytes(as_number(process->peak_rss_bytes)).text,
                  number_duration(lifetime(record, process)).text);
    add_command(process, page, &safe);
    page_cut(safe.text ? safe.text : "", page->columns - COMMAND_START, &line);
    page_add(page, PAGE_PLAIN, line.text ? line.text : "");
    page_blank(page);
    buffer_done(&safe);
    buffer_done(&line);
}

/* How many are not shown, as far as that is known. */
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
    struct row *rows;
    uint64_t rest;

    if (shown == 0 || count == 0)
        return;
    if (shown > count)
        shown = count;
    rows = calloc(count, sizeof(*rows));
    if (!rows)
        return;
    for (size_t i = 0; i < count; i++)
        rows[i].process = &record->processes[i];
    qsort(rows, count, sizeof(*rows), compare);
    page_blank(page);
    write_title(page);
    for (size_t i = 0; i < shown; i++)
        write_process(record, rows[i].process, page);
    free(rows);
    rest = count_rest(record, shown);
    if (rest > 0)
        buffer_format(page->out, "  and %s more\n", number_count((double)rest).text);
}
