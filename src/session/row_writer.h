/* SPDX-License-Identifier: Apache-2.0 */
/* row_writer.h - a writer process (base/writer_process.h) that appends rows to a file. */
#ifndef SESSION_ROW_WRITER_H
#define SESSION_ROW_WRITER_H

#include <stdint.h>

#include "base/writer_process.h"
#include "output/output_file.h"
#include "text/buffer.h"

/* Starts the writer, which opens or creates the file and keeps its content. Fails if opening
 * fails within a moment; after a later failure, rows are lost. "-" and other names of
 * descriptors, devices and named pipes are only written to. Files are always written to the
 * end. The reader of a pipe or terminal has 200 ms after the end to read the remaining rows;
 * rows unread by then are lost. */
int row_writer_open(struct writer_process *writer, const char *path, enum output_mode mode);

/* Announces rows: a file to be replaced is emptied. If this is never called, a file that was
 * created is removed again. */
void row_writer_begin(struct writer_process *writer);

/* Queue a header, which is written only to an empty file, and whole rows. Neither call blocks
 * for long. */
void row_writer_add_header(struct writer_process *writer, const struct buffer *text);
void row_writer_add(struct writer_process *writer, const struct buffer *text, uint64_t rows);

#endif
