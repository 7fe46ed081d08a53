/* SPDX-License-Identifier: Apache-2.0 */
#include "services/prices/catalog.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/amount.h"
#include "base/compiler.h"
#include "base/error.h"
#include "base/reserve.h"
#include "output/text_layout.h"
#include "text/csv.h"
#include "text/number.h"
#include "text/utf8.h"

/* ---- servers ------------------------------------------------------------ */

enum { SECONDS_PER_HOUR = 3600 };

int catalog_add(struct catalog *catalog, const struct server *server)
{
    if (catalog->count == SERVERS_MAX)
        return -E2BIG;
    if (reserve(&catalog->items, &catalog->capacity, catalog->count + 1, sizeof(*server)) < 0)
        return -ENOMEM;
    catalog->items[catalog->count++] = *server;
    return 0;
}

static bool is_enough(double offered, const struct need *need)
{
    return isnan(need->value) || need->value <= 0 || offered >= need->value;
}

static bool is_one_of(const char *text, const char *const *texts)
{
    for (; *texts; texts++)
        if (strcasecmp(text, *texts) == 0)
            return true;
    return false;
}

/* Programs for GPUs of one vendor rarely run on GPUs of another. */
static bool has_right_gpus(const struct server *server, const struct needs *needs)
{
    return !(needs->gpus.value > 0) || !*needs->gpu_vendor || !*server->gpu_vendor ||
           strcasecmp(server->gpu_vendor, needs->gpu_vendor) == 0;
}

bool server_fits(const struct server *server, const struct server_filter *filter)
{
    const struct needs *needs = filter->needs;

    return is_enough(server->vcpus, &needs->cpus) &&
           is_enough(server->memory_bytes, &needs->memory_bytes) &&
           is_enough(server->gpus, &needs->gpus) &&
           is_enough(server->vram_bytes, &needs->vram_bytes) && has_right_gpus(server, needs) &&
           (!filter->vendors || is_one_of(server->vendor, filter->vendors)) &&
           (!filter->architecture ||
            strcasecmp(server->architecture, filter->architecture) == 0);
}

/* Sorts unknown values last. */
static int compare_known(double a, double b)
{
    if (isnan(a) || isnan(b))
        return (isnan(a) ? 1 : 0) - (isnan(b) ? 1 : 0);
    return (a > b) - (a < b);
}

static int compare(const void *left, const void *right)
{
    const struct server *a = left, *b = right;
    int order = compare_known(a->price, b->price);

    if (order == 0)
        order = compare_known(a->vcpus, b->vcpus);
    if (order == 0)
        order = compare_known(a->memory_bytes, b->memory_bytes);
    if (order == 0)
        order = strcmp(a->vendor, b->vendor);
    if (order == 0)
        order = strcmp(a->name, b->name);
    return order == 0 ? (a->row > b->row) - (a->row < b->row) : order;
}

void catalog_choose(struct catalog *catalog, const struct server_filter *filter)
{
    size_t count = 0;

    for (size_t i = 0; i < catalog->count; i++) {
        if (!server_fits(&catalog->items[i], filter))
            continue;
        if (count < i)
            catalog->items[count] = catalog->items[i];
        count++;
    }
    catalog->count = count;
    if (count > 0)
        qsort(catalog->items, count, sizeof(*catalog->items), compare);
}

const struct server *catalog_find(const struct catalog *catalog, const char *vendor,
                                  const char *name, const char *region)
{
    const struct server *found = NULL;

    for (size_t i = 0; i < catalog->count; i++) {
        const struct server *server = &catalog->items[i];

        if (strcasecmp(server->vendor, vendor) != 0 || strcasecmp(server->name, name) != 0)
            continue;
        if (*region && strcmp(server->region, region) == 0)
            return server;
        if (!found)
            found = server;
    }
    return found;
}

double server_cost(double price, double seconds)
{
    return price * seconds / SECONDS_PER_HOUR;
}

/* ---- lists of servers --------------------------------------------------- */

enum { CATALOG_BYTES_MAX = 64 << 20 };

#define MIB 1048576.0
#define NUMBER_MAX 1e12
#define BYTE_ORDER_MARK "\xef\xbb\xbf"

