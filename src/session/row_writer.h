/* SPDX-License-Identifier: Apache-2.0 */
/* row_writer.h - the file that a writer process (base/writer_process.h) adds rows of text to. */
#ifndef SESSION_ROW_WRITER_H
#define SESSION_ROW_WRITER_H

#include <stdint.h>

#include "base/writer_process.h"
#include "output/output_file.h"
#include "text/buffer.h"

/* Starts the writer. It opens the file or creates it, and leaves what is in it. Fails if that
 * fails within a moment; a later failure costs the rows. "-" and other names of descriptors, devices
 * and named pipes are only written to. Files are always written to the end. The reader of a pipe or
 * a terminal has 200 ms, from the end on, to take the rows that are left; the others are lost. */
int row_writer_open(struct writer_process *writer, const char *path, enum output_mode mode);

/* Now there will be rows: a file that is to be replaced is emptied. If this is never called, a
 * file that was created is removed again. */
void row_writer_begin(struct writer_process *writer);

/* Hands over a header, which is written only if the file is empty, or whole rows. Neither waits
 * long. */
void row_writer_add_header(struct writer_process *writer, const struct buffer *text);
void row_writer_add(struct writer_process *writer, const struct buffer *text, uint64_t rows);

#endif
