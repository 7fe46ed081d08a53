/* SPDX-License-Identifier: Apache-2.0 */
/* text_system.h - the text report of a machine without a job. */
#ifndef OUTPUT_TEXT_SYSTEM_H
#define OUTPUT_TEXT_SYSTEM_H

#include "output/text_layout.h"
#include "record/record.h"

/* Writes the headline and a row for each quantity and device. record->system must not be
 * NULL. */
void text_system_write(const struct record *record, struct page *page);

#endif
