/* SPDX-License-Identifier: Apache-2.0 */
#include "front/common/option.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/compiler.h"
#include "base/error.h"
#include "front/common/nearest.h"

struct parser {
    const struct option_table *table;
    unsigned scope;
    int argc;
    char *const *argv;
    int next; /* index of the word to read next */
    struct cli_settings *settings;
    uint32_t *given;
};

static const struct {
    unsigned scope;
    const char *command;
} scopes[] = {
    { OPTION_RUN, "run" },   { OPTION_ATTACH, "attach" }, { OPTION_DOCTOR, "doctor" },
    { OPTION_INFO, "info" }, { OPTION_PHASE, "phase" },
};

static const char *command_of(unsigned scope)
{
    for (size_t i = 0; i < ARRAY_SIZE(scopes); i++) {
        if (scopes[i].scope & scope)
            return scopes[i].command;
    }
    return "help";
}

const struct cli_option *option_find(const struct option_table *table, const char *name,
                                     size_t length)
{
    for (size_t i = 0; i < table->count; i++) {
        const char *candidate = table->rows[i].name;

        if (strlen(candidate) == length && memcmp(candidate, name, length) == 0)
            return &table->rows[i];
    }
    return NULL;
}

static bool begins_with(const char *text, const char *start, size_t length)
{
    return strncmp(text, start, length) == 0;
}

const struct cli_option *option_find_prefix(const struct option_table *table, const char *name,
                                            size_t length, struct spoor_error *err)
{
    const struct cli_option *found = option_find(table, name, length);
    char list[200] = "";
    size_t used = 0;
    unsigned count = 0;

    if (found)
        return found;
    for (size_t i = 0; i < table->count; i++) {
        if (!begins_with(table->rows[i].name, name, length))
            continue;
        found = &table->rows[i];
        (void)snprintf(list + used, sizeof(list) - used, "%s--%s", count ? ", " : "",
                       found->name); /* a list that is too long is cut */
        used = strlen(list);
        count++;
    }
    if (count > 1)
        (void)error_set(err, EINVAL, "--%.*s is not a unique prefix: %s?", (int)length, name,
                        list);
    else if (count == 0)
        (void)error_set(err, EINVAL, "unknown option --%.*s", length < 60 ? (int)length : 60,
                        name);
    return count == 1 ? found : NULL;
}

static const struct cli_option *find_letter(const struct option_table *table, char letter)
{
    for (size_t i = 0; i < table->count; i++) {
        if (table->rows[i].letter == letter)
            return &table->rows[i];
    }
    return NULL;
}

const struct cli_option *option_nearest(const struct option_table *table, unsigned scope,
                                        const char *name)
{
    struct nearest nearest = NEAREST_TO(name);
    const char *found;

    for (size_t i = 0; i < table->count; i++) {
        if (!scope || (table->rows[i].flags & scope))
            nearest_offer(&nearest, table->rows[i].name);
    }
    found = nearest_get(&nearest);
    return found ? option_find(table, found, strlen(found)) : NULL;
}

int option_choice(const struct cli_option *option, const char *value, struct spoor_error *err)
{
    const char *word = option->value;

    for (int i = 0;; i++) {
        size_t length = strcspn(word, "|");

        if (strlen(value) == length && memcmp(word, value, length) == 0)
            return i;
        if (word[length] == '\0')
            return error_set(err, EINVAL, "'%s' is not one of %s", value, option->value);
        word += length + 1;
    }
}

int option_flag(const char *value, bool *ret, struct spoor_error *err)
{
    static const struct {
        const char *word;
        bool meaning;
    } words[] = {
        { "yes", true }, { "true", true },   { "on", true },   { "1", true },
        { "no", false }, { "false", false }, { "off", false }, { "0", false },
    };

    if (!value) {
        *ret = true;
        return 0;
    }
    for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
        if (strcasecmp(words[i].word, value) == 0) {
            *ret = words[i].meaning;
            return 0;
        }
    }
    return error_set(err, EINVAL, "'%s' is neither yes nor no", value);
}

