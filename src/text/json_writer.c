/* SPDX-License-Identifier: Apache-2.0 */
#include "text/json_writer.h"

#include <assert.h>
#include <math.h>

#include "base/amount.h"
#include "text/escape.h"
#include "text/number.h"

const struct json_style json_indented = { .indent = 2, .comma = ", ", .colon = ": " };
const struct json_style json_compact = { .indent = 0, .comma = ",", .colon = ":" };
const struct json_style json_python = {
    .indent = 1, .comma = ", ", .colon = ": ", .is_python = true
};

static const struct json_style *style_of(const struct json_writer *json)
{
    return json->style ? json->style : &json_indented;
}

static void start_line(struct json_writer *json)
{
    buffer_add(json->out, "\n", 1);
    for (unsigned i = 0; i < json->depth * style_of(json)->indent; i++)
        buffer_add(json->out, " ", 1);
}

static void add_string(struct json_writer *json, const char *text)
{
    if (style_of(json)->is_python)
        escape_json_ascii(text, json->out);
    else
        escape_json(text, json->out);
}

/* Writes everything before a value: comma, line, key. */
void json_begin_value(struct json_writer *json, const char *key)
{
    bool is_first = !json->level[json->depth].has_members;

    json->level[json->depth].has_members = true;
    if (json->depth == 0)
        return;
    if (!json->level[json->depth].is_on_one_line) {
        if (!is_first)
            buffer_add(json->out, ",", 1);
        start_line(json);
    } else if (!is_first) {
        buffer_add_text(json->out, style_of(json)->comma);
    }
    if (key) {
        add_string(json, key);
        buffer_add_text(json->out, style_of(json)->colon);
    }
}

static void begin(struct json_writer *json, const char *key, char opening, bool is_on_one_line)
{
    assert(json->depth < JSON_DEPTH_MAX);
    json_begin_value(json, key);
    buffer_add(json->out, &opening, 1);
    json->depth++;
    json->level[json->depth].closing = opening == '{' ? '}' : ']';
    json->level[json->depth].has_members = false;
    json->level[json->depth].is_on_one_line = is_on_one_line || style_of(json)->indent == 0;
}

void json_begin(struct json_writer *json, const char *key, char opening)
{
    begin(json, key, opening, json->depth > 0 && json->level[json->depth].is_on_one_line);
}

void json_begin_line(struct json_writer *json, const char *key, char opening)
{
    begin(json, key, opening, true);
}

void json_end(struct json_writer *json)
{
    bool is_broken;
    char closing;

    assert(json->depth > 0);
    is_broken =
        json->level[json->depth].has_members && !json->level[json->depth].is_on_one_line;
    closing = json->level[json->depth].closing;
    json->depth--;
    if (is_broken)
        start_line(json);
    buffer_add(json->out, &closing, 1);
}

void json_add_null(struct json_writer *json, const char *key)
{
    if (style_of(json)->omits_null)
        return;
    json_begin_value(json, key);
    buffer_add_text(json->out, "null");
}

/* Begins a value, or adds null if it is not known. Returns whether the caller writes a value. */
static bool begin_known(struct json_writer *json, const char *key, bool is_known_value)
{
    if (is_known_value)
        json_begin_value(json, key);
    else
        json_add_null(json, key);
    return is_known_value;
}

void json_add_known_text(struct json_writer *json, const char *key, const char *text)
{
    json_add_text(json, key, text && *text ? text : NULL);
}

void json_add_text(struct json_writer *json, const char *key, const char *text)
{
    if (begin_known(json, key, text))
        add_string(json, text);
}

void json_add_number(struct json_writer *json, const char *key, double value)
{
    if (!begin_known(json, key, isfinite(value)))
        return;
    if (style_of(json)->is_python)
        buffer_add_text(json->out, decimal_float(value).text);
    else
        number_write(value, json->out);
}

void json_add_u64(struct json_writer *json, const char *key, uint64_t value)
{
    if (begin_known(json, key, is_known(value)))
        number_write_u64(value, json->out);
}

void json_add_seconds(struct json_writer *json, const char *key, uint64_t nanoseconds)
{
    if (begin_known(json, key, is_known(nanoseconds)))
        number_write_seconds(nanoseconds, 0, json->out);
}

void json_add_bool(struct json_writer *json, const char *key, bool value)
{
    json_begin_value(json, key);
    buffer_add_text(json->out, value ? "true" : "false");
}

void json_add_document(struct json_writer *json, const char *key, const struct buffer *document)
{
    size_t start;

    if (!begin_known(json, key, document->length > 0))
        return;
    start = json->out->length;
    buffer_add(json->out, document->text, document->length);
    if (buffer_error(json->out) < 0)
        return;
    for (size_t i = start; i < json->out->length; i++) {
        if (json->out->text[i] == '\n')
            json->out->text[i] = ' ';
    }
}
