/* SPDX-License-Identifier: Apache-2.0 */
#include "output/format.h"

#include <string.h>

#include "base/compiler.h"

static const struct format formats[] = {
    [SPOOR_TEXT] = { "text", ".txt", text_write, NULL },
    [SPOOR_JSON] = { "json", ".json", json_write, NULL },
    [SPOOR_CSV] = { "csv", ".csv", csv_write, csv_header },
};

bool path_has_suffix(const char *path, const char *suffix)
{
    size_t length = strlen(path);
    size_t suffix_length = strlen(suffix);

    return length > suffix_length && strcmp(path + length - suffix_length, suffix) == 0;
}

const struct format *format_get(enum spoor_format format)
{
    return (size_t)format < ARRAY_SIZE(formats) ? &formats[format] : NULL;
}

bool spoor_format_for_name(const char *name, enum spoor_format *ret)
{
    for (size_t i = 0; i < ARRAY_SIZE(formats); i++) {
        if (strcmp(formats[i].name, name) == 0) {
            *ret = (enum spoor_format)i;
            return true;
        }
    }
    return false;
}

bool spoor_format_for_path(const char *path, enum spoor_format *ret)
{
    for (size_t i = 0; i < ARRAY_SIZE(formats); i++) {
        if (path_has_suffix(path, formats[i].suffix)) {
            *ret = (enum spoor_format)i;
            return true;
        }
    }
    return false;
}
