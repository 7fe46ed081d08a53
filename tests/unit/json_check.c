/* SPDX-License-Identifier: Apache-2.0 */
#include "json_check.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>

enum { KEYS_MAX = 256 };

/* Each reader returns the text after the value, or NULL if the value is invalid. */
static const char *read_value(const char *text);

static const char *skip_blanks(const char *text)
{
    return text + strspn(text, " \t\r\n");
}

static const char *read_digits(const char *text)
{
    size_t count = strspn(text, "0123456789");

    return count > 0 ? text + count : NULL;
}

static const char *read_number(const char *text)
{
    if (*text == '-')
        text++;
    text = *text == '0' ? text + 1 : read_digits(text);
    if (text && *text == '.')
        text = read_digits(text + 1);
    if (text && (*text == 'e' || *text == 'E')) {
        text++;
        text = read_digits(text + (*text == '+' || *text == '-'));
    }
    return text;
}

static const char *read_escape(const char *text)
{
    if (*text != 'u')
        return *text && strchr("\"\\/bfnrt", *text) ? text + 1 : NULL;
    text++;
    for (int i = 0; i < 4; i++, text++) {
        if (!isxdigit((unsigned char)*text))
            return NULL;
    }
    return text;
}

static const char *read_text(const char *text)
{
    if (*text++ != '"')
        return NULL;
    while (text && *text != '"') {
        if ((unsigned char)*text < 0x20)
            return NULL;
        text = *text == '\\' ? read_escape(text + 1) : text + 1;
    }
    return text ? text + 1 : NULL;
}

/* Reads `"key": value`. Fails if the key is a duplicate. */
static const char *read_member(const char *text, const char **keys, size_t *count)
{
    const char *end = read_text(text);

    for (size_t i = 0; end && i < *count; i++) {
        if (strncmp(keys[i], text, (size_t)(end - text)) == 0)
            return NULL;
    }
    if (!end || *count == KEYS_MAX)
        return NULL;
    keys[(*count)++] = text;
    end = skip_blanks(end);
    return *end == ':' ? read_value(end + 1) : NULL;
}

static const char *read_members(const char *text, char closing)
{
    const char *keys[KEYS_MAX];
    size_t count = 0;

    text = skip_blanks(text);
    if (*text == closing)
        return text + 1;
    for (;;) {
        text = skip_blanks(text);
        text = closing == '}' ? read_member(text, keys, &count) : read_value(text);
        if (!text)
            return NULL;
        text = skip_blanks(text);
        if (*text == closing)
            return text + 1;
        if (*text++ != ',')
            return NULL;
    }
}

static const char *read_value(const char *text)
{
    static const char *const words[] = { "null", "true", "false" };

    text = skip_blanks(text);
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (strncmp(text, words[i], strlen(words[i])) == 0)
            return text + strlen(words[i]);
    }
    if (*text == '{')
        return read_members(text + 1, '}');
    if (*text == '[')
        return read_members(text + 1, ']');
    return *text == '"' ? read_text(text) : read_number(text);
}

bool json_is_valid(const char *text)
{
    const char *end = read_value(text);

    return end && *skip_blanks(end) == '\0';
}
