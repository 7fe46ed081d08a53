/* SPDX-License-Identifier: Apache-2.0 */
/* text_list.h - a growing list of strings. */
#pragma once

#include <dirent.h>
#include <stddef.h>

#include "base/compiler.h"
#include "spoor/spoor.h"

/* Strings, owned by the list, NULL-terminated. A zeroed list is empty. */
struct text_list {
    char **items;
    size_t count;
};

void text_list_done(struct text_list *list);

/* Add a copy of a text, or a text in the format of printf(). -ENOMEM with a message. */
int text_list_add(struct text_list *list, const char *text, struct spoor_error *err);
int text_list_format(struct text_list *list, struct spoor_error *err, const char *fmt, ...)
    PRINTF_LIKE(3, 4);

/* Adds the paths of the entries of a folder that the filter accepts, sorted by name. 0 or -errno. */
int text_list_folder(struct text_list *list, const char *folder,
                     int (*filter)(const struct dirent *entry));

/* Adds the text itself, which malloc() returned. On failure it is freed. NULL: -ENOMEM. */
int text_list_take(struct text_list *list, char *text, struct spoor_error *err);
