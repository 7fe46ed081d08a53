/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_lines.h - JSON laid out as Python's json.dumps(indent=1) does.
 *
 *     struct json_lines json = { .out = stdout };
 *     json_open(&json, NULL, '{');
 *     json_put_float(&json, "mean", 0.5);
 *     json_close(&json);
 *
 * `key` is NULL in an array and at the top. Text is ASCII, escaped.
 */
#ifndef FRONT_GPU_TRACKER_SUBTRACK_JSON_LINES_H
#define FRONT_GPU_TRACKER_SUBTRACK_JSON_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum { JSON_LINES_DEPTH_MAX = 8 };

/* Zeroed but for `out`. */
struct json_lines {
    FILE *out; /* borrowed */
    unsigned depth;
    char closing[JSON_LINES_DEPTH_MAX + 1];
    bool has_members[JSON_LINES_DEPTH_MAX + 1];
};

void json_open(struct json_lines *json, const char *key, char opening);
void json_close(struct json_lines *json);
void json_put_text(struct json_lines *json, const char *key, const char *text);
void json_put_count(struct json_lines *json, const char *key, size_t count);
/* null where it is not finite. */
void json_put_float(struct json_lines *json, const char *key, double value);

#endif
