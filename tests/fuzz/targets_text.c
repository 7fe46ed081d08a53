/* SPDX-License-Identifier: Apache-2.0 */
/* targets_text.c - text in general: CSV, escapes, numbers, dates, lines. Spoor's readers
 * must read back the output of spoor's writers. */
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "base/parse.h"
#include "front/spoor/settings.h"
#include "fuzz.h"
#include "text/csv.h"
#include "text/escape.h"
#include "text/line_reader.h"
#include "text/number.h"
#include "text/utf8.h"

/* ---- CSV ---------------------------------------------------------------------------- */

static FILE *open_text(struct buffer *text)
{
    FILE *file;

    buffer_add(text, "\n", 1); /* fmemopen() may reject an empty buffer */
    file = fmemopen(text->text, text->length, "r");
    CHECK(file != NULL);
    return file;
}

/* Writes a record, reads it back and compares. */
static void read_back(const struct csv_reader *expected, const struct csv_dialect *dialect)
{
    CLEANUP(buffer_done) struct buffer text = { 0 };
    CLEANUP(csv_reader_done) struct csv_reader reader = { 0 };
    struct csv_writer csv = { .out = &text, .dialect = dialect };

    for (size_t i = 0; i < expected->count; i++)
        csv_add_text(&csv, csv_reader_cell(expected, i));
    csv_end_row(&csv);
    reader.in = open_text(&text);
    CHECK(csv_reader_next(&reader) == 1);
    CHECK(reader.count == expected->count);
    for (size_t i = 0; i < expected->count; i++)
        CHECK(strcmp(csv_reader_cell(&reader, i), csv_reader_cell(expected, i)) == 0);
    CHECK(csv_reader_next(&reader) == 0);
    (void)fclose(reader.in);
}

static void run_csv(char *text, size_t length)
{
    CLEANUP(buffer_done) struct buffer copy = { 0 };
    CLEANUP(csv_reader_done) struct csv_reader reader = { 0 };
    int r;

    buffer_add(&copy, text, length);
    reader.in = open_text(&copy);
    while ((r = csv_reader_next(&reader)) > 0) {
        CHECK(reader.count > 0 && reader.count <= CSV_CELLS_MAX);
        CHECK(reader.line <= length + 1);
        for (size_t i = 0; i < reader.count; i++)
            CHECK(csv_reader_cell(&reader, i) < reader.text + reader.length);
        read_back(&reader, &csv_python);
        read_back(&reader, &csv_quoted);
    }
    CHECK(r == 0 || r == -EBADMSG || r == -E2BIG);
    (void)fclose(reader.in);
}

/* ---- escapes -------------------------------------------------------------------------- */

static bool is_utf8(const char *text)
{
    uint32_t character;
    int n;

    while ((n = utf8_decode(text, &character)) > 0)
        text += n;
    return n == 0;
}

static bool is_safe(const char *text)
{
    uint32_t character;
    int n;

    for (; (n = utf8_decode(text, &character)) > 0; text += n)
        if (utf8_is_unsafe(character))
            return false;
    return n == 0;
}

static bool is_ascii(const char *text)
{
    while (*text > 0)
        text++;
    return *text == '\0';
}

static void check_json(const char *text, const struct buffer *escaped)
{
    json_auto_t *value = json_loadb(escaped->text, escaped->length, JSON_DECODE_ANY, NULL);

    CHECK(is_safe(escaped->text));
    CHECK(json_is_string(value));
    if (is_utf8(text))
        CHECK(strcmp(json_string_value(value), text) == 0);
}

/* A row with the text in one cell must be one line. The cell must read back as the text that
 * escape_terminal() shows. */
static void check_csv(const char *text)
{
    CLEANUP(buffer_done) struct buffer escaped = { 0 };
    CLEANUP(buffer_done) struct buffer shown = { 0 };
    CLEANUP(csv_reader_done) struct csv_reader reader = { 0 };

    buffer_add(&escaped, "x,", 2);
    escape_csv(text, &escaped);
    escape_terminal(text, &shown);
    CHECK(is_safe(escaped.text));
    reader.in = open_text(&escaped);
    CHECK(csv_reader_next(&reader) == 1 && reader.count == 2);
    CHECK(strcmp(csv_reader_cell(&reader, 1), shown.text ? shown.text : "") == 0);
    (void)fclose(reader.in);
}

