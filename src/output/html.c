/* SPDX-License-Identifier: Apache-2.0 */

#include <errno.h>
#include <string.h>

#include "base/compiler.h"
#include "base/error.h"
#include "output/format.h"
#include "text/json_writer.h"

/* Runs with many columns get fewer points, and so do the runs of a page with many runs, to keep
 * the page below 3 MB. */
enum { VALUES_MAX = 110000, FULL_RUNS = 8, POINTS_MIN = 2 };

static size_t points_of(const struct record *record, size_t runs)
{
    size_t values = runs > FULL_RUNS ? (size_t)VALUES_MAX * FULL_RUNS / runs : VALUES_MAX;
    size_t points = values / (record->curve.column_count + 1);

    return points < POINTS_MIN          ? POINTS_MIN
           : points < CURVE_PAGE_POINTS ? points
                                        : CURVE_PAGE_POINTS;
}

/* Escapes '<', so that no text can end the script element. In JSON, '<' occurs only in
 * strings. */
static void add_escaped(const struct buffer *json, struct buffer *out)
{
    const char *at = json->text, *end = json->text + json->length;

    while (at < end) {
        const char *next = memchr(at, '<', (size_t)(end - at));

        buffer_add(out, at, (size_t)((next ? next : end) - at));
        if (next)
            buffer_add_text(out, "\\u003c");
        at = next ? next + 1 : end;
    }
}

static void add_data(const struct record *records, size_t count, const struct buffer *bench,
                     struct buffer *out)
{
    CLEANUP(buffer_done) struct buffer text = { 0 };
    struct json_writer json = { .out = &text, .style = &json_compact };

    json_begin(&json, NULL, '{');
    json_add_text(&json, "schema", "spoor-page/1");
    json_begin(&json, "runs", '[');
    for (size_t i = 0; i < count; i++)
        json_add_report(&json, &records[i], points_of(&records[i], count), JSON_FOR_PAGE);
    json_end(&json);
    if (bench)
        json_add_document(&json, "bench", bench);
    json_end(&json);
    if (buffer_error(&text) < 0) {
        out->error = buffer_error(&text);
        return;
    }
    buffer_add_text(out, "<script id=\"spoor-data\" type=\"application/json\">");
    add_escaped(&text, out);
    buffer_add_text(out, "</script>");
}

void html_write_template(const char *template, size_t length, const struct record *records,
                         size_t count, const struct buffer *bench, struct buffer *out)
{
    const size_t marker_length = strlen(REPORT_TEMPLATE_MARKER);
    const char *marker = memmem(template, length, REPORT_TEMPLATE_MARKER, marker_length);

    if (!marker) {
        out->error = -EINVAL;
        return;
    }
    buffer_add(out, template, (size_t)(marker - template));
    add_data(records, count, bench, out);
    buffer_add(out, marker + marker_length,
               length - (size_t)(marker - template) - marker_length);
}

int html_check(struct spoor_error *err)
{
    if (report_template_length > 0)
        return 0;
    return error_set(err, ENOSYS,
                     "this build has no report page: install npm and build again, or use "
                     "another format");
}

void html_write_bench(const struct record *records, size_t count, const struct buffer *bench,
                      struct buffer *out)
{
    html_write_template(report_template, report_template_length, records, count, bench, out);
}

void html_write_all(const struct record *records, size_t count, struct buffer *out)
{
    html_write_bench(records, count, NULL, out);
}
