/* SPDX-License-Identifier: Apache-2.0 */
/* csv_reader.h - records of a CSV file: quotes, doubled quotes, lines ended by LF or CR LF. */
#ifndef TEXT_CSV_READER_H
#define TEXT_CSV_READER_H

#include <stddef.h>
#include <stdio.h>

enum { CSV_CELLS_MAX = 256, CSV_RECORD_MAX = 1 << 20 };

/* Zeroed but for `in`. */
struct csv_reader {
    FILE *in;      /* borrowed */
    unsigned line; /* of the record's last line, from 1 */
    char *text;    /* the cells, each NUL-ended; owned */
    size_t length, capacity;
    size_t starts[CSV_CELLS_MAX]; /* where each cell begins in `text` */
    size_t count;
};

/* Reads a record: 1; 0 at the end of the file; -EBADMSG (a quote that is not closed, a NUL
 * byte), -E2BIG (more cells or bytes than we take), or another -errno. A line without any
 * character is no record. */
int csv_reader_next(struct csv_reader *reader);
const char *csv_reader_cell(const struct csv_reader *reader, size_t i);
void csv_reader_done(struct csv_reader *reader);

#endif
