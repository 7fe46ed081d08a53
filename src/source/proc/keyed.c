/* SPDX-License-Identifier: Apache-2.0 */
#include "source/proc/keyed.h"

#include <stdbool.h>
#include <string.h>

#include "base/arithmetic.h"
#include "base/parse.h"
#include "base/unknown.h"

static void put(void *into, size_t offset, uint64_t value)
{
    memcpy((char *)into + offset, &value, sizeof(value));
}

static bool has_value(const void *into, size_t offset)
{
    uint64_t value;

    memcpy(&value, (const char *)into + offset, sizeof(value));
    return is_known(value);
}

static const struct keyed_field *find(const char *line, const struct keyed_field *fields,
                                      size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (strncmp(line, fields[i].key, strlen(fields[i].key)) == 0)
            return &fields[i];
    }
    return NULL;
}

size_t keyed_parse(const char *text, const struct keyed_field *fields, size_t count, void *into)
{
    size_t found = 0;

    for (size_t i = 0; i < count; i++)
        put(into, fields[i].offset, UNKNOWN);
    for (; *text; text = parse_next_line(text)) {
        const struct keyed_field *field = find(text, fields, count);
        const char *cursor;
        uint64_t value;

        if (!field || has_value(into, field->offset))
            continue;
        cursor = text + strlen(field->key);
        if (parse_u64(&cursor, &value) < 0)
            continue;
        put(into, field->offset, product_u64(value, field->scale));
        found++;
    }
    return found;
}
