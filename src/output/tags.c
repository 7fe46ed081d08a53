/* SPDX-License-Identifier: Apache-2.0 */
#include "output/tags.h"

#include "text/escape.h"

void tags_write(const struct record_tags *tags, struct buffer *out)
{
    struct buffer word = { 0 };

    for (size_t i = 0; i < tags->count; i++) {
        buffer_clear(&word);
        buffer_format(&word, "%s=%s", tags->items[i].key, tags->items[i].value);
        if (i > 0)
            buffer_add_text(out, " ");
        if (buffer_error(&word) == 0)
            escape_shell(word.text, out);
    }
    buffer_done(&word);
}
