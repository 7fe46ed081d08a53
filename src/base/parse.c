/* SPDX-License-Identifier: Apache-2.0 */
#include "base/parse.h"

#include <errno.h>
#include <string.h>

#include "base/amount.h"

/* ---- parse ----------------------------------------------------------------- */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static const char *skip_blanks(const char *text)
{
    while (is_blank(*text))
        text++;
    return text;
}

int parse_digits(const char **cursor, uint64_t *ret)
{
    const char *text = *cursor;
    uint64_t value = 0;

    if (!is_digit(*text))
        return -EBADMSG;
    for (; is_digit(*text); text++) {
        if (__builtin_mul_overflow(value, 10u, &value) ||
            __builtin_add_overflow(value, (uint64_t)(*text - '0'), &value))
            return -EBADMSG;
    }
    *cursor = text;
    *ret = value;
    return 0;
}

int parse_u64(const char **cursor, uint64_t *ret)
{
    const char *text = skip_blanks(*cursor);

    if (parse_digits(&text, ret) < 0)
        return -EBADMSG;
    *cursor = text;
    return 0;
}

int parse_i64(const char **cursor, int64_t *ret)
{
    const char *text = skip_blanks(*cursor);
    bool is_negative = *text == '-';
    uint64_t value;

    if (is_negative)
        text++;
    if (parse_digits(&text, &value) < 0 || value > INT64_MAX)
        return -EBADMSG;
    *cursor = text;
    *ret = is_negative ? -(int64_t)value : (int64_t)value;
    return 0;
}

int parse_hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

int parse_hex(const char **cursor, uint64_t *ret)
{
    const char *text = *cursor;
    uint64_t value = 0;

    for (; parse_hex_digit(*text) >= 0; text++) {
        if (value >> 60 != 0)
            return -EBADMSG;
        value = value << 4 | (unsigned)parse_hex_digit(*text);
    }
    if (text == *cursor)
        return -EBADMSG;
    *cursor = text;
    *ret = value;
    return 0;
}

int parse_whole_u64(const char *text, uint64_t *ret)
{
    uint64_t value;

    if (parse_u64(&text, &value) < 0)
        return -EBADMSG;
    text = skip_blanks(text);
    if (*text == '\n')
        text++;
    if (*text != '\0')
        return -EBADMSG;
    *ret = value;
    return 0;
}

const char *parse_next_line(const char *text)
{
    const char *end = strchr(text, '\n');

    return end ? end + 1 : text + strlen(text);
}

const char *parse_key(const char *text, const char *key)
{
    size_t length = strlen(key);

    for (; *text; text = parse_next_line(text)) {
        if (*text == *key && strncmp(text, key, length) == 0 &&
            (is_blank(text[length]) || text[length] == '='))
            return skip_blanks(text + length + (text[length] == '='));
    }
    return NULL;
}

int parse_key_u64(const char *text, const char *key, uint64_t *ret)
{
    const char *value = parse_key(text, key);

    return value ? parse_u64(&value, ret) : -ENOENT;
}

int parse_word(const char **cursor, char *buf, size_t size)
{
    const char *start = skip_blanks(*cursor);
    size_t length = strcspn(start, " \t\n");

    if (length == 0 || length >= size)
        return -EBADMSG;
    memcpy(buf, start, length);
    buf[length] = '\0';
    *cursor = start + length;
    return (int)length;
}

void parse_copy_line(const char *text, char *buf, size_t size)
{
    size_t length;

    text += strspn(text, " \t\r\n");
    length = strcspn(text, "\n");
    while (length > 0 && (is_blank(text[length - 1]) || text[length - 1] == '\r'))
        length--;
    if (length >= size)
        length = size - 1;
    memcpy(buf, text, length);
    buf[length] = '\0';
}

bool parse_has_word(const char *text, const char *word)
{
    size_t length = strlen(word);

    for (; *text; text += strspn(text, " \n")) {
        size_t n = strcspn(text, " \n");

        if (n == length && strncmp(text, word, n) == 0)
            return true;
        text += n;
    }
    return false;
}

int parse_cpu_list(const char *text, unsigned *cpus, size_t capacity)
{
    size_t count = 0;

    for (;;) {
        uint64_t first, last;

        if (parse_u64(&text, &first) < 0)
            return -EBADMSG;
        last = first;
        if (*text == '-') {
            text++;
            if (parse_u64(&text, &last) < 0)
                return -EBADMSG;
        }
        if (last < first || last >= CPU_NUMBER_END)
            return -EBADMSG;
        if (last - first >= capacity - count)
            return -E2BIG;
        for (uint64_t cpu = first; cpu <= last; cpu++, count++) {
            if (cpus)
                cpus[count] = (unsigned)cpu;
        }
        if (*text != ',')
            break;
        text++;
    }
    return *text == '\0' || *text == '\n' ? (int)count : -EBADMSG;
}

/* ---- keyed ----------------------------------------------------------------- */

static void put_value(void *into, size_t offset, uint64_t value)
{
    memcpy((char *)into + offset, &value, sizeof(value));
}

/* Most keys differ in their first letter. */
static bool has_key(const char *line, const char *key)
{
    return *line == *key && begins_with(line, key);
}

const struct keyed_field *keyed_find(const char *line, const struct keyed_field *fields,
                                     size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (has_key(line, fields[i].key))
            return &fields[i];
    }
    return NULL;
}

size_t keyed_parse(const char *text, const struct keyed_field *fields, size_t count, void *into)
{
    const struct keyed_field *next = fields; /* fields are mostly in the order of the lines */
    size_t found = 0;

    for (size_t i = 0; i < count; i++)
        put_value(into, fields[i].offset, UNKNOWN);
    for (; *text && found < count; text = parse_next_line(text)) {
        const struct keyed_field *field;
        const char *cursor;
        uint64_t value;

        field = next < fields + count && has_key(text, next->key)
                    ? next
                    : keyed_find(text, fields, count);
        next = field ? field + 1 : next;
        if (!field || is_known(raw_at(into, field->offset)))
            continue;
        cursor = text + strlen(field->key);
        if (parse_u64(&cursor, &value) < 0 || *cursor == '\0') /* truncated */
            continue;
        put_value(into, field->offset, product_u64(value, field->scale));
        found++;
    }
    return found;
}

int passwd_parse_name(const char *text, uint64_t uid, char *buf, size_t size)
{
    for (; *text; text = parse_next_line(text)) {
        size_t length = strcspn(text, ":\n");
        const char *cursor = text + length;
        uint64_t line_uid;

        if (*cursor != ':')
            continue;
        cursor++;
        cursor += strcspn(cursor, ":\n");
        if (*cursor != ':')
            continue;
        cursor++;
        if (parse_u64(&cursor, &line_uid) < 0 || *cursor != ':' || line_uid != uid)
            continue;
        if (length == 0 || length >= size)
            return -EBADMSG;
        memcpy(buf, text, length);
        buf[length] = '\0';
        return 0;
    }
    return -ENOENT;
}
