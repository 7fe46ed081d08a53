/* SPDX-License-Identifier: Apache-2.0 */
/*
 * utf8.h - text as UTF-8, strictly: no overlong form, no surrogate, nothing
 * beyond U+10FFFF.
 */
#ifndef TEXT_UTF8_H
#define TEXT_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "text/buffer.h"

/* Reads the character at the start of a NUL-ended text. Returns how many bytes it
 * has, 0 at the end of the text, or -EILSEQ: the first byte starts no character. */
int utf8_decode(const char *text, uint32_t *ret);

/* May this character change what a terminal or editor does or shows of the others:
 * controls (C0, DEL, C1), bidirectional marks, invisible characters, line separators? */
bool utf8_is_unsafe(uint32_t character);

/* Columns that a safe text takes on a terminal, invalid bytes as one each. */
size_t utf8_columns(const char *text);

/* Bytes of the longest start of a text that fits into so many columns. */
size_t utf8_fitting(const char *text, size_t columns);

/* Bytes of the longest start of a text that has at most so many, and no part of a character. */
size_t utf8_whole(const char *text, size_t bytes);

/* ---- Text broken into lines at blanks -------------------------------------- */

/* Widths are columns of a terminal. */
struct wrap {
    size_t width;       /* of a line, with its indent */
    size_t column;      /* in which the first line starts */
    size_t indent;      /* of the other lines */
    bool is_prose;      /* runs of blanks become one, and words are never split */
    const char *before; /* goes around each line, such as a color; NULL: nothing */
    const char *after;
};

/* Adds a text that is safe already (escape.h), without a line break at its end. */
void wrap_text(const char *text, const struct wrap *wrap, struct buffer *out);

#endif
