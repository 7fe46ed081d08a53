/* SPDX-License-Identifier: Apache-2.0 */
/* wrap.h - text broken into lines at blanks. */
#ifndef TEXT_WRAP_H
#define TEXT_WRAP_H

#include <stdbool.h>
#include <stddef.h>

#include "text/buffer.h"

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
