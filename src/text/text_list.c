/* SPDX-License-Identifier: Apache-2.0 */
#include "text/text_list.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

void text_list_done(struct text_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        free(list->items[i]);
    free(list->items);
    *list = (struct text_list){ 0 };
}

int text_list_take(struct text_list *list, char *text, struct spoor_error *err)
{
    char **items = text ? reallocarray(list->items, list->count + 2, sizeof(*items)) : NULL;

    if (!items) {
        free(text);
        return error_set(err, ENOMEM, "out of memory");
    }
    list->items = items;
    items[list->count++] = text;
    items[list->count] = NULL;
    return 0;
}

int text_list_add(struct text_list *list, const char *text, struct spoor_error *err)
{
    return text_list_take(list, strdup(text), err);
}

int text_list_format(struct text_list *list, struct spoor_error *err, const char *fmt, ...)
{
    char *text;
    va_list args;

    va_start(args, fmt);
    if (vasprintf(&text, fmt, args) < 0)
        text = NULL;
    va_end(args);
    return text_list_take(list, text, err);
}

int text_list_folder(struct text_list *list, const char *folder,
                     int (*filter)(const struct dirent *entry))
{
    struct dirent **entries;
    int count = scandir(folder, &entries, filter, alphasort), r = 0;

    if (count < 0)
        return -errno;
    for (int i = 0; i < count; i++) {
        if (r == 0)
            r = text_list_format(list, NULL, "%s%s%s", folder,
                                 folder[strlen(folder) - 1] == '/' ? "" : "/",
                                 entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
    return r;
}
