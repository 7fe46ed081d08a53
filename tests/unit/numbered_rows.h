/* SPDX-License-Identifier: Apache-2.0 */
/* numbered_rows.h - rows of equal length for tests of the row writer. */
#pragma once

#include <stdio.h>

#include "base/clock.h"
#include "fake_root.h"
#include "session/samples_file.h"

enum { ROW_BYTES = 1000 };
#define WAIT_NS (60 * NS_PER_SECOND)

static inline void path_of(const struct fake_root *fake, char path[128])
{
    (void)snprintf(path, 128, "%s/rows", fake->path);
}

/* Makes a line of ROW_BYTES bytes that contains the number. */
static inline void make_row(struct buffer *row, int number)
{
    buffer_clear(row);
    buffer_format(row, "%0*d\n", ROW_BYTES - 1, number);
}

static inline void add_rows(struct writer_process *writer, int first, int count)
{
    struct buffer row = { 0 };

    for (int i = first; i < first + count; i++) {
        make_row(&row, i);
        row_writer_add(writer, &row, 1);
    }
    buffer_done(&row);
}
