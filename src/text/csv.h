/* SPDX-License-Identifier: Apache-2.0 */
/* csv.h - CSV, written cell by cell and read record by record. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "text/buffer.h"

/* CSV written cell by cell: commas, quotes, line ends.
 *
 *     struct csv_writer csv = { .out = &buffer };
 *     csv_add_text(&csv, "x");
 *     csv_add_u64(&csv, 7);
 *     csv_end_row(&csv);
 *
 * Values that are not known (NULL text, NaN, UNKNOWN) are empty cells. This is the only
 * writer of CSV in the program. */

struct csv_dialect {
    const char *line_end;
    void (*escape)(const char *text, struct buffer *out);
    bool is_python; /* 1.0 instead of 1 for a number that is not a count */
};

/* Text is safe on a terminal, and each row is one line. */
extern const struct csv_dialect csv_safe;
extern const struct csv_dialect csv_python; /* Python's csv module */
extern const struct csv_dialect csv_pandas; /* DataFrame.to_csv() */
/* Python's csv module with QUOTE_NONNUMERIC; lines end in "\n" or in "\r\n". */
extern const struct csv_dialect csv_quoted, csv_quoted_crlf;

/* The caller sets `out` and `dialect` and zeroes the rest. */
struct csv_writer {
    struct buffer *out;                /* borrowed */
    const struct csv_dialect *dialect; /* NULL: csv_safe */
    bool has_cells;                    /* the current row has cells */
};

/* Begins a cell that the caller writes to `out`. If nothing is written, the cell is empty. */
void csv_begin_cell(struct csv_writer *csv);

void csv_add_text(struct csv_writer *csv, const char *text);
void csv_add_number(struct csv_writer *csv, double value);
void csv_add_u64(struct csv_writer *csv, uint64_t value);
void csv_add_i64(struct csv_writer *csv, int64_t value);
/* `decimals`: the minimum number of decimals. */
void csv_add_seconds(struct csv_writer *csv, uint64_t nanoseconds, unsigned decimals);
void csv_end_row(struct csv_writer *csv);

/* ---- Records of a CSV file: quotes, doubled quotes, lines ended by LF or CR LF --- */

enum { CSV_CELLS_MAX = 256, CSV_RECORD_MAX = 1 << 20 };

/* The caller sets `in` and zeroes the rest. */
struct csv_reader {
    FILE *in;      /* borrowed */
    unsigned line; /* number of the record's last line, from 1 */
    char *text;    /* the cells, each NUL-terminated; owned */
    size_t length, capacity;
    size_t starts[CSV_CELLS_MAX]; /* start of each cell in `text` */
    size_t count;
};

/* Reads a record. Returns 1; 0 at the end of the file; -EBADMSG (a quote that is not closed,
 * a NUL byte), -E2BIG (more cells or bytes than supported), or another -errno. An empty line
 * is not a record. */
int csv_reader_next(struct csv_reader *reader);
const char *csv_reader_cell(const struct csv_reader *reader, size_t i);
void csv_reader_done(struct csv_reader *reader);
