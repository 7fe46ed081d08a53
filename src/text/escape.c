/* SPDX-License-Identifier: Apache-2.0 */
#include "text/escape.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "text/utf8.h"

/* Treatment of characters that are safe on a terminal. All styles escape the others. */
struct style {
    const char *doubled;     /* written twice */
    const char *backslashed; /* characters written with a backslash before them */
    bool is_ascii_only;
};

/* Controls that have a letter in C, in a shell's $'' and in JSON. The first LETTERS_COMMON
 * are written as letters everywhere, the others only in the style of Python. */
static const char controls[] = "\n\r\t\b\f";
static const char letters[] = "nrtbf";
enum { LETTERS_COMMON = 3, LETTERS_ALL = 5 };

/* Adds a control by its letter if it is one of the first `count`. */
static bool add_letter(uint32_t character, size_t count, struct buffer *out)
{
    const char *found = character < ' ' ? memchr(controls, (int)character, count) : NULL;

    if (found)
        buffer_format(out, "\\%c", letters[found - controls]);
    return found != NULL;
}

static void add_unsafe(uint32_t character, struct buffer *out)
{
    if (add_letter(character, LETTERS_COMMON, out))
        return;
    if (character < 0x80)
        buffer_format(out, "\\x%02x", (unsigned)character);
    else if (character < 0x10000)
        buffer_format(out, "\\u%04x", (unsigned)character);
    else
        buffer_format(out, "\\U%08x", (unsigned)character);
}

static void add_styled(const char *text, const struct style *style, struct buffer *out)
{
    uint32_t character = 0;
    int length;

    while ((length = utf8_decode(text, &character)) != 0) {
        if (length < 0) {
            buffer_format(out, "\\x%02x", (unsigned)(unsigned char)*text++);
            continue;
        }
        if (utf8_is_unsafe(character) || (style->is_ascii_only && character >= 0x80)) {
            add_unsafe(character, out);
        } else {
            if (length == 1 && strchr(style->doubled, *text))
                buffer_add(out, text, 1);
            if (length == 1 && strchr(style->backslashed, *text))
                buffer_add(out, "\\", 1);
            buffer_add(out, text, (size_t)length);
        }
        text += length;
    }
}

void escape_terminal(const char *text, struct buffer *out)
{
    add_styled(text, &(struct style){ "\\", "", false }, out);
}

void escape_unsafe(const char *text, struct buffer *out)
{
    add_styled(text, &(struct style){ "", "", false }, out);
}

void escape_ascii(const char *safe, struct buffer *out)
{
    add_styled(safe, &(struct style){ "", "", true }, out);
}

static void add_cell(const char *text, const struct style *style, struct buffer *out)
{
    size_t length = strlen(text);
    bool is_quoted =
        length == 0 || strpbrk(text, ",\"") || text[0] == ' ' || text[length - 1] == ' ';

    if (is_quoted)
        buffer_add(out, "\"", 1);
    add_styled(text, style, out);
    if (is_quoted)
        buffer_add(out, "\"", 1);
}

void escape_csv(const char *text, struct buffer *out)
{
    add_cell(text, &(struct style){ "\\\"", "", false }, out);
}

void escape_csv_quote(const char *safe, struct buffer *out)
{
    add_cell(safe, &(struct style){ "\"", "", false }, out);
}

void escape_csv_always(const char *text, struct buffer *out)
{
    buffer_add(out, "\"", 1);
    for (; *text; text++) {
        if (*text == '"')
            buffer_add(out, text, 1);
        buffer_add(out, text, 1);
    }
    buffer_add(out, "\"", 1);
}

void escape_csv_minimal(const char *text, struct buffer *out)
{
    if (strpbrk(text, ",\"\r\n"))
        escape_csv_always(text, out);
    else
        buffer_add_text(out, text);
}

/* Adds a character that needs a backslash in a JSON string. False: it needs none. JSON has
 * only \u with four digits, so a character beyond U+FFFF is written as a pair of
 * surrogates. */
