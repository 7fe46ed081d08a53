/* SPDX-License-Identifier: Apache-2.0 */
/* process_list.h - the largest processes in the text report. */
#ifndef OUTPUT_PROCESS_LIST_H
#define OUTPUT_PROCESS_LIST_H

#include "output/text_layout.h"
#include "record/record.h"

/* record->shown_processes of them, those with the most CPU time first; nothing if that is 0. */
void process_list_write(const struct record *record, struct page *page);

#endif
