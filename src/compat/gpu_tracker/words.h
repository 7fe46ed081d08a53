/* SPDX-License-Identifier: Apache-2.0 */
/* words.h - split a command line into words as a shell does, without a shell. */
#ifndef COMPAT_GPU_TRACKER_WORDS_H
#define COMPAT_GPU_TRACKER_WORDS_H

#include "spoor/spoor.h"

/* Blanks separate words. Quotes and backslashes mean what they mean to a POSIX shell; nothing else
 * does: no variables, no patterns, no pipes. A text with an unclosed quote ("echo it's"), or with
 * a backslash at its end, is split at its blanks alone, as the predecessor did. *ret is ended by
 * NULL, may be empty, and is freed with words_free(). 0 or -ENOMEM. */
int words_split(const char *text, char ***ret, struct spoor_error *err);
void words_free(char **words);

#endif
