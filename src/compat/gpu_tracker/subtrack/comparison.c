/* SPDX-License-Identifier: Apache-2.0 */
#include "compat/gpu_tracker/subtrack/results.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "text/escape.h"
#include "text/json_writer.h"

/* Returns the digits after the last colon of a name; NULL: no line number. */
static const char *line_number(const char *name)
{
    const char *colon = strrchr(name, ':');

    if (!colon || colon[1] == '\0' || colon[1 + strspn(colon + 1, "0123456789")] != '\0')
        return NULL;
    return colon + 1;
}

/* Returns character `i` of a name whose line number is padded with zeros to `digits`. */
static char padded(const char *name, const char *line, size_t digits, size_t i)
{
    size_t before = line ? (size_t)(line - name) : strlen(name);
    size_t zeros = line ? digits - strlen(line) : 0;

    if (i < before)
        return name[i];
    if (i < before + zeros)
        return '0';
    return name[i - zeros];
}

static int compare_blocks(const void *left, const void *right, void *digits)
{
    const char *a = ((const struct block_result *)left)->name;
    const char *b = ((const struct block_result *)right)->name;
    const char *line_a = line_number(a), *line_b = line_number(b);

    for (size_t i = 0;; i++) {
        unsigned char x = (unsigned char)padded(a, line_a, *(size_t *)digits, i);
        unsigned char y = (unsigned char)padded(b, line_b, *(size_t *)digits, i);

        if (x != y)
            return x < y ? -1 : 1;
        if (x == '\0')
            return 0;
    }
}

static void sort_blocks(struct results *results)
{
    size_t digits = 0;

    for (size_t i = 0; i < results->block_count; i++) {
        const char *line = line_number(results->blocks[i].name);

        if (line && strlen(line) > digits)
            digits = strlen(line);
    }
    if (results->block_count > 0)
        qsort_r(results->blocks, results->block_count, sizeof(*results->blocks), compare_blocks,
                &digits);
}

static bool differ_by_line(const char *a, const char *b)
{
    const char *line_a = line_number(a), *line_b = line_number(b);

    return line_a && line_b && line_a - a == line_b - b &&
           memcmp(a, b, (size_t)(line_a - a)) == 0;
}

static int match_names(const struct compared *first, const struct compared *other, size_t i,
                       struct text_list *messages)
{
    const char *name = first->results.blocks[i].name;
    const char *other_name = other->results.blocks[i].name;

    if (strcmp(name, other_name) == 0)
        return 0;
    if (differ_by_line(name, other_name)) {
        (void)text_list_format(
            messages, NULL,
            "Code block name \"%s\" of tracking session \"%s\" matched with code "
            "block name \"%s\" of tracking session \"%s\" but they differ by line "
            "number. If these code blocks were not meant to match, their comparison "
            "will not be valid and their names must be disambiguated.",
            name, first->name, other_name, other->name);
        return 0;
    }
    (void)text_list_format(
        messages, NULL,
        "Code block name \"%s\" of tracking session \"%s\" does not match code block "
        "name \"%s\" of tracking session \"%s\"",
        name, first->name, other_name, other->name);
    return -EINVAL;
}

static int match_sessions(const struct compared *first, const struct compared *other,
                          struct text_list *messages)
{
    size_t count = first->results.block_count;

    if (other->results.block_count != count) {
        (void)text_list_format(
            messages, NULL,
            "All sub-tracking results must have the same number of code blocks. The "
            "first has %zu code blocks but tracking session \"%s\" has %zu code "
            "blocks.",
            count, other->name, other->results.block_count);
        return -EINVAL;
    }
    for (size_t i = 0; i < count; i++) {
        int r = match_names(first, other, i, messages);

        if (r < 0)
            return r;
    }
    return 0;
}

int comparison_match(struct compared *sessions, size_t count, struct text_list *messages)
{
    const struct compared *first = &sessions[0];
    int r = 0;

    for (size_t i = 0; i < count; i++) {
        sort_blocks(&sessions[i].results);
        if (strcmp(sessions[i].name, first->name) < 0)
            first = &sessions[i];
    }
    for (size_t i = 0; i < count && r == 0; i++)
        r = match_sessions(first, &sessions[i], messages);
    return r;
}

/* ---- writing ------------------------------------------------------------ */

/* One figure of every session, the smallest first. */
struct side_by_side {
    const char **names;
    double *values;
    struct cell_text *cells;
    size_t count;
};

/* The figure to compare. */
struct figure {
    enum statistic statistic;
    size_t measurement; /* MEASUREMENTS: the compute time */
    size_t block;       /* SIZE_MAX: all samples */
};

static double figure_of(const struct results *results, const struct figure *figure)
{
    if (figure->block == SIZE_MAX)
        return results->overall[figure->measurement][figure->statistic];
    if (figure->measurement == MEASUREMENTS)
        return results->blocks[figure->block].compute_time[figure->statistic];
    return results->blocks[figure->block].usage[figure->measurement][figure->statistic];
}

/* Unknown figures come last; equal figures stay in the order of the sessions. */
static bool comes_before(double a, double b)
{
    return a < b || (isnan(b) && !isnan(a));
}