/* A server as it is being read. */
struct row {
    struct server server;
    double vram_bytes_each; /* memory of the smallest GPU */
};

/* A text if `size` is not 0, else a number. If several columns have the same offset, the first
 * that is not empty is used. */
struct column {
    const char *name;
    size_t offset;
    size_t size;
    double unit;
    bool is_needed; /* required in a CSV file */
};

#define TEXT(member) offsetof(struct row, member), sizeof(((struct row *)0)->member), 0, false
#define NUMBER(member, unit, is_needed) offsetof(struct row, member), 0, unit, is_needed

static const struct column columns[] = {
    { "vendor_id", TEXT(server.vendor) },
    { "api_reference", TEXT(server.name) },
    { "server_id", TEXT(server.name) },
    { "name", TEXT(server.name) },
    { "region_id", TEXT(server.region) },
    { "cpu_architecture", TEXT(server.architecture) },
    { "gpu_manufacturer", TEXT(server.gpu_vendor) },
    { "vcpus", NUMBER(server.vcpus, 1, true) },
    { "memory_amount", NUMBER(server.memory_bytes, MIB, true) },
    { "gpu_count", NUMBER(server.gpus, 1, false) },
    { "gpu_memory_total", NUMBER(server.vram_bytes, MIB, false) },
    { "gpu_memory_min", NUMBER(vram_bytes_each, MIB, false) },
    { "min_price_ondemand", NUMBER(server.price, 1, false) },
};
enum { COLUMNS = ARRAY_SIZE(columns) };

void catalog_done(struct catalog *catalog)
{
    free(catalog->items);
    json_decref(catalog->document);
    *catalog = (struct catalog){ 0 };
}

static void begin_row(struct row *row, size_t number)
{
    *row = (struct row){ .vram_bytes_each = (double)NAN };
    row->server.row = number;
    row->server.vcpus = row->server.memory_bytes = row->server.gpus = (double)NAN;
    row->server.vram_bytes = row->server.price = (double)NAN;
}

static int set_text(struct row *row, const struct column *column, const char *text,
                    struct spoor_error *err)
{
    char *member = (char *)row + column->offset;
    size_t length = strlen(text);

    if (*member)
        return 0;
    if (length >= column->size)
        return error_set(err, EBADMSG, "%s: expected at most %zu characters", column->name,
                         column->size - 1);
    memcpy(member, text, length + 1);
    return 0;
}

static int set_number(struct row *row, const struct column *column, double value,
                      struct spoor_error *err)
{
    /* Written so that NaN fails too. */
    if (!(value >= 0 && value <= NUMBER_MAX))
        return error_set(err, EBADMSG, "%s: expected a number from 0 to %g", column->name,
                         NUMBER_MAX);
    value *= column->unit;
    memcpy((char *)row + column->offset, &value, sizeof(value));
    return 0;
}

static int end_row(struct row *row, struct catalog *catalog, struct spoor_error *err)
{
    struct server *server = &row->server;
    int r;

    if (!*server->name)
        return error_set(err, EBADMSG, "no name: expected api_reference, server_id or name");
    if (isnan(server->vram_bytes) && server->gpus > 0)
        server->vram_bytes = row->vram_bytes_each * fmax(server->gpus, 1);
    r = catalog_add(catalog, server);
    if (r == -E2BIG)
        return error_set(err, EFBIG, "more than %d servers", SERVERS_MAX);
    return r < 0 ? error_set(err, ENOMEM, "out of memory") : 0;
}

/* ---- CSV ------------------------------------------------------------------ */

/* Maps columns to cells of a row; SIZE_MAX: the file has no such column. */
struct header {
    size_t cells;
    size_t cell[COLUMNS];
};

static int refuse_csv(const struct csv_reader *csv, int code, struct spoor_error *err)
{
    static const struct {
        int code;
        const char *message;
    } messages[] = {
        { -EBADMSG, "not a CSV file: a NUL byte or an unclosed quote" },
        { -E2BIG, "too many cells, or too long" },
        { -ENOMEM, "out of memory" },
    };

    for (size_t i = 0; i < ARRAY_SIZE(messages); i++)
        if (messages[i].code == code)
            return error_set(err, code, "line %u: %s", csv->line, messages[i].message);
    return error_sys(err, code, "line %u", csv->line);
}

