/* SPDX-License-Identifier: Apache-2.0 */
#include "services/prices/server_table.h"

#include <math.h>

#include "base/compiler.h"
#include "output/text_layout.h"
#include "text/number.h"
#include "text/utf8.h"

#define GIB 1073741824.0

enum { NAME_COLUMNS = 32 };

/* ---- text ----------------------------------------------------------------- */

static size_t shown_count(const struct server_table *table)
{
    size_t count = table->catalog ? table->catalog->servers.count : 0;

    return count < table->count ? count : table->count;
}

static void add_money(double usd, struct buffer *out)
{
    static const double least = 0.0001;

    if (isnan(usd))
        buffer_add_text(out, "n/a");
    else if (usd > 0 && usd < least)
        buffer_add_text(out, "<$0.0001");
    else
        buffer_format(out, "$%s", decimal_fixed(usd, 4).text);
}

enum kind { KIND_TEXT, KIND_COUNT, KIND_GIB, KIND_PRICE, KIND_COST };

/* A column in which all cells are empty is left out. */
static const struct column {
    const char *title;
    enum kind kind;
    size_t offset;
} columns[] = {
    { "vendor", KIND_TEXT, offsetof(struct server, vendor) },
    { "server", KIND_TEXT, offsetof(struct server, name) },
    { "region", KIND_TEXT, offsetof(struct server, region) },
    { "arch", KIND_TEXT, offsetof(struct server, architecture) },
    { "vCPUs", KIND_COUNT, offsetof(struct server, vcpus) },
    { "memory", KIND_GIB, offsetof(struct server, memory_bytes) },
    { "GPUs", KIND_COUNT, offsetof(struct server, gpus) },
    { "VRAM", KIND_GIB, offsetof(struct server, vram_bytes) },
    { "per hour", KIND_PRICE, offsetof(struct server, price) },
    { "per run", KIND_COST, offsetof(struct server, price) },
};
enum { COLUMNS = ARRAY_SIZE(columns) };

static void add_text(const struct page *page, const char *text, struct buffer *out)
{
    struct buffer safe = { 0 };

    page_escape(page, text, &safe);
    if (safe.text)
        page_cut(safe.text, NAME_COLUMNS, out);
    buffer_done(&safe);
}

/* Nothing if it is unknown, or none. */
static void add_cell(const struct page *page, const struct server_table *table, size_t row,
                     const struct column *column, struct buffer *out)
{
    const char *member = (const char *)&table->catalog->servers.items[row] + column->offset;
    double value = column->kind == KIND_TEXT ? 0 : *(const double *)(const void *)member;

    switch (column->kind) {
    case KIND_TEXT:
        add_text(page, member, out);
        break;
    case KIND_COUNT:
        buffer_add_text(out, value > 0 ? decimal_number(value).text : "");
        break;
    case KIND_GIB:
        if (value > 0)
            buffer_format(out, "%s GiB", decimal_number(decimal_round(value / GIB, 2)).text);
        break;
    case KIND_PRICE:
        add_money(value, out);
        break;
    case KIND_COST:
        add_money(server_cost(value, table->run_seconds), out);
        break;
    }
}

/* 0: the column is left out. */
static size_t width_of(const struct page *page, const struct server_table *table,
                       const struct column *column)
{
    size_t width = 0, title = utf8_columns(column->title);

    for (size_t row = 0; row < shown_count(table); row++) {
        struct buffer cell = { 0 };
        size_t used;

        add_cell(page, table, row, column, &cell);
        used = cell.text ? utf8_columns(cell.text) : 0;
        width = used > width ? used : width;
        buffer_done(&cell);
    }
    return width == 0 ? 0 : width > title ? width : title;
}

static void add_padded(const char *text, size_t width, bool is_right, struct buffer *line)
{
    int blanks = (int)(width - utf8_columns(text));

    buffer_format(line, "  %*s", is_right ? blanks : 0, "");
    buffer_add_text(line, text);
    buffer_format(line, "%*s", is_right ? 0 : blanks, "");
}

static void write_rows(const struct server_table *table, struct page *page)
{
    size_t widths[COLUMNS];
    struct buffer title = { 0 };

    for (size_t i = 0; i < COLUMNS; i++) {
        widths[i] = width_of(page, table, &columns[i]);
        if (widths[i] > 0)
            add_padded(columns[i].title, widths[i], columns[i].kind != KIND_TEXT, &title);
    }
    page_add(page, PAGE_DIM, title.text ? title.text : "");
    page_blank(page);
    buffer_done(&title);
    for (size_t row = 0; row < shown_count(table); row++) {
        struct buffer line = { 0 };

        for (size_t i = 0; i < COLUMNS; i++) {
            struct buffer cell = { 0 };

            if (widths[i] > 0)
                add_cell(page, table, row, &columns[i], &cell);
            if (widths[i] > 0)
                add_padded(cell.text ? cell.text : "", widths[i], columns[i].kind != KIND_TEXT,
                           &line);
            buffer_done(&cell);
        }
        page_add(page, PAGE_PLAIN, line.text ? line.text : "");
        page_blank(page);
        buffer_done(&line);
    }
}