static void line_up(const struct compared *sessions, const struct figure *figure,
                    struct side_by_side *row)
{
    for (size_t i = 0; i < row->count; i++) {
        double value = figure_of(&sessions[i].results, figure);
        size_t place = i;

        for (; place > 0 && comes_before(value, row->values[place - 1]); place--) {
            row->values[place] = row->values[place - 1];
            row->names[place] = row->names[place - 1];
        }
        row->values[place] = value;
        row->names[place] = sessions[i].name;
    }
}

static void row_done(struct side_by_side *row)
{
    free(row->names);
    free(row->values);
    free(row->cells);
}

static int row_init(struct side_by_side *row, size_t count)
{
    row->names = calloc(count, sizeof(*row->names));
    row->values = calloc(count, sizeof(*row->values));
    row->cells = calloc(count, sizeof(*row->cells));
    row->count = count;
    return row->names && row->values && row->cells ? 0 : -ENOMEM;
}

static int compare_texts(const void *left, const void *right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

/* Adds the different names of a block in the sessions: "tmp.py:7 -> tmp.py:9". 0 or -errno. */
static int add_label(const struct compared *sessions, size_t count, size_t block,
                     struct buffer *out)
{
    AUTO_FREE const char **names = calloc(count, sizeof(*names));

    if (!names)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++)
        names[i] = sessions[i].results.blocks[block].name;
    qsort(names, count, sizeof(*names), compare_texts);
    for (size_t i = 0; i < count; i++) {
        if (i > 0 && strcmp(names[i], names[i - 1]) == 0)
            continue;
        buffer_add_text(out, i > 0 ? " -> " : "");
        buffer_add_text(out, names[i]);
    }
    return buffer_error(out);
}

/* Receives the figures: as JSON, or as text in `out`. */
struct sink {
    struct json_writer *json; /* NULL: text */
    struct buffer *out;
    unsigned tabs;
};

static void begin(struct sink *sink, const char *key, bool is_title)
{
    if (sink->json) {
        json_begin(sink->json, key, '{');
        return;
    }
    if (is_title) {
        text_title(key, sink->tabs, sink->out);
    } else {
        text_tabs(sink->tabs, sink->out);
        escape_unsafe(key, sink->out);
    }
    buffer_add_text(sink->out, ":\n");
    sink->tabs++;
}

static void end(struct sink *sink)
{
    if (sink->json)
        json_end(sink->json);
    else
        sink->tabs--;
}

static void put_row(struct sink *sink, const struct side_by_side *row)
{
    const struct text_table table = {
        .headers = row->names,
        .cells = row->cells,
        .rows = 1,
        .columns = row->count,
    };

    for (size_t i = 0; i < row->count; i++) {
        if (sink->json)
            json_add_number(sink->json, row->names[i], row->values[i]);
        else
            row->cells[i] = cell_number(row->values[i]);
    }
    if (!sink->json)
        text_table_write(&table, sink->tabs, sink->out);
}

static int put_blocks(struct sink *sink, const struct compared *sessions, struct figure figure,
                      struct side_by_side *row)
{
    for (size_t i = 0; i < sessions[0].results.block_count; i++) {
        CLEANUP(buffer_done) struct buffer label = { 0 };
        int r = add_label(sessions, row->count, i, &label);

        if (r < 0)
            return r;
        figure.block = i;
        line_up(sessions, &figure, row);
        begin(sink, label.text, false);
        put_row(sink, row);
        end(sink);
    }
    return 0;
}

static int put_all(struct sink *sink, const struct compared *sessions, enum statistic statistic,
                   struct side_by_side *row)
{
    bool has_blocks = sessions[0].results.block_count > 0;
    int r = 0;

    begin(sink, "overall_resource_usage", true);
    for (size_t i = 0; i < MEASUREMENTS; i++) {
        struct figure figure = { statistic, i, SIZE_MAX };

        line_up(sessions, &figure, row);
        begin(sink, tracking_row_fields[i].name, true);
        put_row(sink, row);
        end(sink);
    }
    end(sink);
    begin(sink, "code_block_resource_usage", true);
    for (size_t i = 0; i < MEASUREMENTS && has_blocks && r == 0; i++) {
        begin(sink, tracking_row_fields[i].name, true);
        r = put_blocks(sink, sessions, (struct figure){ statistic, i, 0 }, row);
        end(sink);
    }
    end(sink);
    begin(sink, "code_block_compute_time", true);
    if (r == 0)
        r = put_blocks(sink, sessions, (struct figure){ statistic, MEASUREMENTS, 0 }, row);
    end(sink);
    return r;
}

int comparison_write(const struct compared *sessions, size_t count, enum statistic statistic,
                     enum gpu_tracker_format format, struct buffer *out)
{
    CLEANUP(row_done) struct side_by_side row = { 0 };
    struct json_writer json = { .out = out, .style = &json_python };
    struct sink sink = { .json = format == GPU_TRACKER_JSON ? &json : NULL, .out = out };
    int r;

    if (row_init(&row, count) < 0)
        return -ENOMEM;
    if (sink.json)
        json_begin(&json, NULL, '{');
    r = put_all(&sink, sessions, statistic, &row);
    if (sink.json)
        json_end(&json);
    return r;
}
