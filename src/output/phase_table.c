/* SPDX-License-Identifier: Apache-2.0 */
#include "output/phase_table.h"

#include "base/compiler.h"
#include "text/number.h"
#include "text/utf8.h"

enum { NAME_COLUMNS = 32 };

/* The columns behind name and time. */
static const struct {
    const char *title;
    int width;
    const char *path;
    struct number (*format)(double value);
} columns[] = {
    { "CPU time", 13, "cpu.total_seconds", number_duration },
    { "peak memory", 13, "memory.combined.total_rss_bytes", number_bytes },
};

static void write_title(struct page *page)
{
    struct buffer line = { 0 };

    page_add(page, PAGE_BOLD, "Phases");
    buffer_format(&line, "%*s", NAME_COLUMNS - 6 + 13, "time");
    for (size_t i = 0; i < ARRAY_SIZE(columns); i++)
        buffer_format(&line, "%*s", columns[i].width, columns[i].title);
    page_add(page, PAGE_DIM, line.text ? line.text : "");
    page_blank(page);
    buffer_done(&line);
}

static void write_phase(const struct record_phase *phase, struct page *page)
{
    struct buffer safe = { 0 };
    struct buffer line = { 0 };
    size_t used;

    page_escape(page, phase->name ? phase->name : "n/a", &safe);
    buffer_add_text(&line, "  ");
    page_cut(safe.text ? safe.text : "", NAME_COLUMNS - 2, &line);
    used = line.text ? utf8_columns(line.text) : 0;
    buffer_format(&line, "%*s%13s", (int)(NAME_COLUMNS - used), "",
                  number_duration(phase->elapsed_seconds).text);
    for (size_t i = 0; i < ARRAY_SIZE(columns); i++) {
        double value = record_find(phase->figures, columns[i].path).value;

        buffer_format(&line, "%*s", columns[i].width, columns[i].format(value).text);
    }
    page_add(page, PAGE_PLAIN, line.text ? line.text : "");
    page_blank(page);
    buffer_done(&safe);
    buffer_done(&line);
}

void phase_table_write(const struct record *record, struct page *page)
{
    size_t shown = record->phase_count;

    if (shown == 0)
        return;
    if (shown > PHASE_TABLE_ROWS_MAX)
        shown = PHASE_TABLE_ROWS_MAX;
    page_blank(page);
    write_title(page);
    for (size_t i = 0; i < shown; i++)
        write_phase(&record->phases[i], page);
    if (shown < record->phase_count)
        buffer_format(page->out, "  and %zu more\n", record->phase_count - shown);
}
