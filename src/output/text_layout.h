/* SPDX-License-Identifier: Apache-2.0 */
/*
 * text_layout.h - the layout of the text report.
 *
 *     label            value  details, broken at blanks
 *
 * Texts passed in must already be escaped (escape.h) and may contain UTF-8.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "text/buffer.h"

enum {
    PAGE_NOTE_START = 13,
    PAGE_DETAIL_START = 26,
};

enum page_style { PAGE_PLAIN, PAGE_BOLD, PAGE_DIM, PAGE_RED, PAGE_GREEN, PAGE_CYAN };

struct page {
    struct buffer *out; /* borrowed */
    bool has_color;
    bool has_unicode;
    size_t columns; /* width of a line */
};

/* Adds a text in a style, then resets the style. */
void page_add(struct page *page, enum page_style style, const char *text);

/* Adds an untrusted text, escaped for this terminal. */
void page_escape(const struct page *page, const char *text, struct buffer *out);

/* Like page_escape(), for a command line that is already quoted for a shell. */
void page_escape_command(const struct page *page, const char *command, struct buffer *out);

/* Adds as much of a text as fits, with "..." if it is truncated. */
void page_cut(const char *text, size_t columns, struct buffer *out);

/* Writes a line: label (a leading blank makes it a secondary row), value flush right,
 * details or NULL. */
void page_row(struct page *page, const char *label, const char *value, const char *details);

/* Like page_row(), with details in the format of printf(). */
void page_row_format(struct page *page, const char *label, const char *value, const char *fmt,
                     ...) PRINTF_LIKE(4, 5);

/* Writes a label in a style and a text of any length, dim if the label is. */
void page_note(struct page *page, enum page_style style, const char *label, const char *text);

/* Adds ", " to a list unless it is empty; the caller appends the next item to the result. */
struct buffer *page_item(struct buffer *list);

/* Writes a bold line: a text that is already quoted or escaped, truncated to fit and freed. */
void page_headline(struct page *page, struct buffer *text);

/* Writes a text in a style as one line, and frees the text. */
void page_line(struct page *page, enum page_style style, struct buffer *text);

void page_blank(struct page *page);
