/* SPDX-License-Identifier: Apache-2.0 */
/* text_tables.h - the parts of the text report below its rows: notes, phases, processes. */
#ifndef OUTPUT_TEXT_TABLES_H
#define OUTPUT_TEXT_TABLES_H

#include "output/text_layout.h"
#include "record/record.h"

/* ---- Notes on the figures of the text report ----------------------- */

/* Writes which figures are sampled and how inaccurate a peak may be; which are missing and
 * why. Writes nothing if all are exact. */
void notes_write(const struct record *record, struct page *page);

/* ---- The phases of a run as rows of the text report ------------------------ */

enum { PHASE_TABLE_ROWS_MAX = 8 };

/* Writes nothing if there are no phases. The last row counts phases that do not fit. */
void phase_table_write(const struct record *record, struct page *page);

/* ---- The largest processes in the text report ------------------------------ */

/* Writes record->shown_processes of the processes, those with the most CPU time first. */
void process_list_write(const struct record *record, struct page *page);

#endif