static int read_header(struct csv_reader *csv, struct header *ret, struct spoor_error *err)
{
    int r = csv_reader_next(csv);

    if (r < 0)
        return refuse_csv(csv, r, err);
    ret->cells = r == 0 ? 0 : csv->count;
    for (size_t i = 0; i < COLUMNS; i++) {
        ret->cell[i] = SIZE_MAX;
        for (size_t j = ret->cells; j-- > 0;)
            if (strcmp(csv_reader_cell(csv, j), columns[i].name) == 0)
                ret->cell[i] = j;
        if (columns[i].is_needed && ret->cell[i] == SIZE_MAX)
            return error_set(err, EBADMSG,
                             "no column '%s': expected a CSV file with a header, or JSON",
                             columns[i].name);
    }
    return 0;
}

static int set_cell(struct row *row, const struct column *column, const char *cell,
                    struct spoor_error *err)
{
    double value;

    if (!*cell)
        return 0;
    if (column->size > 0)
        return set_text(row, column, cell, err);
    if (decimal_parse(cell, &value) < 0)
        return error_set(err, EBADMSG, "%s: '%.32s' is not a number", column->name, cell);
    return set_number(row, column, value, err);
}

static int read_cells(const struct csv_reader *csv, const struct header *header,
                      struct catalog *catalog, struct spoor_error *err)
{
    struct row row;
    int r = 0;

    if (csv->count != header->cells)
        return error_set(err, EBADMSG, "%zu cells, but the header has %zu", csv->count,
                         header->cells);
    begin_row(&row, catalog->count);
    for (size_t i = 0; r == 0 && i < COLUMNS; i++)
        if (header->cell[i] != SIZE_MAX)
            r = set_cell(&row, &columns[i], csv_reader_cell(csv, header->cell[i]), err);
    return r < 0 ? r : end_row(&row, catalog, err);
}

static int read_csv(FILE *in, struct catalog *catalog, struct spoor_error *err)
{
    CLEANUP(csv_reader_done) struct csv_reader csv = { .in = in };
    struct header header = { 0 };
    int r = read_header(&csv, &header, err);

    while (r == 0) {
        int next = csv_reader_next(&csv);

        if (next == 0)
            return 0;
        if (next < 0)
            return refuse_csv(&csv, next, err);
        r = read_cells(&csv, &header, catalog, err);
        if (r < 0)
            return error_prefix(err, r, "line %u", csv.line);
    }
    return r;
}

static int parse_csv(const char *text, size_t length, struct catalog *catalog,
                     struct spoor_error *err)
{
    FILE *in;
    int r;

    if (length >= strlen(BYTE_ORDER_MARK) &&
        memcmp(text, BYTE_ORDER_MARK, strlen(BYTE_ORDER_MARK)) == 0) {
        text += strlen(BYTE_ORDER_MARK);
        length -= strlen(BYTE_ORDER_MARK);
    }
    if (length == 0)
        return error_set(err, EBADMSG, "it is empty");
    in = fmemopen((void *)(uintptr_t)text, length, "r");
    if (!in)
        return error_sys(err, errno, "fmemopen");
    r = read_csv(in, catalog, err);
    (void)fclose(in); /* the file was only read */
    return r;
}

/* ---- JSON ----------------------------------------------------------------- */

static int set_value(struct row *row, const struct column *column, const json_t *value,
                     struct spoor_error *err)
{
    if (!value || json_is_null(value))
        return 0;
    if (column->size > 0)
        return json_is_string(value)
                   ? set_text(row, column, json_string_value(value), err)
                   : error_set(err, EBADMSG, "%s: expected a string", column->name);
    return json_is_number(value)
               ? set_number(row, column, json_number_value(value), err)
               : error_set(err, EBADMSG, "%s: expected a number", column->name);
}

