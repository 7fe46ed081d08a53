/* SPDX-License-Identifier: Apache-2.0 */
/*
 * toml.h - reads a config file in a subset of TOML: calls a function for each value.
 *
 * Supported: comments, tables and inline tables, dotted and quoted keys, strings (without NUL),
 * numbers, true and false, arrays. A date is accepted wherever a value is, but not checked. The
 * reader does not notice that a table or a key occurs twice.
 *
 * A key is reported with its table, as "job.name", whether it was written as job.name = "x" or as
 *
 *     [job]
 *     name = "x"
 *
 * or in an inline table, which is itself reported after its keys. An array is reported as one
 * value, whatever is in it. A part of a key that has a dot in it is reported in double quotes.
 */
#ifndef FRONT_TOML_H
#define FRONT_TOML_H

#include <stddef.h>

#include "spoor/spoor.h"

enum toml_type {
    TOML_STRING,
    TOML_NUMBER,
    TOML_BOOLEAN, /* "true" or "false" */
    TOML_OTHER,   /* an array, an inline table, a date, inf or nan */
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
