/* SPDX-License-Identifier: Apache-2.0 */
#include "output/format.h"

#include <string.h>

#include "base/compiler.h"

static const struct format formats[] = {
    [SPOOR_TEXT] = { "text", ".txt", text_write },
    [SPOOR_JSON] = { "json", ".json", json_write },
    [SPOOR_CSV] = { "csv", ".csv", csv_write },
};

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
    size_t length = strlen(path);

    for (size_t i = 0; i < ARRAY_SIZE(formats); i++) {
        size_t suffix = strlen(formats[i].suffix);

        if (length > suffix && strcmp(path + length - suffix, formats[i].suffix) == 0) {
            *ret = (enum spoor_format)i;
            return true;
        }
    }
    return false;
}
