/* SPDX-License-Identifier: Apache-2.0 */
#include "text/escape.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/compiler.h"
#include "text/utf8.h"

/* What a style does to characters that are safe on a terminal. The others are
 * escaped in all styles. */
struct style {
    const char *doubled;     /* written twice */
    const char *backslashed; /* written behind a backslash */
    bool is_ascii_only;
};

/* Controls that have a letter of their own, in C, in a shell's $'' and in JSON. */
static const struct {
    uint32_t character;
    const char *text;
} letters[] = { { '\n', "\\n" }, { '\r', "\\r" }, { '\t', "\\t" } };

static bool has_letter(uint32_t character, struct buffer *out)
{
    for (size_t i = 0; i < ARRAY_SIZE(letters); i++) {
        if (letters[i].character == character) {
            buffer_add_text(out, letters[i].text);
            return true;
        }
    }
    return false;
}

static void add_unsafe(uint32_t character, struct buffer *out)
{
    if (has_letter(character, out))
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
    static const struct style style = { "\\", "", false };

    add_styled(text, &style, out);
}

void escape_ascii(const char *safe, struct buffer *out)
{
    static const struct style style = { "", "", true };

    add_styled(safe, &style, out);
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
    static const struct style style = { "\\\"", "", false };

    add_cell(text, &style, out);
}

void escape_csv_quote(const char *safe, struct buffer *out)
{
    static const struct style style = { "\"", "", false };

    add_cell(safe, &style, out);
}

/* JSON knows \u with four digits only: what is beyond is a pair of surrogates. */
static void add_json_unsafe(uint32_t character, struct buffer *out)
{
    if (has_letter(character, out))
        return;
    if (character < 0x10000) {
        buffer_format(out, "\\u%04x", (unsigned)character);
        return;
    }
    character -= 0x10000;
    buffer_format(out, "\\u%04x\\u%04x", 0xd800u + (unsigned)(character >> 10),
                  0xdc00u + (unsigned)(character & 0x3ff));
}

/* Bytes at the start of a text that JSON takes as they are. Most texts are keys, of
 * which a stream writes dozens in every row: this is what makes it quick. */
static size_t plain_length(const char *text)
{
    size_t length = 0;

    while (text[length] >= ' ' && text[length] <= '~' && text[length] != '"' &&
           text[length] != '\\')
        length++;
    return length;
}

void escape_json(const char *text, struct buffer *out)
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
            buffer_add_text(out, "\xef\xbf\xbd"); /* U+FFFD */
            length = 1;
        } else if (utf8_is_unsafe(character)) {
            add_json_unsafe(character, out);
        } else {
            if (character == '"' || character == '\\')
                buffer_add(out, "\\", 1);
            buffer_add(out, text, (size_t)length);
        }
        text += length;
    }
    buffer_add(out, "\"", 1);
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
    static const struct style style = { "\\", "'", false };
    static const char plain[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_@%+=:,./-";

    if (needs_escapes(text)) {
        buffer_add_text(out, "$'");
        add_styled(text, &style, out);
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
