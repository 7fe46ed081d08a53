/* SPDX-License-Identifier: Apache-2.0 */
/* tags.h - the tags of a run as text. */
#ifndef OUTPUT_TAGS_H
#define OUTPUT_TAGS_H

#include "record/record.h"
#include "text/buffer.h"

/* Words as a shell reads them: team=blue 'note=two words'. */
void tags_write(const struct record_tags *tags, struct buffer *out);

#endif
