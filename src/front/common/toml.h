/* SPDX-License-Identifier: Apache-2.0 */
/*
 * toml.h - reads a config file in a subset of TOML: calls a function for each value.
 *
 * Supported: comments, tables, dotted and quoted keys, strings on one line, numbers, true and
 * false, arrays. Not supported, and refused as such: strings of several lines, inline tables, \u
 * in strings. A date is accepted wherever a value is, but not checked.
 *
 * A key is reported with its table, as "job.name", whether it was written as job.name = "x" or as
 *
 *     [job]
 *     name = "x"
 *
 * An array is reported as one value. A key that occurs twice is reported twice.
 */
#ifndef FRONT_COMMON_TOML_H
#define FRONT_COMMON_TOML_H

#include <stddef.h>

#include "spoor/spoor.h"

enum toml_type {
    TOML_STRING,
    TOML_NUMBER,
    TOML_BOOLEAN, /* "true" or "false" */
    TOML_OTHER,   /* an array, or a date */
};

/* Valid only during the call. */
struct toml_value {
    const char *key;
    enum toml_type type;
    const char *text; /* a number is without underscores; empty if it is TOML_OTHER */
};

/* Returns 0, or -errno to stop, with a message that names neither the file nor the line. */
typedef int toml_found(const struct toml_value *value, void *data, struct spoor_error *err);

/* Reads a text. The message starts with `path` and the line. */
int toml_read(const char *path, const char *text, size_t length, toml_found *found, void *data,
              struct spoor_error *err);

#endif