static void run_escape(char *text, UNUSED size_t length)
{
    static void (*const makers[])(const char *, struct buffer *) = {
        escape_terminal, escape_unsafe, escape_shell, escape_url, escape_url_path,
    };
    CLEANUP(buffer_done) struct buffer out = { 0 };

    for (size_t i = 0; i < ARRAY_SIZE(makers); i++) {
        buffer_clear(&out);
        makers[i](text, &out);
        CHECK(buffer_error(&out) == 0 && (!out.text || is_safe(out.text)));
    }
    buffer_clear(&out);
    escape_json(text, &out);
    check_json(text, &out);
    buffer_clear(&out);
    escape_json_ascii(text, &out);
    CHECK(is_ascii(out.text));
    check_json(text, &out);
    check_csv(text);
}

static void run_utf8(char *text, size_t length)
{
    size_t columns = utf8_columns(text);
    uint32_t character;
    int n;

    CHECK(columns <= 2 * length);
    for (size_t limit = 0; limit < 8; limit++)
        CHECK(utf8_fitting(text, limit) <= 4 * limit);
    CHECK(utf8_fitting(text, columns) == strlen(text));
    while ((n = utf8_decode(text, &character)) != 0) {
        CHECK(n < 0 || ((n > 1) == (character >= 0x80) && character <= 0x10ffff));
        text += n > 0 ? n : 1;
    }
}

/* ---- numbers -------------------------------------------------------------------------- */

/* The shortest decimal must read back as the same number. number_read() is fast and may be
 * slightly off. */
static void run_number(char *text, size_t length)
{
    const char *cursor = text;
    double fast = 0, exact = 0, again = 0;
    bool has_fast = number_read(&cursor, &fast) == 0;
    uint64_t whole;

    CHECK(cursor >= text && cursor <= text + length);
    if (has_fast)
        CHECK(cursor > text && !isnan(fast));
    if (decimal_parse(text, &exact) == 0) {
        CHECK(isfinite(exact));
        CHECK(decimal_parse(decimal_number(exact).text, &again) == 0 && !(again < exact) &&
              !(again > exact));
        CHECK(decimal_parse(decimal_float(exact).text, &again) == 0 && !(again < exact) &&
              !(again > exact));
        if (has_fast && *cursor == '\0' && fabs(exact) > 1e-280 && fabs(exact) < 1e280)
            CHECK(fabs(fast - exact) <= fabs(exact) * 1e-14);
    }
    if (parse_whole_u64(text, &whole) == 0)
        CHECK(length > 0);
    (void)number_bytes(exact);
    (void)number_duration(exact);
    (void)number_energy(exact);
    (void)number_percent(exact);
    (void)number_short(exact);
    (void)number_count(exact);
}

static void run_date(char *text, UNUSED size_t length)
{
    double seconds, again;

    if (clock_parse(text, &seconds) < 0)
        return;
    CHECK(seconds >= 0);
    CHECK(clock_parse(clock_format(seconds).text, &again) == 0);
    CHECK(fabs(again - seconds) < 2e-3);
}

static void run_duration(char *text, UNUSED size_t length)
{
    uint64_t ns;
    int r = duration_parse(text, &ns);

    CHECK(r == 0 || r == -EBADMSG || r == -ERANGE);
}

/* ---- lines ---------------------------------------------------------------------------- */

static void run_lines(char *text, size_t length)
{
    int fd = fuzz_file(text, length);
    CLEANUP(line_reader_done) struct line_reader reader = { .fd = fd };
    const char *start;
    struct line line;
    size_t sum = 0, there;
    int r;

    CHECK(line_reader_peek(&reader, 7, &start, &there) == 0);
    CHECK(there >= (length < 7 ? length : 7) && memcmp(start, text, there) == 0);
    while ((r = line_reader_next(&reader, &line)) > 0) {
        CHECK(line.text[line.length] == '\0');
        CHECK(memcmp(line.text, text + sum, line.length) == 0);
        sum += line.length + !line.is_torn;
    }
    CHECK(r == 0 && sum == length);
    (void)close(fd);
}

const struct fuzz_target text_targets[] = {
    { "csv", run_csv, 4 },       { "escape", run_escape, 8 }, { "utf8", run_utf8, 16 },
    { "number", run_number, 1 }, { "date", run_date, 1 },     { "duration", run_duration, 1 },
    { "lines", run_lines, 1 },   { NULL, NULL, 0 },
};
