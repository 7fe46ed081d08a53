/* SPDX-License-Identifier: Apache-2.0 */
/* notes.h - what the text report says about its own figures. */
#ifndef OUTPUT_NOTES_H
#define OUTPUT_NOTES_H

#include "output/text_layout.h"
#include "record/record.h"

/* Which figures are sampled and how far off a peak may be; which are missing and
 * why. Nothing if all are exact. */
void notes_write(const struct record *record, struct page *page);

#endif
