/* SPDX-License-Identifier: Apache-2.0 */
#include "front/gpu_tracker/subtrack/json_lines.h"

#include <assert.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "text/decimal.h"
#include "text/utf8.h"

static void start_line(const struct json_lines *json)
{
    fprintf(json->out, "\n%*s", (int)json->depth, "");
}

/* A character outside ASCII as one or two units of UTF-16. */
static void put_escaped(FILE *out, uint32_t character)
{
    if (character >= 0x10000) {
        character -= 0x10000;
        fprintf(out, "\\u%04x", 0xd800 + (unsigned)(character >> 10));
        character = 0xdc00 + (character & 0x3ff);
    }
    fprintf(out, "\\u%04x", (unsigned)character);
}

static void put_string(FILE *out, const char *text)
{
    static const char special[] = "\"\\\b\f\n\r\t";
    static const char letters[] = "\"\\bfnrt";
    uint32_t character;
    int length;

    fputc('"', out);
    while ((length = utf8_decode(text, &character)) != 0) {
        const char *found;

        text += length > 0 ? length : 1;
        if (length < 0)
            character = 0xfffd;
        found = character < 0x80 ? strchr(special, (int)character) : NULL;
        if (found)
            fprintf(out, "\\%c", letters[found - special]);
        else if (character >= 0x20 && character < 0x80)
            fputc((int)character, out);
        else
            put_escaped(out, character);
    }
    fputc('"', out);
}

/* All that comes before a value: comma, line, key. */
static void start_member(struct json_lines *json, const char *key)
{
    if (json->depth == 0)
        return;
    if (json->has_members[json->depth])
        fputc(',', json->out);
    json->has_members[json->depth] = true;
    start_line(json);
    if (key) {
        put_string(json->out, key);
        fputs(": ", json->out);
    }
}

void json_open(struct json_lines *json, const char *key, char opening)
{
    assert(json->depth < JSON_LINES_DEPTH_MAX);
    start_member(json, key);
    fputc(opening, json->out);
    json->depth++;
    json->closing[json->depth] = opening == '{' ? '}' : ']';
    json->has_members[json->depth] = false;
}

void json_close(struct json_lines *json)
{
    bool has_members = json->has_members[json->depth];
    char closing = json->closing[json->depth];

    json->depth--;
    if (has_members)
        start_line(json);
    fputc(closing, json->out);
}

void json_put_text(struct json_lines *json, const char *key, const char *text)
{
    start_member(json, key);
    put_string(json->out, text);
}

void json_put_count(struct json_lines *json, const char *key, size_t count)
{
    start_member(json, key);
    fprintf(json->out, "%zu", count);
}

void json_put_float(struct json_lines *json, const char *key, double value)
{
    start_member(json, key);
    fputs(isfinite(value) ? decimal_float(value).text : "null", json->out);
}
