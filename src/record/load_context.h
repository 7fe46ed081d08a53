/* SPDX-License-Identifier: Apache-2.0 */
/* load_context.h - what an integration, such as that of Metaflow, adds to a JSON report. */
#ifndef RECORD_LOAD_CONTEXT_H
#define RECORD_LOAD_CONTEXT_H

#include <jansson.h>

#include "record/record.h"

/* Sets record->context; what is not an object is ignored. */
void load_context(struct record *record, const json_t *context);

#endif
