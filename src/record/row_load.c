/* SPDX-License-Identifier: Apache-2.0 */
/* row_load.c - reads rows of a history: converts them into the shape of a report, which
 * load.c reads. */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/parse.h"
#include "record/launch.h"
#include "record/load.h"
#include "record/row.h"
#include "series/figure.h"
#include "text/line_reader.h"

/* Sets a value at a dotted path; takes ownership of it. */
static void put(json_t *root, const char *path, json_t *value)
{
    for (;;) {
        size_t length = strcspn(path, ".");
        char key[ROW_NAME_SIZE] = "";
        json_t *inner;

        memcpy(key, path, length); /* paths of our tables are shorter */
        if (path[length] == '\0') {
            (void)json_object_set(root, key, value); /* if memory runs out, it stays unknown */
            return;
        }
        inner = json_object_get(root, key);
        if (!inner) {
            inner = json_object();
            (void)json_object_set_new(root, key, inner);
        }
        root = inner;
        path += length + 1;
    }
}

/* ---- the command ---------------------------------------------------------- */

/* Decodes an escape sequence in $'...', after its backslash. Returns its length. */
static size_t add_escaped(const char *text, struct buffer *word)
{
    static const char codes[] = "nrt", characters[] = "\n\r\t";
    const char *code = *text ? strchr(codes, *text) : NULL;
    int high = *text == 'x' ? parse_hex_digit(text[1]) : -1;
    int low = high < 0 ? -1 : parse_hex_digit(text[2]);
    char byte = low < 0 ? *text : (char)(high << 4 | low);

    if (code)
        byte = characters[code - codes];
    buffer_add(word, &byte, *text != '\0');
    return low < 0 ? *text != '\0' : 3;
}

/* Reads one word as escape_shell() writes it, and moves the cursor past it and the blank after
 * it. */
static void read_word(const char **cursor, struct buffer *word)
{
    const char *text = *cursor;
    char quote = '\0'; /* '$' stands for $'...' */

    for (; *text && (quote || *text != ' '); text++) {
        if (!quote && text[0] == '$' && text[1] == '\'')
            quote = *text++;
        else if (*text == '\'')
            quote = quote ? '\0' : '\'';
        else if (*text == '\\' && quote != '\'')
            text += add_escaped(text + 1, word);
        else
            buffer_add(word, text, 1);
    }
    *cursor = text + (*text == ' ');
}

static json_t *split_command(const char *text)
{
    json_t *words = json_array();

    while (*text) {
        CLEANUP(buffer_done) struct buffer word = { 0 };

        read_word(&text, &word);
        (void)json_array_append_new(words, json_string_nocheck(buffer_text(&word)));
    }
    return words;
}

/* ---- fields, tags, GPUs ---------------------------------------------------- */

/* `section`: prefix for the paths of the table, with a dot at the end. */
static void put_fields(json_t *root, const char *section, const json_t *row,
                       const struct field_table *table)
{
    for (size_t i = 0; i < table->count; i++) {
        char name[ROW_NAME_SIZE], path[ROW_NAME_SIZE];
        json_t *value;

        row_name(table->rows[i].path, name);
        (void)snprintf(path, sizeof(path), "%s%s", section, table->rows[i].path); /* fits */
        value = json_object_get(row, name);
        if (value && table->rows[i].kind != FIELD_TEXTS)
            put(root, path, value);
    }
}

static void put_tags(json_t *root, json_t *row)
{
    static const char prefix[] = "tag.";
    json_t *tags = json_object(), *value;
    const char *name;

    json_object_foreach(row, name, value)
    {
        if (strncmp(name, prefix, strlen(prefix)) == 0)
            (void)json_object_set_nocheck(tags, name + strlen(prefix), value);
    }
    put(root, "run.tags", tags);
    json_decref(tags);
}

/* Sets the GPUs by name. The memory of the job is divided equally among the first ones, as many
 * as held memory. */