/* "This run   $0.0041  2 min 34 s on aws m5.large in eu-west-1 at $0.0960 per hour". */
static void write_run(const struct server_table *table, struct page *page)
{
    struct buffer cost = { 0 }, details = { 0 };

    if (!table->run_server)
        return;
    add_money(server_cost(table->run_price, table->run_seconds), &cost);
    buffer_format(&details, "%s on ", number_duration(table->run_seconds).text);
    page_escape(page, table->run_vendor, &details);
    buffer_add_text(&details, " ");
    page_escape(page, table->run_server, &details);
    if (*table->run_region) {
        buffer_add_text(&details, " in ");
        page_escape(page, table->run_region, &details);
    }
    if (table->run_reason) {
        buffer_add_text(&details, "; ");
        page_escape(page, table->run_reason, &details);
    } else {
        buffer_add_text(&details, " at ");
        add_money(table->run_price, &details);
        buffer_add_text(&details, " per hour");
    }
    page_row(page, table->has_many_runs ? "Longest run" : "This run",
             cost.text ? cost.text : "", details.text);
    buffer_done(&cost);
    buffer_done(&details);
}

void server_table_write_text(const struct server_table *table, const struct format_style *style,
                             struct buffer *out)
{
    struct page page = { out, style->has_color, style->has_unicode, style->columns };
    struct buffer note = { 0 };

    write_run(table, &page);
    if (!table->catalog)
        return;
    page_blank(&page);
    page_add(&page, PAGE_BOLD,
             shown_count(table) > 0 ? "Servers that fit, the cheapest first"
                                    : "No server fits");
    buffer_add_text(&note, " (");
    page_escape(&page, table->source, &note);
    buffer_add_text(&note, ")");
    page_add(&page, PAGE_DIM, note.text ? note.text : "");
    page_blank(&page);
    buffer_done(&note);
    if (shown_count(table) > 0)
        write_rows(table, &page);
}

/* ---- JSON ----------------------------------------------------------------- */

static const char *known(const char *text)
{
    return text && *text ? text : NULL;
}

static void add_server(const struct server_table *table, const struct server *server,
                       struct json_writer *json)
{
    struct buffer details = { 0 };

    json_begin(json, NULL, '{');
    json_add_text(json, "vendor", known(server->vendor));
    json_add_text(json, "name", server->name);
    json_add_text(json, "region", known(server->region));
    json_add_text(json, "architecture", known(server->architecture));
    json_add_number(json, "vcpus", server->vcpus);
    json_add_number(json, "memory_bytes", server->memory_bytes);
    json_add_number(json, "gpus", server->gpus);
    json_add_text(json, "gpu_vendor", known(server->gpu_vendor));
    json_add_number(json, "vram_bytes", server->vram_bytes);
    json_add_number(json, "price_usd_per_hour", server->price);
    json_add_number(json, "run_cost_usd", server_cost(server->price, table->run_seconds));
    catalog_add_row(table->catalog, server->row, &details);
    json_add_document(json, "details", &details); /* null if there are none */
    json_end(json);
    buffer_done(&details);
}

static void add_run(const struct server_table *table, struct json_writer *json)
{
    json_begin(json, "run", '{');
    json_add_number(json, "elapsed_seconds", table->run_seconds);
    json_add_text(json, "vendor", known(table->run_vendor));
    json_add_text(json, "name", known(table->run_server));
    json_add_text(json, "region", known(table->run_region));
    json_add_number(json, "price_usd_per_hour", table->run_price);
    json_add_number(json, "cost_usd", server_cost(table->run_price, table->run_seconds));
    json_add_text(json, "reason", table->run_reason);
    json_end(json);
}

void server_table_add_json(const struct server_table *table, struct json_writer *json)
{
    json_begin(json, "servers", '{');
    json_add_text(json, "source", table->source);
    json_add_text(json, "reason", table->reason);
    add_run(table, json);
    if (table->catalog) {
        json_begin(json, "fitting", '[');
        for (size_t i = 0; i < shown_count(table); i++)
            add_server(table, &table->catalog->servers.items[i], json);
        json_end(json);
    } else {
        json_add_null(json, "fitting");
    }
    json_end(json);
}
