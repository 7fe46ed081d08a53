/* SPDX-License-Identifier: Apache-2.0 */
#include "record/row.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/amount.h"
#include "base/compiler.h"
#include "record/launch.h"
#include "series/figure.h"
#include "text/escape.h"
#include "text/find.h"
#include "text/json_writer.h"

void row_name(const char *path, char ret[ROW_NAME_SIZE])
{
    static const char section[] = "run.";
    bool is_run = strncmp(path, section, strlen(section)) == 0;

    (void)snprintf(ret, ROW_NAME_SIZE, "%s", is_run ? path + strlen(section) : path); /* fits */
    for (char *c = ret; *c; c++)
        *c = *c == '.' ? '_' : *c;
}

bool row_has_figure(size_t index)
{
    static const char *const others[] = {
        ".main",
        ".descendants",
        ".at_peak.",
        ".private_rss_bytes",
        ".shared_rss_bytes",
        "cpu.system.",
        "memory.system_",
        "gpu.memory.system_",
        "network.received_",
        "network.sent_",
        "network.rdma.",
        "network.nfs.",
        ".loopback_",
        ".connections",
    };

    for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
        if (strstr(figure_path(index), others[i]))
            return false;
    }
    return true;
}

/* ---- fields --------------------------------------------------------------- */

/* Adds a command in shell quoting. A truncated command ends with dots. */
static void add_command(struct json_writer *json, const char *name, const char *const *command)
{
    CLEANUP(buffer_done) struct buffer text = { 0 };

    escape_command(command, &text);
    if (text.length > ROW_COMMAND_MAX)
        memcpy(text.text + ROW_COMMAND_MAX - 4, " ...", sizeof(" ..."));
    json_add_known_text(json, name, text.text);
}

static void add_tags(struct json_writer *json, const struct record_tags *tags)
{
    for (size_t i = 0; i < tags->count; i++) {
        CLEANUP(buffer_done) struct buffer name = { 0 };

        buffer_format(&name, "tag.%s", tags->items[i].key);
        if (buffer_error(&name) == 0)
            json_add_text(json, name.text, tags->items[i].value);
    }
}

static void add_field(struct json_writer *json, const struct field *field, const void *base)
{
    const void *at = field_at(field, base);
    char name[ROW_NAME_SIZE];

    row_name(field->path, name);
    if (field->kind == FIELD_TEXT)
        json_add_known_text(json, name, *(const char *const *)at);
    else if (field->kind == FIELD_TEXTS)
        add_command(json, name, *(const char *const *const *)at);
    else if (field->kind == FIELD_TAGS)
        add_tags(json, at);
    else
        (void)field_add_json(json, name, field, base); /* the other kinds are always added */
}

static bool has_field(const struct field *field)
{
    static const char *const others[] = { "run.pid", "run.interval_seconds", "host.os" };

    return !FIND_TEXT(others, field->path);
}

static void add_fields(struct json_writer *json, const struct field_table *table,
                       const void *base)
{
    for (size_t i = 0; i < table->count; i++) {
        if (has_field(&table->rows[i]))
            add_field(json, &table->rows[i], base);
    }
}

/* ---- GPUs ----------------------------------------------------------------- */

/* Adds the names of the job's GPUs, and how many of these held memory of the job. */
static void add_gpus(struct json_writer *json, const struct record *record)
{
    CLEANUP(buffer_done) struct buffer names = { 0 };
    const char *vendor = NULL;
    uint64_t used = 0;

    for (size_t i = 0; i < record->gpu_count; i++) {
        const struct record_gpu *gpu = &record->gpus[i];

        if (!gpu->is_selected)
            continue;
        buffer_format(&names, "%s%s", names.length > 0 ? ", " : "",
                      gpu->name ? gpu->name : "GPU");
        used += gpu->measures[RECORD_GPU_JOB_MEMORY].value > 0;
        vendor = gpu->vendor;
    }
    json_add_u64(json, "gpu_count", record->whole_gpus);
    json_add_known_text(json, "gpus", names.text);
    json_add_known_text(json, "gpu_vendor", vendor);
    json_add_u64(json, "gpus_used", used > 0 ? used : UNKNOWN);
}

/* ---- figures -------------------------------------------------------------- */

static void add_bound(struct json_writer *json, const char *name, const char *end, double value)
{
    char bound[ROW_NAME_SIZE + 8];

    (void)snprintf(bound, sizeof(bound), "%s%s", name, end); /* fits */
    json_add_number(json, bound, value);
}

static bool has_low(const struct spoor_figure *figure)
{
    return figure->low < figure->value; /* false if unknown */
}

static bool is_listed(const struct spoor_figure *figure)
{
    return !isnan(figure->value) && !figure->is_exact && !has_low(figure) &&
           isnan(figure->high);
}

static void add_figures(struct json_writer *json, const struct spoor_figure *figures)
{
    char name[ROW_NAME_SIZE];
    bool any = false;

    for (size_t i = 0; i < figure_count(); i++) {
        if (isnan(figures[i].value) || !row_has_figure(i))
            continue;
        row_name(figure_path(i), name);
        json_add_number(json, name, figures[i].value);
        if (has_low(&figures[i]))
            add_bound(json, name, "_low", figures[i].low);
        if (!isnan(figures[i].high))
            add_bound(json, name, "_high", figures[i].high);
        any |= is_listed(&figures[i]);
    }
    if (!any)
        return;
    json_begin(json, "sampled", '[');
    for (size_t i = 0; i < figure_count(); i++) {
        row_name(figure_path(i), name);
        if (is_listed(&figures[i]) && row_has_figure(i))
            json_add_text(json, NULL, name);
    }
    json_end(json);
}

/* ---- the row -------------------------------------------------------------- */

void row_write(const struct record *record, struct buffer *out)
{
    static const struct json_style style = { .comma = ",", .colon = ":", .omits_null = true };
    struct json_writer json = { .out = out, .style = &style };

    json_begin(&json, NULL, '{');
    add_fields(&json, &record_run_fields, record);
    if (record->launch)
        add_fields(&json, &record_launch_fields, record->launch);
    add_fields(&json, &record_machine_fields, record);
    json_add_known_text(&json, "instance_type",
                        record->cloud ? record->cloud->instance_type : NULL);
    add_gpus(&json, record);
    if (record->figures)
        add_figures(&json, record->figures);
    json_end(&json);
    buffer_add(out, "\n", 1);
}

void row_add_report(struct buffer *row, const char *report)
{
    static const char end[] = "}\n";
    struct json_writer json = { .out = row, .style = &json_compact, .depth = 1 };

    if (buffer_error(row) < 0 || row->length < strlen(end))
        return;
    row->length -= strlen(end);
    json.level[1].closing = '}';
    json.level[1].has_members = json.level[1].is_on_one_line = true;
    json_add_text(&json, "report", report);
    json_end(&json);
    buffer_add(row, "\n", 1);
}

static uint64_t hash(const struct buffer *text, uint64_t value)
{
    for (size_t i = 0; i < text->length; i++)
        value = (value ^ (unsigned char)text->text[i]) * 0x100000001b3u;
    return value;
}

void row_make_id(const struct record *record, char id[RUN_ID_SIZE])
{
    CLEANUP(buffer_done) struct buffer text = { 0 };
    struct record copy = *record;

    copy.id = NULL;
    row_write(&copy, &text);
    (void)snprintf(id, RUN_ID_SIZE, "%016" PRIx64 "%016" PRIx64,
                   hash(&text, 0xcbf29ce484222325u), hash(&text, 0x9ae16a3b2f90404fu));
}