/* Applies one option; `shown` is how the user wrote it. */
static int apply(struct parser *parser, const struct cli_option *option, const char *shown,
                 const char *value, struct spoor_error *err)
{
    int r;

    if (!(option->flags & parser->scope))
        return error_set(err, EINVAL, "%s is an option of 'spoor %s', not of 'spoor %s'", shown,
                         command_of(option->flags), command_of(parser->scope));
    if (option->value && !value) {
        if (parser->next >= parser->argc)
            return error_set(err, EINVAL, "%s needs a value: %s", shown, option->value);
        value = parser->argv[parser->next++];
    }
    r = option->apply(parser->settings, option, value, err);
    if (r < 0)
        return error_prefix(err, r, "%s", shown);
    *parser->given |= UINT32_C(1) << (option - parser->table->rows);
    return r;
}

static int unknown_name(const struct parser *parser, const char *name, struct spoor_error *err)
{
    const struct cli_option *near = option_nearest(parser->table, parser->scope, name);

    if (near)
        return error_set(err, EINVAL, "unknown option --%s; did you mean --%s?", name,
                         near->name);
    return error_set(err, EINVAL, "unknown option --%s; 'spoor %s --help' lists them", name,
                     command_of(parser->scope));
}

static int unknown_letter(const struct parser *parser, char letter, struct spoor_error *err)
{
    int other = islower((unsigned char)letter) ? toupper((unsigned char)letter)
                                               : tolower((unsigned char)letter);
    const struct cli_option *near = find_letter(parser->table, (char)other);

    if (parser->table->has_prefixes)
        return error_set(err, EINVAL, "unknown option -%c", letter);
    if (near && other != letter)
        return error_set(err, EINVAL, "unknown option -%c; did you mean -%c (--%s)?", letter,
                         near->letter, near->name);
    return error_set(err, EINVAL, "unknown option -%c; 'spoor %s --help' lists them", letter,
                     command_of(parser->scope));
}

static int parse_long(struct parser *parser, const char *text, struct spoor_error *err)
{
    size_t length = strcspn(text, "=");
    const struct cli_option *option = parser->table->has_prefixes
                                          ? option_find_prefix(parser->table, text, length, err)
                                          : option_find(parser->table, text, length);
    char shown[64];

    /* A name that does not fit is cut in the message; it is unknown then. */
    (void)snprintf(shown, sizeof(shown), "--%.*s", length < 60 ? (int)length : 60, text);
    if (!option)
        return parser->table->has_prefixes ? -EINVAL : unknown_name(parser, shown + 2, err);
    return apply(parser, option, shown, text[length] == '=' ? text + length + 1 : NULL, err);
}

static int parse_letters(struct parser *parser, const char *text, struct spoor_error *err)
{
    for (; *text; text++) {
        const struct cli_option *option = find_letter(parser->table, *text);
        const char shown[] = { '-', *text, '\0' };
        const char *value = NULL;
        int r;

        if (!option)
            return unknown_letter(parser, *text, err);
        if (option->value && text[1])
            value = text + 1;
        r = apply(parser, option, shown, value, err);
        if (r != 0 || option->value)
            return r;
    }
    return 0;
}

int option_parse(const struct option_table *table, unsigned scope, int argc, char *const *argv,
                 int first, struct cli_settings *settings, uint32_t *given,
                 struct spoor_error *err)
{
    struct parser parser = { table, scope, argc, argv, first, settings, given };

    while (parser.next < argc) {
        const char *word = argv[parser.next];
        int r;

        if (word[0] != '-' || word[1] == '\0')
            break;
        parser.next++;
        if (strcmp(word, "--") == 0)
            break;
        r = word[1] == '-' ? parse_long(&parser, word + 2, err)
                           : parse_letters(&parser, word + 1, err);
        if (r < 0)
            return r;
        if (r > 0)
            break;
    }
    return parser.next;
}