static int read_object(const json_t *object, struct catalog *catalog, struct spoor_error *err)
{
    struct row row;
    int r = 0;

    if (!json_is_object(object))
        return error_set(err, EBADMSG, "expected an object");
    begin_row(&row, catalog->count);
    for (size_t i = 0; r == 0 && i < COLUMNS; i++)
        r = set_value(&row, &columns[i], json_object_get(object, columns[i].name), err);
    return r < 0 ? r : end_row(&row, catalog, err);
}

static int parse_json(const char *text, size_t length, struct catalog *catalog,
                      struct spoor_error *err)
{
    json_error_t error;
    json_t *root = json_loadb(text, length, 0, &error);
    int r = 0;

    if (!root)
        return error_set(err, EBADMSG, "not valid JSON (line %d, column %d)", error.line,
                         error.column);
    catalog->document = root;
    if (!json_is_array(root))
        return error_set(err, EBADMSG, "expected a list of servers");
    for (size_t i = 0; i < json_array_size(root); i++) {
        r = read_object(json_array_get(root, i), catalog, err);
        if (r < 0)
            return error_prefix(err, r, "server %zu", i + 1);
    }
    return 0;
}

void catalog_add_row(const struct catalog *catalog, size_t row, struct buffer *out)
{
    /* With 15 digits 0.1 is written as 0.1, with more as 0.10000000000000001. */
    const size_t flags = JSON_COMPACT | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(15);
    char *text;

    if (!catalog->document)
        return;
    text = json_dumps(json_array_get(catalog->document, row), flags);
    if (text)
        buffer_add_text(out, text);
    else
        out->error = -ENOMEM;
    free(text);
}

static bool is_json(const char *text, size_t length)
{
    while (length > 0 && (*text == ' ' || *text == '\t' || *text == '\r' || *text == '\n')) {
        text++;
        length--;
    }
    return length > 0 && (*text == '[' || *text == '{');
}

static int parse(const char *text, size_t length, bool as_json, struct catalog *ret,
                 struct spoor_error *err)
{
    CLEANUP(catalog_done) struct catalog catalog = { 0 };
    int r = as_json ? parse_json(text, length, &catalog, err)
                    : parse_csv(text, length, &catalog, err);

    if (r < 0)
        return r;
    *ret = catalog;
    catalog = (struct catalog){ 0 };
    return 0;
}

int catalog_parse(const char *text, size_t length, struct catalog *ret, struct spoor_error *err)
{
    return parse(text, length, is_json(text, length), ret, err);
}

int catalog_parse_json(const char *text, size_t length, struct catalog *ret,
                       struct spoor_error *err)
{
    return parse(text, length, true, ret, err);
}

int catalog_load(const char *path, struct catalog *ret, struct spoor_error *err)
{
    CLEANUP(buffer_done) struct buffer text = { 0 };
    int r = buffer_read_file(&text, path, CATALOG_BYTES_MAX);

    if (r == -EFBIG)
        return error_set(err, EFBIG, "'%s' is larger than %d MiB", path,
                         CATALOG_BYTES_MAX >> 20);
    if (r < 0)
        return error_sys(err, r, "cannot read '%s'", path);
    r = catalog_parse(text.text, text.length, ret, err);
    return r < 0 ? error_prefix(err, r, "'%s'", path) : 0;
}

/* ---- the table of servers ----------------------------------------------- */

#define GIB 1073741824.0

enum { NAME_COLUMNS = 32 };

