/* SPDX-License-Identifier: Apache-2.0 */
/* fill_system.h - the machine's part of a record, from what a session without a job knows. */
#ifndef RECORD_FILL_SYSTEM_H
#define RECORD_FILL_SYSTEM_H

#include "record/fill.h"

/* Sets record->system. */
void fill_system(struct record *record, const struct record_input *input);

#endif
