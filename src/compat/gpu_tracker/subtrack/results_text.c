/* SPDX-License-Identifier: Apache-2.0 */
/* results_text.c - the report of an analysis for people. */
#include <stdio.h>

#include "base/compiler.h"
#include "compat/gpu_tracker/subtrack/results.h"
#include "compat/gpu_tracker/subtrack/text_table.h"
#include "text/escape.h"

static void put_usage(const double usage[MEASUREMENTS][STATISTICS], unsigned tabs,
                      struct buffer *out)
{
    struct cell_text cells[MEASUREMENTS * STATISTICS];
    const char *names[MEASUREMENTS];
    const struct text_table table = {
        .headers = statistic_names,
        .index = names,
        .cells = cells,
        .rows = MEASUREMENTS,
        .columns = STATISTICS,
    };

    for (size_t i = 0; i < MEASUREMENTS; i++) {
        names[i] = tracking_row_fields[i].name;
        for (size_t k = 0; k < STATISTICS; k++)
            cells[i * STATISTICS + k] = cell_number(usage[i][k]);
    }
    text_table_write(&table, tabs, out);
}

static void put_facts(const struct tracking_read_facts *facts, struct buffer *out)
{
    struct cell_text cells[TRACKING_FACTS];
    const char *names[TRACKING_FACTS];
    const struct text_table table = {
        .headers = names,
        .cells = cells,
        .rows = 1,
        .columns = TRACKING_FACTS,
        .has_words = true,
    };

    for (size_t i = 0; i < TRACKING_FACTS; i++) {
        enum tracking_type type = tracking_fact_fields[i].type;

        names[i] = tracking_fact_fields[i].name;
        if (type == TRACKING_REAL)
            cells[i] = cell_number(facts->numbers[i]);
        else if (type == TRACKING_INTEGER)
            (void)snprintf(cells[i].text, sizeof(cells[i].text), "%.0f", facts->numbers[i]);
        else
            (void)snprintf(cells[i].text, sizeof(cells[i].text), "%s", facts->texts[i]);
    }
    text_table_write(&table, 1, out);
}

static void put_compute_time(const struct block_result *block, struct buffer *out)
{
    const char *headers[STATISTICS + 1];
    struct cell_text cells[STATISTICS + 1];
    const struct text_table table = {
        .headers = headers,
        .cells = cells,
        .rows = 1,
        .columns = STATISTICS + 1,
    };

    for (size_t i = 0; i < STATISTICS; i++) {
        headers[i] = statistic_names[i];
        cells[i] = cell_number(block->compute_time[i]);
    }
    headers[STATISTICS] = "total";
    cells[STATISTICS] = cell_number(block->compute_time_total);
    text_table_write(&table, 2, out);
}

static void put_block(const struct block_result *block, struct buffer *out)
{
    buffer_add_text(out, "\tName:                ");
    escape_unsafe(block->name, out);
    buffer_add(out, "\n", 1);
    buffer_format(out, "\tNum Timepoints:      %zu\n", block->num_timepoints);
    buffer_format(out, "\tNum Calls:           %zu\n", block->num_calls);
    buffer_format(out, "\tNum Non Empty Calls: %zu\n", block->num_non_empty_calls);
    buffer_add_text(out, "\tCompute Time:\n");
    put_compute_time(block, out);
    buffer_add_text(out, "\tResource Usage:\n");
    put_usage(block->usage, 2, out);
    buffer_add(out, "\n", 1);
}

void results_write_text(const struct results *results, struct buffer *out)
{
    buffer_add_text(out, "Overall:\n");
    put_usage(results->overall, 1, out);
    buffer_add_text(out, "Static Data:\n");
    put_facts(&results->facts, out);
    buffer_add_text(out, "Code Block Results:\n");
    for (size_t i = 0; i < results->block_count; i++)
        put_block(&results->blocks[i], out);
}
