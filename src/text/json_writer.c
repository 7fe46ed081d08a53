/* SPDX-License-Identifier: Apache-2.0 */
#include "text/json_writer.h"

#include <assert.h>
#include <math.h>

#include "base/unknown.h"
#include "text/escape.h"
#include "text/number.h"

static void start_line(struct json_writer *json)
{
    buffer_add(json->out, "\n", 1);
    for (unsigned i = 0; i < json->depth; i++)
        buffer_add(json->out, "  ", 2);
}

/* All that comes before a value: comma, line, key. */
void json_begin_value(struct json_writer *json, const char *key)
{
    bool is_first = !json->level[json->depth].has_members;

    json->level[json->depth].has_members = true;
    if (json->depth == 0)
        return;
    if (!is_first)
        buffer_add(json->out, ",", 1);
    if (!json->level[json->depth].is_on_one_line)
        start_line(json);
    else if (!is_first)
        buffer_add(json->out, " ", 1);
    if (key) {
        escape_json(key, json->out);
        buffer_add(json->out, ": ", 2);
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
    json->level[json->depth].is_on_one_line = is_on_one_line;
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
    json_begin_value(json, key);
    buffer_add_text(json->out, "null");
}

void json_add_text(struct json_writer *json, const char *key, const char *text)
{
    if (!text) {
        json_add_null(json, key);
        return;
    }
    json_begin_value(json, key);
    escape_json(text, json->out);
}

void json_add_number(struct json_writer *json, const char *key, double value)
{
    if (!isfinite(value)) {
        json_add_null(json, key);
        return;
    }
    json_begin_value(json, key);
    number_write(value, json->out);
}

void json_add_u64(struct json_writer *json, const char *key, uint64_t value)
{
    if (!is_known(value)) {
        json_add_null(json, key);
        return;
    }
    json_begin_value(json, key);
    number_write_u64(value, json->out);
}

void json_add_seconds(struct json_writer *json, const char *key, uint64_t nanoseconds)
{
    if (!is_known(nanoseconds)) {
        json_add_null(json, key);
        return;
    }
    json_begin_value(json, key);
    number_write_seconds(nanoseconds, 0, json->out);
}

void json_add_bool(struct json_writer *json, const char *key, bool value)
{
    json_begin_value(json, key);
    buffer_add_text(json->out, value ? "true" : "false");
}
