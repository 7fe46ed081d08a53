/* SPDX-License-Identifier: Apache-2.0 */
/* targets_record.c - reports, tables of samples, catalogues of servers. */
#include <errno.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "base/compiler.h"
#include "compat/gpu_tracker/subtrack/results.h"
#include "fuzz.h"
#include "output/format.h"
#include "output/stream.h"
#include "record/load.h"
#include "record/samples_load.h"
#include "services/prices/catalog.h"

/* ---- records ---------------------------------------------------------------------- */

static const struct format_style style = { .has_unicode = true,
                                           .columns = TEXT_COLUMNS,
                                           .has_header = true };

/* Every format must be able to write the record, and its JSON must parse as the same record. */
static void check_record(const struct record *record)
{
    CLEANUP(buffer_done) struct buffer text = { 0 };
    CLEANUP(buffer_done) struct buffer json = { 0 };
    CLEANUP(buffer_done) struct buffer again = { 0 };
    CLEANUP(record_done) struct record copy;
    struct spoor_error err;

    record_init(&copy);
    for (int i = 0; format_get((enum spoor_format)i); i++) {
        if (i != SPOOR_JSON && i != SPOOR_HTML) /* a page is the JSON and a constant */
            format_write(format_get((enum spoor_format)i), record, 1,
                         &(struct format_style){ style.has_color, style.has_unicode,
                                                 style.columns, style.has_header },
                         &text);
    }
    json_write(record, &style, &json);
    CHECK(buffer_error(&text) == 0 && buffer_error(&json) == 0);
    CHECK(record_parse(json.text, json.length, &copy, NULL, &err) == 0);
    json_write(&copy, &style, &again);
    CHECK(again.length == json.length && memcmp(again.text, json.text, json.length) == 0);
}

static void run_report(char *text, size_t length)
{
    struct spoor_error err = { 0 };
    struct record record;
    size_t used = 0;

    if (record_parse(text, length, &record, &used, &err) < 0) {
        CHECK(err.code != 0);
        CHECK_ENDED(err.message);
        return;
    }
    CHECK(used > 0 && used <= length);
    check_record(&record);
    record_done(&record);
}

static void run_samples(char *text, size_t length)
{
    CLEANUP(records_done) struct records records = { 0 };
    struct spoor_error err;
    int fd = fuzz_file(text, length);
    CLEANUP(line_reader_done) struct line_reader lines = { .fd = fd };
    int r = samples_load(&lines, "run", &records, &err);

    (void)close(fd);
    if (r < 0)
        return;
    CHECK(records.count > 0);
    for (size_t i = 0; i < records.count && i < 4; i++)
        check_record(&records.items[i]);
}

/* The input is the header of an existing table to which rows are appended. */
static void run_stream_header(char *text, size_t length)
{
    static const char *const dialects[] = { NULL, "resource-tracker", "resource-tracker-rs" };

    for (size_t i = 0; i < ARRAY_SIZE(dialects); i++) {
        CLEANUP(buffer_done) struct buffer header = { 0 };
        struct spoor_error err = { 0 };
        struct gpu_columns gpus = { 0 };
        struct stream stream;
        int fd = fuzz_file(text, length);

        CHECK(stream_find("-", dialects[i], "csv", true, &stream, &err) == 0);
        if (stream_read_header(&stream, fd, &gpus, &err) == 0) {
            stream_write_header(&stream, &gpus, &header);
            CHECK(header.length <= length && memcmp(header.text, text, header.length) == 0);
        }
        (void)close(fd);
    }
}

/* ---- servers ---------------------------------------------------------------------- */

static void check_server(const struct server *server)
{
    CHECK_ENDED(server->vendor);
    CHECK_ENDED(server->name);
    CHECK_ENDED(server->region);
    CHECK_ENDED(server->architecture);
    CHECK_ENDED(server->gpu_vendor);
    CHECK(server->name[0] != '\0');
    CHECK(isnan(server->price) || server->price >= 0);
    CHECK(isnan(server->memory_bytes) || server->memory_bytes >= 0);
}

static void run_catalog(char *text, size_t length)
{
    CLEANUP(buffer_done) struct buffer row = { 0 };
    struct catalog catalog = { 0 };
    struct needs needs;
    struct server_filter filter = { .needs = &needs };
    struct spoor_error err;
    size_t count;

    if (catalog_parse(text, length, &catalog, &err) < 0)
        return;
    count = catalog.count;
    for (size_t i = 0; i < count; i++)
        check_server(&catalog.items[i]);
    (void)needs_combine(NULL, 0, 1, &needs);
    needs.cpus.value = 2;
    catalog_choose(&catalog, &filter);
    CHECK(catalog.count <= count);
    for (size_t i = 0; i < catalog.count; i++) {
        CHECK(server_fits(&catalog.items[i], &filter));
        if (i > 0 && !isnan(catalog.items[i].price))
            CHECK(catalog.items[i - 1].price <= catalog.items[i].price);
        catalog_add_row(&catalog, catalog.items[i].row, &row);
    }
    catalog_done(&catalog);
}

/* ---- results of gpu-tracker sub-track ----------------------------------------------- */

static void run_results(char *text, size_t length)
{
    CLEANUP(buffer_done) struct buffer json = { 0 };
    CLEANUP(buffer_done) struct buffer again = { 0 };
    struct results results = { 0 }, copy = { 0 };
    struct spoor_error err;

    if (results_parse(text, length, "results.json", &results, &err) < 0)
        return;
    results_write_text(&results, &json);
    buffer_clear(&json);
    results_write_json(&results, &json);
    CHECK(buffer_error(&json) == 0);
    CHECK(results_parse(json.text, json.length, "results.json", &copy, &err) == 0);
    results_write_json(&copy, &again);
    CHECK(again.length == json.length && memcmp(again.text, json.text, json.length) == 0);
    results_done(&results);
    results_done(&copy);
}

const struct fuzz_target record_targets[] = {
    { "report", run_report, 8 },
    { "samples", run_samples, 40 },
    { "stream_header", run_stream_header, 4 },
    { "catalog", run_catalog, 4 },
    { "results", run_results, 16 },
    { NULL, NULL, 0 },
};
