/* SPDX-License-Identifier: Apache-2.0 */
/* text_group.h - the ranks of a job in the text report. Writes nothing if the record is of
 * one run. */
#ifndef OUTPUT_TEXT_GROUP_H
#define OUTPUT_TEXT_GROUP_H

#include "output/text_layout.h"
#include "record/record.h"

/* Writes how many ranks reported, which did not, and how uneven they are. */
void group_verdict_write(const struct record *record, struct page *page);

/* Writes the nodes with the most memory, and the ranks that differ most. */
void group_table_write(const struct record *record, struct page *page);

#endif
