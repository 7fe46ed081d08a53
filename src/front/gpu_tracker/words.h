/* SPDX-License-Identifier: Apache-2.0 */
/* words.h - a command line in one text, split as a shell would split it. No shell is started. */
#ifndef FRONT_GPU_TRACKER_WORDS_H
#define FRONT_GPU_TRACKER_WORDS_H

#include "spoor/spoor.h"

/* Blanks part words. Quotes and backslashes mean what they mean to a POSIX shell; nothing else
 * does: no variables, no patterns, no pipes. *ret is ended by NULL, may be empty, and is freed
 * with words_free(). -EINVAL: a quote is not closed, or a backslash stands at the end. */
int words_split(const char *text, char ***ret, struct spoor_error *err);
void words_free(char **words);

#endif
