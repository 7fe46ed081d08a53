/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_writer.h - JSON written piece by piece: commas, indentation, escapes.
 *
 *     struct json_writer json = { .out = &buffer };
 *     json_begin(&json, NULL, '{');
 *     json_add_text(&json, "name", "x");
 *     json_end(&json);
 *
 * `key` is NULL in an array and at the top. Values that are not known (NULL text,
 * NaN, UNKNOWN) are written as null. This is the only writer of JSON in the program.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "text/buffer.h"

enum { JSON_DEPTH_MAX = 16 };

struct json_style {
    unsigned indent;   /* blanks per level; 0: everything on one line */
    const char *comma; /* separator between the members of one line */
    const char *colon; /* after a key */
    bool is_python;  /* text in ASCII only; 1.0 instead of 1 for a number that is not a count */
    bool omits_null; /* unknown members are left out */
};

extern const struct json_style json_indented; /* a file for people and programs */
extern const struct json_style json_compact;  /* a line for programs: no blanks */
extern const struct json_style json_python;   /* Python's json.dumps(value, indent=1) */

/* The caller sets `out` and `style` and zeroes the rest. */
struct json_writer {
    struct buffer *out;             /* borrowed */
    const struct json_style *style; /* NULL: json_indented */
    unsigned depth;
    struct {
        char closing; /* '}' or ']' */
        bool has_members;
        bool is_on_one_line;
    } level[JSON_DEPTH_MAX + 1];
};

/* `opening` is '{' or '['. json_begin_line() writes it and its contents on one line. */
void json_begin(struct json_writer *json, const char *key, char opening);
void json_begin_line(struct json_writer *json, const char *key, char opening);
void json_end(struct json_writer *json);

/* Prepares for a value that the caller writes to `out`. */
void json_begin_value(struct json_writer *json, const char *key);

/* Adds a value that is already JSON. Its line breaks become blanks: a JSON string contains
 * none. */
void json_add_document(struct json_writer *json, const char *key,
                       const struct buffer *document);

void json_add_text(struct json_writer *json, const char *key, const char *text);
void json_add_known_text(struct json_writer *json, const char *key,
                         const char *text); /* empty: null */
void json_add_number(struct json_writer *json, const char *key, double value);
void json_add_u64(struct json_writer *json, const char *key, uint64_t value);
void json_add_seconds(struct json_writer *json, const char *key, uint64_t nanoseconds);
void json_add_bool(struct json_writer *json, const char *key, bool value);
void json_add_null(struct json_writer *json, const char *key);
