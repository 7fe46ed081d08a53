/* SPDX-License-Identifier: Apache-2.0 */
#include "text/utf8.h"

#include <errno.h>
#include <string.h>

#include "base/compiler.h"

/* ---- utf8 ------------------------------------------------------------------ */

/* The length of a character by its first byte, and the smallest character that needs this
 * length. */
static const struct {
    unsigned char mask, lead;
    int length;
    uint32_t least;
} forms[] = {
    { 0x80, 0x00, 1, 0 },
    { 0xe0, 0xc0, 2, 0x80 },
    { 0xf0, 0xe0, 3, 0x800 },
    { 0xf8, 0xf0, 4, 0x10000 },
};

struct range {
    uint32_t first, last;
};

static const struct range unsafe[] = {
    { 0x00, 0x1f },       { 0x7f, 0x9f },     { 0xad, 0xad },     { 0x61c, 0x61c },
    { 0x180e, 0x180e },   { 0x200b, 0x200f }, { 0x2028, 0x202e }, { 0x2060, 0x206f },
    { 0xfeff, 0xfeff },   { 0xfff0, 0xfffb }, { 0xfffe, 0xffff }, { 0x1fffe, 0x1ffff },
    { 0xe0000, 0xe0fff },
};

/* Characters two columns wide: East Asian scripts and emoji. */
static const struct range wide[] = {
    { 0x1100, 0x115f },   { 0x2e80, 0xa4cf },   { 0xac00, 0xd7a3 },   { 0xf900, 0xfaff },
    { 0xfe30, 0xfe6f },   { 0xff00, 0xff60 },   { 0xffe0, 0xffe6 },   { 0x16fe0, 0x18cff },
    { 0x1b000, 0x1b2ff }, { 0x1f300, 0x1faff }, { 0x20000, 0x3fffd },
};

static bool is_in(const struct range *ranges, size_t count, uint32_t character)
{
    for (size_t i = 0; i < count; i++) {
        if (character >= ranges[i].first && character <= ranges[i].last)
            return true;
    }
    return false;
}

static bool is_continuation(char byte)
{
    return ((unsigned char)byte & 0xc0) == 0x80;
}

static int decode_rest(const char *text, int length, uint32_t least, uint32_t character,
                       uint32_t *ret)
{
    for (int i = 1; i < length; i++) {
        if (!is_continuation(text[i])) /* also true for the NUL at the end */
            return -EILSEQ;
        character = character << 6 | ((unsigned char)text[i] & 0x3f);
    }
    if (character < least || character > 0x10ffff ||
        (character >= 0xd800 && character <= 0xdfff)) /* a surrogate */
        return -EILSEQ;
    *ret = character;
    return length;
}

int utf8_decode(const char *text, uint32_t *ret)
{
    unsigned char byte = (unsigned char)text[0];

    if (byte == '\0')
        return 0;
    for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
        if ((byte & forms[i].mask) == forms[i].lead)
            return decode_rest(text, forms[i].length, forms[i].least,
                               (uint32_t)(byte & ~forms[i].mask & 0xff), ret);
    }
    return -EILSEQ;
}

bool utf8_is_unsafe(uint32_t character)
{
    return is_in(unsafe, ARRAY_SIZE(unsafe), character);
}

/* Returns the length of the next character in bytes, 0 at the end. */
static size_t next_character(const char *text, size_t *ret_columns)
{
    uint32_t character = 0;
    int length = utf8_decode(text, &character);

    if (length == 0)
        return 0;
    *ret_columns = length > 0 && is_in(wide, ARRAY_SIZE(wide), character) ? 2 : 1;
    return length < 0 ? 1 : (size_t)length;
}

size_t utf8_columns(const char *text)
{
    size_t sum = 0;
    size_t columns = 0;
    size_t length;

    while ((length = next_character(text, &columns)) > 0) {
        text += length;
        sum += columns;
    }
    return sum;
}

size_t utf8_fitting(const char *text, size_t columns)
{
    size_t bytes = 0;
    size_t sum = 0;
    size_t width = 0;
    size_t length;

    while ((length = next_character(text + bytes, &width)) > 0) {
        sum += width;
        if (sum > columns)
            break;
        bytes += length;
    }
    return bytes;
}

size_t utf8_whole(const char *text, size_t bytes)
{
    size_t length = strnlen(text, bytes + 1);

    if (length <= bytes)
        return length;
    while (bytes > 0 && is_continuation(text[bytes]))
        bytes--;
    return bytes;
}

/* ---- wrap ------------------------------------------------------------------ */

/* Returns how many bytes of `text` fit into the next line, up to a blank. If the first word is
 * too long, returns the part of it that fits or, in prose, its length. */
static size_t line_length(const char *text, size_t columns, bool is_prose)
{
    size_t fitting = utf8_fitting(text, columns);
    size_t length = fitting;

    if (text[fitting] == '\0' || text[fitting] == ' ')
        return fitting;
    while (length > 0 && text[length] != ' ')
        length--;
    while (length > 0 && text[length - 1] == ' ')
        length--;
    if (length > 0)
        return length;
    return !is_prose && fitting > 0 ? fitting : strcspn(text, " ");
}

static void add_lines(const char *text, const struct wrap *wrap, struct buffer *out)
{
    size_t column = wrap->column;

    while (*text) {
        size_t columns = column < wrap->width ? wrap->width - column : 0;
        size_t length = line_length(text, columns, wrap->is_prose);

        if (wrap->before)
            buffer_add_text(out, wrap->before);
        buffer_add(out, text, length);
        if (wrap->after)
            buffer_add_text(out, wrap->after);
        text += length;
        text += strspn(text, " ");
        if (*text == '\0')
            break;
        buffer_format(out, "\n%*s", (int)wrap->indent, "");
        column = wrap->indent;
    }
}

static void add_words(const char *text, struct buffer *out)
{
    for (text += strspn(text, " "); *text; text += strspn(text, " ")) {
        size_t length = strcspn(text, " ");

        if (out->length > 0)
            buffer_add(out, " ", 1);
        buffer_add(out, text, length);
        text += length;
    }
}

void wrap_text(const char *text, const struct wrap *wrap, struct buffer *out)
{
    struct buffer words = { 0 };

    if (wrap->is_prose) {
        add_words(text, &words);
        text = buffer_text(&words);
    }
    add_lines(text, wrap, out);
    buffer_done(&words);
}
