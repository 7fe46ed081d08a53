/* SPDX-License-Identifier: Apache-2.0 */
/*
 * utf8.h - strict UTF-8: no overlong form, no surrogate, nothing beyond U+10FFFF.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "text/buffer.h"

/* Reads the character at the start of a NUL-terminated text. Returns how many bytes it has,
 * 0 at the end of the text, or -EILSEQ: the first byte does not start a character. */
int utf8_decode(const char *text, uint32_t *ret);

/* Whether this character may change how a terminal or editor behaves or shows other
 * characters: controls (C0, DEL, C1), bidirectional marks, invisible characters, line
 * separators. */
bool utf8_is_unsafe(uint32_t character);

/* Returns how many columns a safe text takes on a terminal; each invalid byte takes one. */
size_t utf8_columns(const char *text);

/* Returns the length in bytes of the longest prefix of a text that fits into `columns`
 * columns. */
size_t utf8_fitting(const char *text, size_t columns);

/* Returns the length of the longest prefix of a text that has at most `bytes` bytes and does
 * not end within a character. */
size_t utf8_whole(const char *text, size_t bytes);

/* ---- Text broken into lines at blanks -------------------------------------- */

/* Widths are columns of a terminal. */
struct wrap {
    size_t width;       /* width of a line, with its indent */
    size_t column;      /* column in which the first line starts */
    size_t indent;      /* indent of the other lines */
    bool is_prose;      /* runs of blanks become one, and words are never split */
    const char *before; /* written before and after each line, such as a color; NULL: nothing */
    const char *after;
};

/* Adds a wrapped text that is already safe (escape.h), without a line break at its end. */
void wrap_text(const char *text, const struct wrap *wrap, struct buffer *out);
