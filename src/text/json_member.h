/* SPDX-License-Identifier: Apache-2.0 */
/* json_member.h - members of a JSON object that was read with jansson. Not for the library, which
 * does without a JSON parser. */
#pragma once

#include <jansson.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/parse.h"

/* NULL: there is no such member, or it is not a string. */
static inline const char *member_text(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

static inline bool member_is(const json_t *object, const char *key, const char *expected)
{
    const char *text = member_text(object, key);

    return text && strcmp(text, expected) == 0;
}

/* NaN: there is no such member, or it is not a number. */
static inline double member_number(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);

    return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

/* Returns the value at a dotted path, where a number is an index into a list; NULL: there is no
 * such value. */
static inline const json_t *member_at(const json_t *value, const char *path)
{
    while (value && *path) {
        size_t length = strcspn(path, ".");
        char key[64];
        uint64_t index;

        if (length >= sizeof(key))
            return NULL;
        memcpy(key, path, length);
        key[length] = '\0';
        if (json_is_array(value) && parse_whole_u64(key, &index) == 0)
            value = json_array_get(value, (size_t)index);
        else
            value = json_object_get(value, key); /* NULL if it is not an object */
        path += length + (path[length] == '.');
    }
    return value;
}
