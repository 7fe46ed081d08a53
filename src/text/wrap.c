/* SPDX-License-Identifier: Apache-2.0 */
#include "text/wrap.h"

#include <string.h>

#include "text/utf8.h"

/* Bytes of `text` for the next line: up to the last blank that lets it fit. If the first word
 * is too long, that word, or as much of it as fits. */
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

/* Words with one blank between them. */
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
        text = words.text ? words.text : "";
    }
    add_lines(text, wrap, out);
    buffer_done(&words);
}
