/* SPDX-License-Identifier: Apache-2.0 */
/* text_group.h - the ranks of a job in the text report. Nothing if the record is of one run. */
#ifndef OUTPUT_TEXT_GROUP_H
#define OUTPUT_TEXT_GROUP_H

#include "output/text_layout.h"
#include "record/record.h"

/* How many ranks reported, which did not, and how uneven they are. */
void group_verdict_write(const struct record *record, struct page *page);

/* The nodes with the most memory, and the ranks that stand out. */
void group_table_write(const struct record *record, struct page *page);

#endif
