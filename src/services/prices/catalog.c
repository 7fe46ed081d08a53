/* SPDX-License-Identifier: Apache-2.0 */
#include "services/prices/catalog.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/error.h"
#include "text/csv.h"
#include "text/number.h"

#define MIB 1048576.0
#define NUMBER_MAX 1e12
#define BYTE_ORDER_MARK "\xef\xbb\xbf"

/* One server as it is read. */
struct row {
    struct server server;
    double vram_bytes_each; /* of each GPU, or of the smallest */
};

/* Text if `size` is not 0, else a number. Of several columns for one member, the first that
 * holds something counts. */
struct column {
    const char *name;
    size_t offset;
    size_t size;
    double unit;
};

#define TEXT(member) offsetof(struct row, member), sizeof(((struct row *)0)->member), 0
#define NUMBER(member, unit) offsetof(struct row, member), 0, unit

static const struct column columns[] = {
    { "vendor_id", TEXT(server.vendor) },
    { "api_reference", TEXT(server.name) },
    { "server_id", TEXT(server.name) },
    { "name", TEXT(server.name) },
    { "region_id", TEXT(server.region) },
    { "cpu_architecture", TEXT(server.architecture) },
    { "gpu_manufacturer", TEXT(server.gpu_vendor) },
    { "vcpus", NUMBER(server.vcpus, 1) },
    { "memory_amount", NUMBER(server.memory_bytes, MIB) },
    { "gpu_count", NUMBER(server.gpus, 1) },
    { "gpu_memory_total", NUMBER(server.vram_bytes, MIB) },
    { "gpu_memory_min", NUMBER(vram_bytes_each, MIB) },
    { "min_price_ondemand", NUMBER(server.price, 1) },
};
enum { COLUMNS = ARRAY_SIZE(columns) };

void catalog_done(struct catalog *catalog)
{
    servers_done(&catalog->servers);
    json_decref(catalog->document);
    *catalog = (struct catalog){ 0 };
}

/* ---- one row -------------------------------------------------------------- */

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

static int end_row(struct row *row, struct servers *servers, struct spoor_error *err)
{
    struct server *server = &row->server;
    int r;

    if (!*server->name)
        return error_set(err, EBADMSG, "no name: expected api_reference, server_id or name");
    if (isnan(server->vram_bytes) && server->gpus > 0)
        server->vram_bytes = row->vram_bytes_each * fmax(server->gpus, 1);
    r = servers_add(servers, server);
    if (r == -E2BIG)
        return error_set(err, EFBIG, "more than %d servers", SERVERS_MAX);
    return r < 0 ? error_set(err, ENOMEM, "out of memory") : 0;
}

/* ---- CSV ------------------------------------------------------------------ */

/* Which cell a column is in; SIZE_MAX: none. */
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

static bool has_column(const struct header *header, const char *name)
{
    for (size_t i = 0; i < COLUMNS; i++)
        if (strcmp(columns[i].name, name) == 0)
            return header->cell[i] != SIZE_MAX;
    return false;
}

static int read_header(struct csv_reader *csv, struct header *ret, struct spoor_error *err)
{
    static const char *const needed[] = { "vcpus", "memory_amount" };
    int r = csv_reader_next(csv);

    if (r < 0)
        return refuse_csv(csv, r, err);
    ret->cells = r == 0 ? 0 : csv->count;
    for (size_t i = 0; i < COLUMNS; i++) {
        ret->cell[i] = SIZE_MAX;
        for (size_t j = ret->cells; j-- > 0;)
            if (strcmp(csv_reader_cell(csv, j), columns[i].name) == 0)
                ret->cell[i] = j;
    }
    for (size_t i = 0; i < ARRAY_SIZE(needed); i++)
        if (!has_column(ret, needed[i]))
            return error_set(err, EBADMSG,
                             "no column '%s': expected a CSV file with a header, or JSON",
                             needed[i]);
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
                      struct servers *servers, struct spoor_error *err)
{
    struct row row;
    int r = 0;

    if (csv->count != header->cells)
        return error_set(err, EBADMSG, "%zu cells, but the header has %zu", csv->count,
                         header->cells);
    begin_row(&row, servers->count);
    for (size_t i = 0; r == 0 && i < COLUMNS; i++)
        if (header->cell[i] != SIZE_MAX)
            r = set_cell(&row, &columns[i], csv_reader_cell(csv, header->cell[i]), err);
    return r < 0 ? r : end_row(&row, servers, err);
}

static int read_csv(FILE *in, struct servers *servers, struct spoor_error *err)
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
        r = read_cells(&csv, &header, servers, err);
        if (r < 0)
            return error_prefix(err, r, "line %u", csv.line);
    }
    return r;
}

static int parse_csv(const char *text, size_t length, struct servers *servers,
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
    r = read_csv(in, servers, err);
    (void)fclose(in); /* it was only read */
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

static int read_object(const json_t *object, struct servers *servers, struct spoor_error *err)
{
    struct row row;
    int r = 0;

    if (!json_is_object(object))
        return error_set(err, EBADMSG, "expected an object");
    begin_row(&row, servers->count);
    for (size_t i = 0; r == 0 && i < COLUMNS; i++)
        r = set_value(&row, &columns[i], json_object_get(object, columns[i].name), err);
    return r < 0 ? r : end_row(&row, servers, err);
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
        r = read_object(json_array_get(root, i), &catalog->servers, err);
        if (r < 0)
            return error_prefix(err, r, "server %zu", i + 1);
    }
    return 0;
}

void catalog_add_row(const struct catalog *catalog, size_t row, struct buffer *out)
{
    /* 0.1 is written as 0.1 with 15 digits, and as 0.10000000000000001 with more. */
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

/* ---- a whole catalogue ---------------------------------------------------- */

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
                    : parse_csv(text, length, &catalog.servers, err);

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
