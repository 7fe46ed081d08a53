/* SPDX-License-Identifier: Apache-2.0 */
/* json_check.h - whether a text is exactly one JSON value, with unique keys in each object. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

static inline bool json_is_valid(const char *text)
{
    json_t *value = json_loads(text, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, NULL);
    bool is_valid = value != NULL;

    json_decref(value);
    return is_valid;
}