static bool add_json_escape(uint32_t character, bool is_python, struct buffer *out)
{
    if (character == '"' || character == '\\') {
        buffer_format(out, "\\%c", (int)character);
        return true;
    }
    if (add_letter(character, is_python ? LETTERS_ALL : LETTERS_COMMON, out))
        return true;
    if (!utf8_is_unsafe(character) && !(is_python && character >= 0x80))
        return false;
    if (character >= 0x10000) {
        character -= 0x10000;
        buffer_format(out, "\\u%04x", 0xd800u + (unsigned)(character >> 10));
        character = 0xdc00u + (character & 0x3ff);
    }
    buffer_format(out, "\\u%04x", (unsigned)character);
    return true;
}

/* Returns how many bytes at the start of a text need no escape in JSON. Most texts are keys,
 * dozens in every row of a stream: adding these bytes at once is fast. */
static size_t plain_length(const char *text)
{
    size_t length = 0;

    while (text[length] >= ' ' && text[length] <= '~' && text[length] != '"' &&
           text[length] != '\\')
        length++;
    return length;
}

static void add_json(const char *text, bool is_python, struct buffer *out)
{
    uint32_t character = 0;
    int length;

    buffer_add(out, "\"", 1);
    for (;;) {
        size_t plain = plain_length(text);

        buffer_add(out, text, plain);
        text += plain;
        length = utf8_decode(text, &character);
        if (length == 0)
            break;
        if (length < 0) {
            if (!add_json_escape(0xfffd, is_python, out))
                buffer_add_text(out, "\xef\xbf\xbd"); /* U+FFFD */
            text++;
            continue;
        }
        if (!add_json_escape(character, is_python, out))
            buffer_add(out, text, (size_t)length);
        text += length;
    }
    buffer_add(out, "\"", 1);
}

void escape_json(const char *text, struct buffer *out)
{
    add_json(text, false, out);
}

void escape_json_ascii(const char *text, struct buffer *out)
{
    add_json(text, true, out);
}

static bool needs_escapes(const char *text)
{
    uint32_t character = 0;
    int length;

    while ((length = utf8_decode(text, &character)) != 0) {
        if (length < 0 || utf8_is_unsafe(character))
            return true;
        text += length;
    }
    return false;
}

static void add_single_quoted(const char *text, struct buffer *out)
{
    buffer_add(out, "'", 1);
    for (;;) {
        size_t length = strcspn(text, "'");

        buffer_add(out, text, length);
        if (text[length] == '\0')
            break;
        buffer_add_text(out, "'\\''");
        text += length + 1;
    }
    buffer_add(out, "'", 1);
}

void escape_shell(const char *text, struct buffer *out)
{
    static const char plain[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_@%+=:,./-";

    if (needs_escapes(text)) {
        buffer_add_text(out, "$'");
        add_styled(text, &(struct style){ "\\", "'", false }, out);
        buffer_add(out, "'", 1);
    } else if (*text && text[strspn(text, plain)] == '\0') {
        buffer_add_text(out, text);
    } else {
        add_single_quoted(text, out);
    }
}

void escape_command(const char *const *arguments, struct buffer *out)
{
    for (size_t i = 0; arguments && arguments[i]; i++) {
        if (i > 0)
            buffer_add(out, " ", 1);
        escape_shell(arguments[i], out);
    }
}

#define URL_PLAIN "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"

static void escape_all_but(const char *plain, const char *text, struct buffer *out)
{
    while (*text) {
        size_t length = strspn(text, plain);

        buffer_add(out, text, length);
        text += length;
        if (*text)
            buffer_format(out, "%%%02X", (unsigned)(unsigned char)*text++);
    }
}

void escape_url(const char *text, struct buffer *out)
{
    escape_all_but(URL_PLAIN, text, out);
}

void escape_url_path(const char *path, struct buffer *out)
{
    escape_all_but(URL_PLAIN "/", path, out);
}
