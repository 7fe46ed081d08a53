/* SPDX-License-Identifier: Apache-2.0 */
/* text_table.h - tables in columns, as the users of the predecessor know them. */
#ifndef COMPAT_GPU_TRACKER_SUBTRACK_TEXT_TABLE_H
#define COMPAT_GPU_TRACKER_SUBTRACK_TEXT_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "text/buffer.h"

struct cell_text {
    char text[400];
};

/* A number with at most eight decimals, without zeros after the first: "0.0", "1.77e-06".
 * Not known is "NaN". */
struct cell_text cell_number(double value);

/* A header, and under it rows of cells, all right-justified. */
struct text_table {
    const char *const *headers;
    const char *const *index;      /* to the left of each row; NULL: nothing */
    const struct cell_text *cells; /* row by row */
    size_t rows, columns;
    /* Cells may be words: the blank that every column is wider than its header is with the
     * cells instead. */
    bool has_words;
};

/* `tabs` stand before each line. */
void text_table_write(const struct text_table *table, unsigned tabs, struct buffer *out);

/* A key as a title: "main_ram" is "Main Ram". `tabs` stand before it. */
void text_title(const char *key, unsigned tabs, struct buffer *out);
void text_tabs(unsigned tabs, struct buffer *out);

#endif
