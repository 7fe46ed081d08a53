/* SPDX-License-Identifier: Apache-2.0 */
/* phase_table.h - the phases of a run as rows of the text report. */
#ifndef OUTPUT_PHASE_TABLE_H
#define OUTPUT_PHASE_TABLE_H

#include "output/text_layout.h"
#include "record/record.h"

enum { PHASE_TABLE_ROWS_MAX = 8 };

/* Nothing if there are none; the number of those that do not fit. */
void phase_table_write(const struct record *record, struct page *page);

#endif
