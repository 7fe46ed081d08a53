/* SPDX-License-Identifier: Apache-2.0 */
/* save.h - a report on disk: whole, or not there. */
#ifndef OUTPUT_SAVE_H
#define OUTPUT_SAVE_H

#include "spoor/spoor.h"
#include "text/buffer.h"

/* Writes the text to a file as `how` says. No symbolic link is followed. */
int save_text(const struct buffer *text, const char *path, enum spoor_save how,
              struct spoor_error *err);

/* Does the file exist and hold anything? */
bool save_has_content(const char *path);

#endif
