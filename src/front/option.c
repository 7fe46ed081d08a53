/* SPDX-License-Identifier: Apache-2.0 */
#include "front/option.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/compiler.h"
#include "base/error.h"

void *option_member(void *target, const struct option *option)
{
    return (char *)target + option->offset;
}

void text_list_done(struct text_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        free(list->items[i]);
    free(list->items);
    *list = (struct text_list){ 0 };
}

int option_any_text(void *target, const struct option *option, const char *value,
                    struct spoor_error *err)
{
    char **text = option_member(target, option);
    char *copy = strdup(value);

    if (!copy)
        return error_set(err, ENOMEM, "out of memory");
    free(*text);
    *text = copy;
    return 0;
}

int option_text(void *target, const struct option *option, const char *value,
                struct spoor_error *err)
{
    if (*value == '\0')
        return error_set(err, EINVAL, "the value must not be empty");
    return option_any_text(target, option, value, err);
}

int option_list(void *target, const struct option *option, const char *value,
                struct spoor_error *err)
{
    struct text_list *list = option_member(target, option);
    char **items = realloc(list->items, (list->count + 2) * sizeof(*items));
    char *copy = strdup(value);

    if (items)
        list->items = items;
    if (!items || !copy) {
        free(copy);
        return error_set(err, ENOMEM, "out of memory");
    }
    items[list->count++] = copy;
    items[list->count] = NULL;
    return 0;
}

int option_flag(void *target, const struct option *option, const char *value,
                struct spoor_error *err)
{
    static const struct {
        const char *word;
        bool meaning;
    } words[] = {
        { "yes", true }, { "true", true },   { "on", true },   { "1", true },
        { "no", false }, { "false", false }, { "off", false }, { "0", false },
    };
    bool *flag = option_member(target, option);

    for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
        if (!value || strcasecmp(words[i].word, value) == 0) {
            *flag = words[i].meaning;
            return 0;
        }
    }
    return error_set(err, EINVAL, "invalid value '%s': expected yes or no", value);
}

int option_find_choice(const struct option *option, const char *value, struct spoor_error *err)
{
    const char *word = option->value;

    for (int i = 0;; i++) {
        size_t length = strcspn(word, "|");

        if (strlen(value) == length && memcmp(word, value, length) == 0)
            return i;
        if (word[length] == '\0')
            return error_set(err, EINVAL, "invalid value '%s': expected %s", value,
                             option->value);
        word += length + 1;
    }
}

int option_choice(void *target, const struct option *option, const char *value,
                  struct spoor_error *err)
{
    int choice = option_find_choice(option, value, err);

    if (choice < 0)
        return choice;
    *(unsigned *)option_member(target, option) = (unsigned)choice;
    return 0;
}

int option_help(void *target, const struct option *option, const char *value,
                struct spoor_error *err)
{
    (void)target;
    (void)option;
    (void)value;
    (void)err;
    return ACTION_HELP;
}

int option_version(void *target, const struct option *option, const char *value,
                   struct spoor_error *err)
{
    (void)target;
    (void)option;
    (void)value;
    (void)err;
    return ACTION_VERSION;
}

void option_free(const struct option_table *table, void *target)
{
    for (size_t i = 0; i < table->count; i++) {
        const struct option *option = &table->rows[i];
        void *member = option_member(target, option);

        if (option->apply == option_text || option->apply == option_any_text) {
            free(*(char **)member);
            *(char **)member = NULL;
        } else if (option->apply == option_list) {
            text_list_done(member);
        }
    }
}
