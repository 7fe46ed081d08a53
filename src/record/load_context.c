/* SPDX-License-Identifier: Apache-2.0 */
#include "record/load_context.h"

#include <errno.h>
#include <stdlib.h>

void load_context(struct record *record, const json_t *context)
{
    char *text;

    if (!json_is_object(context))
        return;
    text = json_dumps(context, JSON_COMPACT);
    if (text)
        record->context = record_text(record, text);
    else
        record->error = -ENOMEM;
    free(text);
}
