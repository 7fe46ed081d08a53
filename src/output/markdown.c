/* SPDX-License-Identifier: Apache-2.0 */
/* markdown.c - a table of the key figures, one column per run, for example for a CI summary. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/amount.h"
#include "base/cleanup.h"
#include "output/format.h"
#include "output/table.h"
#include "record/launch.h"
#include "record/run_figure.h"
#include "text/escape.h"

static void add_title(const struct record *record, struct buffer *out)
{
    if (record->name)
        escape_terminal(record->name, out);
    else
        escape_command(record->command, out);
    if (!out->text)
        buffer_add_text(out, "run");
}

static void add_figure(const struct run_figure *figure, const struct record *record,
                       struct table *table)
{
    struct spoor_figure value = run_figure_get(figure, record);
    CLEANUP(buffer_done) struct buffer text = { 0 };

    if (isnan(value.value)) {
        table_add_number(table, value.value, "unknown");
        return;
    }
    run_figure_add(figure, value.value, run_figure_low(&value), run_figure_high(&value), &text);
    table_add_number(table, value.value, text.text);
}

static bool is_measured(const struct run_figure *figure, const struct record *records,
                        size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!isnan(run_figure_get(figure, &records[i]).value))
            return true;
    }
    return false;
}

static void add_launches(const struct record *records, size_t count, struct table *table)
{
    size_t first = 0;

    while (first < count && !records[first].launch)
        first++;
    if (first == count)
        return;
    table_add_text(table, "Job");
    for (size_t i = 0; i < count; i++) {
        CLEANUP(buffer_done) struct buffer text = { 0 };

        if (records[i].launch)
            launch_describe(records[i].launch, records[i].host, &text);
        table_add_text(table, buffer_text(&text));
    }
}

void markdown_write_all(const struct record *records, size_t count, struct buffer *out)
{
    AUTO_FREE struct table_column *columns = calloc(count + 1, sizeof(*columns));
    AUTO_FREE struct buffer *titles = calloc(count + 1, sizeof(*titles));
    CLEANUP(table_done) struct table table = { .columns = columns, .column_count = count + 1 };
    const struct format_style style = { 0 };

    if (!columns || !titles) {
        out->error = -ENOMEM;
        return;
    }
    columns[0].heading = "";
    for (size_t i = 0; i < count; i++) {
        add_title(&records[i], &titles[i]);
        columns[i + 1].heading = titles[i].text ? titles[i].text : "";
    }
    table_add_text(&table, "Exit code");
    for (size_t i = 0; i < count; i++)
        table_add_number(&table, (double)records[i].exit_code,
                         is_known(records[i].exit_code)
                             ? number_count((double)records[i].exit_code).text
                             : "unknown");
    add_launches(records, count, &table);
    for (size_t k = 0; k < RUN_FIGURES; k++) {
        if (!is_measured(&run_figures[k], records, count))
            continue;
        table_add_text(&table, run_figures[k].label);
        for (size_t i = 0; i < count; i++)
            add_figure(&run_figures[k], &records[i], &table);
    }
    table_write(&table, SPOOR_MARKDOWN, &style, out);
    if (table_error(&table) < 0)
        out->error = table_error(&table);
    for (size_t i = 0; i < count; i++)
        buffer_done(&titles[i]);
}
