/* SPDX-License-Identifier: Apache-2.0 */
/* text_tables.h - the parts of the text report below its rows: notes, phases, processes. */
#ifndef OUTPUT_TEXT_TABLES_H
#define OUTPUT_TEXT_TABLES_H

#include "output/text_layout.h"
#include "record/record.h"

/* ---- Notes on the figures of the text report ----------------------- */

/* Which figures are sampled and how far off a peak may be; which are missing and
 * why. Nothing if all are exact. */
void notes_write(const struct record *record, struct page *page);

/* ---- The phases of a run as rows of the text report ------------------------ */

enum { PHASE_TABLE_ROWS_MAX = 8 };

/* Nothing if there are none. The last row counts phases that do not fit. */
void phase_table_write(const struct record *record, struct page *page);

/* ---- The largest processes in the text report ------------------------------ */

/* record->shown_processes of them, those with the most CPU time first. */
void process_list_write(const struct record *record, struct page *page);

#endif
