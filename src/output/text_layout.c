/* SPDX-License-Identifier: Apache-2.0 */
#include "output/text_layout.h"

#include <stdarg.h>
#include <string.h>

#include "text/escape.h"
#include "text/utf8.h"

#define NORMAL "\033[0m"

static const char *const codes[] = {
    [PAGE_PLAIN] = "",       [PAGE_BOLD] = "\033[1m",   [PAGE_DIM] = "\033[2m",
    [PAGE_RED] = "\033[31m", [PAGE_GREEN] = "\033[32m", [PAGE_CYAN] = "\033[36m",
};

static bool is_colored(const struct page *page, enum page_style style)
{
    return page->has_color && style != PAGE_PLAIN;
}

void page_add(struct page *page, enum page_style style, const char *text)
{
    bool is_styled = is_colored(page, style) && *text;

    if (is_styled)
        buffer_add_text(page->out, codes[style]);
    buffer_add_text(page->out, text);
    if (is_styled)
        buffer_add_text(page->out, NORMAL);
}

static void escape_with(void (*escape)(const char *text, struct buffer *out),
                        const struct page *page, const char *text, struct buffer *out)
{
    CLEANUP(buffer_done) struct buffer safe = { 0 };

    if (page->has_unicode) {
        escape(text, out);
        return;
    }
    escape(text, &safe);
    escape_ascii(buffer_text(&safe), out);
}

void page_escape(const struct page *page, const char *text, struct buffer *out)
{
    escape_with(escape_terminal, page, text, out);
}

void page_escape_command(const struct page *page, const char *command, struct buffer *out)
{
    escape_with(escape_unsafe, page, command, out);
}

void page_cut(const char *text, size_t columns, struct buffer *out)
{
    if (utf8_fitting(text, columns) == strlen(text)) {
        buffer_add_text(out, text);
        return;
    }
    buffer_add(out, text, utf8_fitting(text, columns - 3));
    buffer_add_text(out, "...");
}

/* Adds blanks to extend `used` columns to `wanted`; at least one. */
static void fill(struct page *page, size_t used, size_t wanted)
{
    buffer_format(page->out, "%*s", (int)(used < wanted ? wanted - used : 1), "");
}

static void add_wrapped(struct page *page, enum page_style style, const char *text,
                        size_t indent)
{
    struct wrap wrap = { .width = page->columns, .column = indent, .indent = indent };

    if (is_colored(page, style)) {
        wrap.before = codes[style];
        wrap.after = NORMAL;
    }
    wrap_text(text, &wrap, page->out);
}

void page_row(struct page *page, const char *label, const char *value, const char *details)
{
    size_t used = utf8_columns(label) + utf8_columns(value);

    page_add(page, *label == ' ' ? PAGE_DIM : PAGE_BOLD, label);
    fill(page, used, PAGE_DETAIL_START - 2);
    page_add(page, PAGE_PLAIN, value);
    if (details && *details) {
        buffer_add_text(page->out, "  ");
        add_wrapped(page, PAGE_PLAIN, details, PAGE_DETAIL_START);
    }
    buffer_add(page->out, "\n", 1);
}

void page_row_format(struct page *page, const char *label, const char *value, const char *fmt,
                     ...)
{
    CLEANUP(buffer_done) struct buffer details = { 0 };
    va_list args;

    va_start(args, fmt);
    buffer_format_list(&details, fmt, args);
    va_end(args);
    page_row(page, label, value, details.text);
}

void page_note(struct page *page, enum page_style style, const char *label, const char *text)
{
    page_add(page, style, label);
    fill(page, utf8_columns(label), PAGE_NOTE_START);
    add_wrapped(page, style == PAGE_DIM ? PAGE_DIM : PAGE_PLAIN, text, PAGE_NOTE_START);
    buffer_add(page->out, "\n", 1);
}

struct buffer *page_item(struct buffer *list)
{
    if (list->length > 0)
        buffer_add_text(list, ", ");
    return list;
}

void page_headline(struct page *page, struct buffer *text)
{
    CLEANUP(buffer_done) struct buffer ascii = { 0 }, cut = { 0 };

    if (text->text && !page->has_unicode)
        escape_ascii(text->text, &ascii);
    page_cut(ascii.text ? ascii.text : buffer_text(text), page->columns, &cut);
    page_line(page, PAGE_BOLD, &cut);
    buffer_done(text);
}

void page_line(struct page *page, enum page_style style, struct buffer *text)
{
    page_add(page, style, buffer_text(text));
    page_blank(page);
    buffer_done(text);
}

void page_blank(struct page *page)
{
    buffer_add(page->out, "\n", 1);
}