static void put_gpus(json_t *root, const json_t *row)
{
    const char *names = json_string_value(json_object_get(row, "gpus"));
    json_int_t used = json_integer_value(json_object_get(row, "gpus_used"));
    double memory = json_number_value(json_object_get(row, "gpu_memory_combined_bytes"));
    json_auto_t *list = json_array(), *devices = json_array();

    for (int i = 0; names && *names && i < ROW_NAME_SIZE; i++) {
        size_t length = strcspn(names, ",");
        json_t *gpu = json_pack("{s:i, s:s%, s:O?, s:b}", "index", i, "name", names, length,
                                "vendor", json_object_get(row, "gpu_vendor"), "is_part", 0);

        (void)json_array_append_new(list, gpu);
        (void)json_array_append_new(
            devices, json_pack("{s:i, s:{s:o}}", "index", i, "memory", "job_peak_bytes",
                               i < used ? json_pack("{s:f, s:b}", "value",
                                                    memory / (double)used, "exact", 0)
                                        : json_null()));
        names += length;
        names += strspn(names, ", ");
    }
    put(root, "host.gpus", list);
    put(root, "gpu.devices", devices);
    if (json_object_get(row, "gpu_count"))
        put(root, "gpu.count", json_object_get(row, "gpu_count"));
    if (json_object_get(row, "instance_type"))
        put(root, "host.cloud.instance_type", json_object_get(row, "instance_type"));
}

/* ---- figures -------------------------------------------------------------- */

static json_t *get_bound(const json_t *row, const char *name, const char *end)
{
    char bound[ROW_NAME_SIZE + 8];

    (void)snprintf(bound, sizeof(bound), "%s%s", name, end); /* fits */
    return json_object_get(row, bound);
}

static bool is_listed(const json_t *list, const char *name)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *text = json_string_value(json_array_get(list, i));

        if (text && strcmp(text, name) == 0)
            return true;
    }
    return false;
}

static void put_figures(json_t *root, const json_t *row)
{
    const json_t *sampled = json_object_get(row, "sampled");

    for (size_t i = 0; i < figure_count(); i++) {
        char name[ROW_NAME_SIZE];
        json_t *value, *low, *high;
        json_auto_t *figure = NULL;

        row_name(figure_path(i), name);
        value = json_object_get(row, name);
        if (!value)
            continue;
        low = get_bound(row, name, "_low");
        high = get_bound(row, name, "_high");
        figure = json_pack("{s:O, s:b}", "value", value, "exact",
                           !low && !high && !is_listed(sampled, name));
        if (low || high)
            (void)json_object_set(figure, "low", low ? low : value);
        if (high)
            (void)json_object_set(figure, "high", high);
        put(root, figure_path(i), figure);
    }
}

/* ---- the row -------------------------------------------------------------- */

int row_from_json(json_t *row, struct record *ret, struct spoor_error *err)
{
    json_auto_t *root = json_object();
    const char *command = json_string_value(json_object_get(row, "command"));

    if (!root)
        return error_set(err, ENOMEM, "out of memory");
    put_fields(root, "", row, &record_run_fields);
    put_fields(root, "", row, &record_machine_fields);
    put_fields(root, "launch.", row, &record_launch_fields);
    if (command) {
        json_auto_t *words = split_command(command);

        put(root, "run.command", words);
    }
    put_tags(root, row);
    put_gpus(root, row);
    put_figures(root, row);
    return record_from_json(root, ret, err);
}

int row_parse(const char *text, size_t length, struct record *ret, struct spoor_error *err)
{
    json_auto_t *row = json_loadb(text, length, 0, NULL);

    if (!json_is_string(json_object_get(row, "id")))
        return error_set(err, EBADMSG, "not a run of a history");
    return row_from_json(row, ret, err);
}

int rows_load(struct line_reader *input, const char *path, struct records *ret,
              struct spoor_error *err)
{
    CLEANUP(records_done) struct records records = { 0 };
    struct line line = { 0 };
    int r;

    while ((r = line_reader_next(input, &line)) > 0) {
        struct record *next = records_next(&records, err);

        if (!next)
            return -ENOMEM;
        if (row_parse(line.text, line.length, next, err) == 0)
            records.count++; /* damaged lines are skipped, as in a history */
    }
    if (r < 0)
        return error_sys(err, r, "cannot read '%s'", path);
    if (records.count == 0)
        return error_prefix(err, -EBADMSG, "'%s'", path);
    *ret = records;
    records = (struct records){ 0 };
    return 0;
}