static size_t shown_count(const struct server_table *table)
{
    return table->catalog ? smaller(table->catalog->count, table->count) : 0;
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
static const struct table_column {
    const char *title;
    enum kind kind;
    size_t offset;
} table_columns[] = {
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
enum { TABLE_COLUMNS = ARRAY_SIZE(table_columns) };

static void add_text(const struct page *page, const char *text, struct buffer *out)
{
    CLEANUP(buffer_done) struct buffer safe = { 0 };

    page_escape(page, text, &safe);
    if (safe.text)
        page_cut(safe.text, NAME_COLUMNS, out);
}

/* Adds nothing if the value is unknown or 0. */
static void add_cell(const struct page *page, const struct server_table *table, size_t row,
                     const struct table_column *table_column, struct buffer *out)
{
    const char *member = (const char *)&table->catalog->items[row] + table_column->offset;
    double value = table_column->kind == KIND_TEXT ? 0 : *(const double *)(const void *)member;

    switch (table_column->kind) {
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

/* Returns the width of a column; 0: the column is left out. */
static size_t width_of(const struct page *page, const struct server_table *table,
                       const struct table_column *table_column)
{
    size_t width = 0, title = utf8_columns(table_column->title);

    for (size_t row = 0; row < shown_count(table); row++) {
        CLEANUP(buffer_done) struct buffer cell = { 0 };

        add_cell(page, table, row, table_column, &cell);
        width = larger(width, cell.text ? utf8_columns(cell.text) : 0);
    }
    return width == 0 ? 0 : larger(width, title);
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
    size_t widths[TABLE_COLUMNS];
    CLEANUP(buffer_done) struct buffer title = { 0 };

    for (size_t i = 0; i < TABLE_COLUMNS; i++) {
        widths[i] = width_of(page, table, &table_columns[i]);
        if (widths[i] > 0)
            add_padded(table_columns[i].title, widths[i], table_columns[i].kind != KIND_TEXT,
                       &title);
    }
    page_add(page, PAGE_DIM, title.text ? title.text : "");
    page_blank(page);
    for (size_t row = 0; row < shown_count(table); row++) {
        CLEANUP(buffer_done) struct buffer line = { 0 };

        for (size_t i = 0; i < TABLE_COLUMNS; i++) {
            CLEANUP(buffer_done) struct buffer cell = { 0 };

            if (widths[i] == 0)
                continue;
            add_cell(page, table, row, &table_columns[i], &cell);
            add_padded(cell.text ? cell.text : "", widths[i],
                       table_columns[i].kind != KIND_TEXT, &line);
        }
        page_add(page, PAGE_PLAIN, line.text ? line.text : "");
        page_blank(page);
    }
}

/* Writes "This run   $0.0041  2 min 34 s on aws m5.large in eu-west-1 at $0.0960 per hour". */
static void write_run(const struct server_table *table, struct page *page)
{
    CLEANUP(buffer_done) struct buffer cost = { 0 };
    CLEANUP(buffer_done) struct buffer details = { 0 };

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
}

void server_table_write_text(const struct server_table *table, const struct format_style *style,
                             struct buffer *out)
{
    struct page page = { out, style->has_color, style->has_unicode, style->columns };
    CLEANUP(buffer_done) struct buffer note = { 0 };

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
    if (shown_count(table) > 0)
        write_rows(table, &page);
}

static void add_server(const struct server_table *table, const struct server *server,
                       struct json_writer *json)
{
    CLEANUP(buffer_done) struct buffer details = { 0 };

    json_begin(json, NULL, '{');
    json_add_known_text(json, "vendor", server->vendor);
    json_add_text(json, "name", server->name);
    json_add_known_text(json, "region", server->region);
    json_add_known_text(json, "architecture", server->architecture);
    json_add_number(json, "vcpus", server->vcpus);
    json_add_number(json, "memory_bytes", server->memory_bytes);
    json_add_number(json, "gpus", server->gpus);
    json_add_known_text(json, "gpu_vendor", server->gpu_vendor);
    json_add_number(json, "vram_bytes", server->vram_bytes);
    json_add_number(json, "price_usd_per_hour", server->price);
    json_add_number(json, "run_cost_usd", server_cost(server->price, table->run_seconds));
    catalog_add_row(table->catalog, server->row, &details);
    json_add_document(json, "details", &details); /* null if there are no details */
    json_end(json);
}

static void add_run(const struct server_table *table, struct json_writer *json)
{
    json_begin(json, "run", '{');
    json_add_number(json, "elapsed_seconds", table->run_seconds);
    json_add_known_text(json, "vendor", table->run_vendor);
    json_add_known_text(json, "name", table->run_server);
    json_add_known_text(json, "region", table->run_region);
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
            add_server(table, &table->catalog->items[i], json);
        json_end(json);
    } else {
        json_add_null(json, "fitting");
    }
    json_end(json);
}
