/* SPDX-License-Identifier: Apache-2.0 */
/*
 * text_layout.h - the layout of the text report.
 *
 *     label            value  details, broken at blanks
 *
 * Texts given are safe already (escape.h) and may hold UTF-8.
 */
#ifndef OUTPUT_TEXT_LAYOUT_H
#define OUTPUT_TEXT_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>

#include "text/buffer.h"

enum {
    PAGE_NOTE_START = 13,
    PAGE_DETAIL_START = 26,
};

enum page_style { PAGE_PLAIN, PAGE_BOLD, PAGE_DIM, PAGE_RED, PAGE_CYAN };

struct page {
    struct buffer *out; /* borrowed */
    bool has_color;
    bool has_unicode;
    size_t columns; /* of a line */
};

/* A text in a style, in its place; the style ends with it. */
void page_add(struct page *page, enum page_style style, const char *text);

/* Text that did not come from us, made safe for this terminal. */
void page_escape(const struct page *page, const char *text, struct buffer *out);

/* The same for a command line that is quoted already, with escapes of its own. */
void page_escape_command(const struct page *page, const char *command, struct buffer *out);

/* The longest start of a text that fits, with "..." where it is cut. */
void page_cut(const char *text, size_t columns, struct buffer *out);

/* A line: label (one that starts with a blank is of second rank), value flush right,
 * details or NULL. */
void page_row(struct page *page, const char *label, const char *value, const char *details);

/* The same with details as printf() makes them. */
void page_row_format(struct page *page, const char *label, const char *value, const char *fmt,
                     ...) PRINTF_LIKE(4, 5);

/* A label in a style and a text as long as it needs to be, dim where the label is. */
void page_note(struct page *page, enum page_style style, const char *label, const char *text);

/* A list of items with ", " between them: the caller appends the next item to the result. */
struct buffer *page_item(struct buffer *list);

/* A bold line: a text that is quoted or escaped already, cut to fit and released. */
void page_headline(struct page *page, struct buffer *text);

/* A line: a text in a style, which is released. */
void page_line(struct page *page, enum page_style style, struct buffer *text);

void page_blank(struct page *page);

#endif
