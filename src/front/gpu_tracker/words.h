/* SPDX-License-Identifier: Apache-2.0 */
/* words.h - split a command line into words as a shell does, without a shell. */
#ifndef FRONT_GPU_TRACKER_WORDS_H
#define FRONT_GPU_TRACKER_WORDS_H

#include "spoor/spoor.h"

/* Blanks separate words. Quotes and backslashes mean what they mean to a POSIX shell; nothing else
 * does: no variables, no patterns, no pipes. *ret is ended by NULL, may be empty, and is freed
 * with words_free(). -EINVAL: an unclosed quote, or a backslash at the end. */
int words_split(const char *text, char ***ret, struct spoor_error *err);
void words_free(char **words);

#endif
