/* SPDX-License-Identifier: Apache-2.0 */
#include "front/arguments.h"

#include <ctype.h>
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/parse.h"
#include "front/option.h"
#include "text/buffer.h"

/* Whether the option was set, by this row or by another row for the same member. */
static bool is_set(const struct arguments *arguments, const struct option *option)
{
    const struct option_table *table = arguments->command->options;

    for (size_t i = 0; i < table->count; i++) {
        if (arguments->sources[i] != SET_BY_NOTHING && table->rows[i].apply == option->apply &&
            table->rows[i].offset == option->offset)
            return true;
    }
    return false;
}

/* ---- the config file ---------------------------------------------------- */

static const char *key_of(const struct option *option)
{
    return option->key ? option->key : option->name;
}

/* Joins ["a", "b"] to "a,b", which the caller frees. NULL: not a list of strings. */
static char *join(json_t *list)
{
    struct buffer text = { 0 };
    json_t *element;
    size_t i;
    bool is_text = true;

    buffer_add(&text, "", 0);
    json_array_foreach(list, i, element)
    {
        is_text &= json_is_string(element);
        buffer_add_text(&text, i > 0 ? "," : "");
        buffer_add_text(&text, is_text ? json_string_value(element) : "");
    }
    if (!is_text || buffer_error(&text) < 0)
        buffer_done(&text);
    return text.text;
}

/* Returns the value as written on the command line; the caller frees it. NULL: wrong type. */
static char *text_of(const struct program *program, const struct option *option, json_t *value)
{
    bool takes_text = option->value || program->flags_take_values;
    bool takes_number =
        option->value && !(option->flags & (OPTION_FILE_STRING | OPTION_FILE_LIST));

    if (json_is_string(value) && takes_text)
        return strdup(json_string_value(value));
    if (json_is_number(value) && takes_number)
        return json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(15));
    if (json_is_boolean(value) &&
        (!option->value ||
         (option->flags & (OPTION_OPTIONAL | OPTION_REPEATABLE)) == OPTION_OPTIONAL))
        return strdup(json_is_true(value) ? "yes" : "no");
    if (json_is_array(value) && option->flags & OPTION_FILE_LIST)
        return join(value);
    return NULL;
}

static int refuse_type(const struct option *option, struct spoor_error *err)
{
    const char *expected = !option->value                       ? "true or false"
                           : option->flags & OPTION_FILE_LIST   ? "a list of strings"
                           : option->flags & OPTION_FILE_STRING ? "a string"
                                                                : "a string or a number";

    return error_set(err, EINVAL, "expected %s", expected);
}

static int apply_scalar(struct arguments *arguments, const struct option *option, json_t *value,
                        struct spoor_error *err)
{
    AUTO_FREE char *text = text_of(arguments->program, option, value);

    if (!text)
        return refuse_type(option, err);
    return arguments_apply(arguments, option, text, err);
}

/* Applies each member { "KEY": "VALUE" } as KEY=VALUE. */
static int apply_object(struct arguments *arguments, const struct option *option,
                        json_t *object, struct spoor_error *err)
{
    const char *key;
    json_t *value;

    json_object_foreach(object, key, value)
    {
        AUTO_FREE char *text = NULL;
        int r;

        if (!json_is_string(value))
            return error_set(err, EINVAL, "expected a string as the value of '%s'", key);
        if (strchr(key, '='))
            return error_set(err, EINVAL, "'%s' must not contain '='", key);
        if (asprintf(&text, "%s=%s", key, json_string_value(value)) < 0) {
            text = NULL;
            return error_set(err, ENOMEM, "out of memory");
        }
        r = arguments_apply(arguments, option, text, err);
        if (r < 0)
            return r;
    }
    return 0;
}

static int apply_value(struct arguments *arguments, const struct option *option, json_t *value,
                       struct spoor_error *err)
{
    json_t *element;
    size_t i;

    if (!(option->flags & OPTION_REPEATABLE))
        return apply_scalar(arguments, option, value, err);
    if (json_is_object(value))
        return apply_object(arguments, option, value, err);
    if (!json_is_array(value))
        return apply_scalar(arguments, option, value, err);
    json_array_foreach(value, i, element)
    {
        int r = apply_scalar(arguments, option, element, err);

        if (r < 0)
            return r;
    }
    return 0;
}

/* Finds the option of the command with that key, or else an option of another command. The key
 * is ignored by a command that does not read it from a file. */
static const struct option *find_option(const struct command *command, const char *key)
{
    const struct option *found = NULL;

    for (size_t i = 0; i < command->options->count; i++) {
        const struct option *option = &command->options->rows[i];
        bool is_open = !(option->flags & OPTION_NO_FILE);

        if (strcmp(key_of(option), key) != 0)
            continue;
        if (option->flags & command->scope && is_open)
            return option;
        if (is_open || !found)
            found = option;
    }
    return found;
}

static int unknown_key(const struct option_table *table, const char *key,
                       struct spoor_error *err)
{
    struct nearest nearest = NEAREST_TO(key);
    const char *near;

    for (size_t i = 0; i < table->count; i++) {
        if (!(table->rows[i].flags & OPTION_NO_FILE))
            nearest_offer(&nearest, key_of(&table->rows[i]));
    }
    near = nearest_get(&nearest);
    if (near)
        return error_set(err, EINVAL, "unknown key \"%s\"; did you mean \"%s\"?", key, near);
    return error_set(err, EINVAL, "unknown key \"%s\"", key);
}

static int apply_key(struct arguments *arguments, const char *key, json_t *value,
                     struct spoor_error *err)
{
    const struct option_table *table = arguments->command->options;
    const struct option *option = find_option(arguments->command, key);
    int r;

    if (!option)
        return unknown_key(table, key, err);
    if (option->flags & OPTION_NO_FILE)
        return error_set(err, EINVAL, "\"%s\" cannot be set in a config file", key);
    if (!(option->flags & arguments->command->scope) || is_set(arguments, option) ||
        (arguments->is_restricted && !(option->flags & OPTION_COMMON)) ||
        (json_is_null(value) && arguments->program->ignores_null))
        return 0;
    r = apply_value(arguments, option, value, err);
    arguments->sources[option - table->rows] = SET_BY_FILE;
    return r < 0 ? error_prefix(err, r, "%s", key) : 0;
}

int config_read_text(struct arguments *arguments, const char *path, const char *text,
                     size_t length, struct spoor_error *err)
{
    json_auto_t *root = NULL;
    json_error_t broken;
    const char *key;
    json_t *value;

    root = json_loadb(text, length, JSON_REJECT_DUPLICATES, &broken);
    if (!root)
        return error_set(err, EINVAL, "%s:%d:%d: %s", path, broken.line, broken.column,
                         broken.text);
    if (!json_is_object(root))
        return error_set(err, EINVAL, "%s: expected an object: { \"KEY\": VALUE, ... }", path);
    json_object_foreach(root, key, value)
    {
        int r = apply_key(arguments, key, value, err);

        if (r < 0)
            return error_prefix(err, r, "%s", path);
    }
    return 0;
}

int config_read(struct arguments *arguments, const char *path, struct spoor_error *err)
{
    CLEANUP(buffer_done) struct buffer text = { 0 };
    int r = buffer_read_file(&text, path, CONFIG_MAX_BYTES);

    if (r < 0)
        return error_sys(err, r, "config file '%s'", path);
    return config_read_text(arguments, path, text.text, text.length, err);
}

/* ---- the command line ---------------------------------------------------
 *
 * The source with the highest precedence is read first and marks the options that it sets; later
 * sources set only the others. Therefore tags on the command line replace the tags of a config
 * file, and a variable that an option overrides is not even read.
 */

int arguments_apply(struct arguments *arguments, const struct option *option, const char *value,
                    struct spoor_error *err)
{
    int r = option->check ? option->check(value, err) : 0;

    if (option->action != ACTION_WORK)
        return (int)option->action;
    return r < 0 ? r : option->apply(arguments->target, option, value, err);
}

static enum setting_source *source_of(struct arguments *arguments, const struct option *option)
{
    return &arguments->sources[option - arguments->command->options->rows];
}

enum setting_source arguments_source(const struct arguments *arguments, const char *name)
{
    const struct option_table *table = arguments->command->options;

    for (size_t i = 0; i < table->count; i++) {
        if (arguments->sources[i] != SET_BY_NOTHING && strcmp(table->rows[i].name, name) == 0)
            return arguments->sources[i];
    }
    return SET_BY_NOTHING;
}

/* ---- finding an option ----------------------------------------------------- */

/* Finds an option by its name or, if `name` is NULL, by its letter. Options of this command
 * are preferred. */
static const struct option *find_word(const struct command *command, const char *name,
                                      size_t length, char letter)
{
    const struct option *found = NULL;

    for (size_t i = 0; i < command->options->count; i++) {
        const struct option *option = &command->options->rows[i];
        bool is_named = name && !(option->flags & OPTION_FILE_ONLY) &&
                        strlen(option->name) == length &&
                        memcmp(option->name, name, length) == 0;

        if (name ? !is_named : option->letter != letter)
            continue;
        if (option->flags & command->scope)
            return option;
        found = option;
    }
    return found;
}

/* `shown`: the word as the user wrote it. `near`: a suggestion; empty: none. */
static int refuse_unknown(const struct arguments *arguments, const char *shown,
                          const char *near, struct spoor_error *err)
{
    const struct command *command = arguments->command;

    if (*near)
        return error_set(err, EINVAL, "unknown option %s; did you mean %s?", shown, near);
    if (arguments->program->has_full_usage)
        return error_set(err, EINVAL, "unknown option %s", shown);
    return error_set(err, EINVAL, "unknown option %s; see '%s%s%s --help'", shown,
                     arguments->program->name, *command->name ? " " : "", command->name);
}

static int unknown_name(const struct arguments *arguments, const char *shown,
                        struct spoor_error *err)
{
    const struct command *command = arguments->command;
    struct nearest nearest = NEAREST_TO(shown + 2);
    const char *near;
    char hint[80] = "";

    for (size_t i = 0; i < command->options->count; i++) {
        if (option_is_shown(&command->options->rows[i], command->scope))
            nearest_offer(&nearest, command->options->rows[i].name);
    }
    near = nearest_get(&nearest);
    if (near)
        (void)snprintf(hint, sizeof(hint), "--%s", near); /* fits: one of our names */
    return refuse_unknown(arguments, shown, hint, err);
}

static int unknown_letter(const struct arguments *arguments, const char *shown,
                          struct spoor_error *err)
{
    unsigned char letter = (unsigned char)shown[1];
    int other = islower(letter) ? toupper(letter) : tolower(letter);
    const struct option *near = find_word(arguments->command, NULL, 0, (char)other);
    char hint[80] = "";

    if (near && option_is_in(near, arguments->command->scope))
        (void)snprintf(hint, sizeof(hint), "-%c (--%s)", near->letter, near->name); /* fits */
    return refuse_unknown(arguments, shown, hint, err);
}

/* Finds the only option of the command with this prefix. NULL: there is no such option, or,
 * with a message, there are several. */
static const struct option *find_prefix(const struct command *command, const char *name,
                                        size_t length, struct spoor_error *err)
{
    const struct option *found = NULL;
    char list[200] = "";
    unsigned count = 0;

    for (size_t i = 0; i < command->options->count; i++) {
        const struct option *option = &command->options->rows[i];
        size_t used = strlen(list);

        if (!option_is_shown(option, command->scope) ||
            strncmp(option->name, name, length) != 0)
            continue;
        found = option;
        (void)snprintf(list + used, sizeof(list) - used, "%s--%s", count ? ", " : "",
                       option->name); /* a list that is too long is truncated */
        count++;
    }
    if (count > 1)
        (void)error_set(err, EINVAL, "--%.*s is not a unique prefix: %s?", (int)length, name,
                        list);
    return count == 1 ? found : NULL;
}

/* ---- the command line ------------------------------------------------------ */

static int refuse_scope(const struct arguments *arguments, const struct option *option,
                        const char *shown, struct spoor_error *err)
{
    const struct program *program = arguments->program;

    for (const struct command *other = program->commands; other->name; other++) {
        if (!other->is_hidden && other->options == arguments->command->options &&
            option_is_in(option, other->scope))
            return error_set(err, EINVAL, "'%s %s' has no option %s; '%s %s' does",
                             program->name, arguments->command->name, shown, program->name,
                             other->name);
    }
    return error_set(err, EINVAL, "unknown option %s", shown);
}

/* Applies one option; `shown` is the option as the user wrote it. */
static int apply(struct arguments *arguments, const struct option *option, const char *shown,
                 const char *value, struct spoor_error *err)
{
    int r;

    if (!option_is_in(option, arguments->command->scope))
        return refuse_scope(arguments, option, shown, err);
    if (!option->value && value && !arguments->program->flags_take_values)
        return error_set(err, EINVAL, "%s takes no value", shown);
    if (option->value && !value && !(option->flags & OPTION_OPTIONAL)) {
        if (arguments->next >= arguments->argc)
            return error_set(err, EINVAL, "%s requires a value: %s", shown, option->value);
        value = arguments->argv[arguments->next++];
    }
    r = arguments_apply(arguments, option, value, err);
    if (r < 0)
        return error_prefix(err, r, "%s", shown);
    *source_of(arguments, option) = SET_BY_OPTION;
    return r;
}

static int parse_long(struct arguments *arguments, const char *text, struct spoor_error *err)
{
    size_t length = strcspn(text, "=");
    const struct option *option = find_word(arguments->command, text, length, 0);
    struct spoor_error ambiguous = { 0 };
    char shown[64];

    /* No option has a longer name: a truncated name only appears in the error message. */
    (void)snprintf(shown, sizeof(shown), "--%.*s", length < 60 ? (int)length : 60, text);
    if (!option && arguments->program->allows_abbreviations)
        option = find_prefix(arguments->command, text, length, &ambiguous);
    if (ambiguous.code)
        return error_set(err, EINVAL, "%s", ambiguous.message);
    if (!option)
        return unknown_name(arguments, shown, err);
    return apply(arguments, option, shown, text[length] == '=' ? text + length + 1 : NULL, err);
}

static int parse_letters(struct arguments *arguments, const char *text, struct spoor_error *err)
{
    for (; *text; text++) {
        const struct option *option = find_word(arguments->command, NULL, 0, *text);
        const char shown[] = { '-', *text, '\0' };
        const char *value = NULL;
        int r;

        if (!option)
            return unknown_letter(arguments, shown, err);
        if (option->value && text[1])
            value = text + 1;
        r = apply(arguments, option, shown, value, err);
        if (r != 0 || option->value)
            return r;
    }
    return 0;
}

/* Reads options up to the first word that is not an option. Returns 0, an action, or -errno. */
static int parse_options(struct arguments *arguments, struct spoor_error *err)
{
    int r = 0;

    while (r == 0 && !arguments->has_ended_options && arguments->next < arguments->argc) {
        const char *word = arguments->argv[arguments->next];

        if (word[0] != '-' || word[1] == '\0')
            break;
        arguments->next++;
        arguments->has_ended_options = strcmp(word, "--") == 0;
        if (!arguments->has_ended_options)
            r = word[1] == '-' ? parse_long(arguments, word + 2, err)
                               : parse_letters(arguments, word + 1, err);
    }
    return r;
}

/* Moves an operand into the place of a word that was already read. */
static int add_operand(struct arguments *arguments, char *word, struct spoor_error *err)
{
    const struct command *command = arguments->command;

    if (command->max_operands == OPERANDS_MANY ||
        arguments->operand_count < command->max_operands) {
        arguments->first_operand = 1;
        arguments->argv[arguments->first_operand + arguments->operand_count++] = word;
        return 0;
    }
    if (command->max_operands == 1)
        return error_set(err, EINVAL, "unexpected argument '%s': only one %s may be given",
                         word, command->operands);
    return error_set(err, EINVAL, "unexpected argument '%s'", word);
}

static int check_required(const struct arguments *arguments, struct spoor_error *err)
{
    const struct option_table *table = arguments->command->options;

    for (size_t i = 0; i < table->count; i++) {
        const struct option *option = &table->rows[i];

        if (option_is_in(option, arguments->command->scope) &&
            option->flags & OPTION_REQUIRED && arguments->sources[i] == SET_BY_NOTHING)
            return error_set(err, EINVAL, "missing option: --%s=%s", option->name,
                             option->value);
    }
    return 0;
}

/* The first operand names the subcommand; options of other subcommands are rejected. A
 * command that accepts other operands too runs without a subcommand. */
static int choose_subcommand(struct arguments *arguments, struct spoor_error *err)
{
    const struct command *parent = arguments->command;
    bool is_optional = parent->max_operands == OPERANDS_MANY;
    const struct command *found = NULL;

    if (arguments->operand_count == 0 && !is_optional)
        return error_set(err, EINVAL, "missing subcommand: expected %s", parent->operands);
    if (arguments->operand_count > 0)
        found = command_find(parent->subcommands, arguments->operands[0]);
    if (!found && is_optional)
        return 0;
    if (!found)
        return error_set(err, EINVAL, "unknown subcommand '%s': expected %s",
                         arguments->operands[0], parent->operands);
    for (size_t i = 0; i < parent->options->count; i++) {
        const struct option *option = &parent->options->rows[i];

        if (arguments->sources[i] == SET_BY_OPTION && !option_is_in(option, found->scope))
            return error_set(err, EINVAL, "'%s %s' has no option --%s", parent->name,
                             found->name, option->name);
    }
    arguments->command = found;
    arguments->operands++;
    arguments->operand_count--;
    return 0;
}

int arguments_parse(struct arguments *arguments, int argc, char **argv, struct spoor_error *err)
{
    int r;

    arguments->argc = argc;
    arguments->argv = argv;
    arguments->next = 1;
    r = parse_options(arguments, err);
    arguments->first_operand = arguments->next;
    if (arguments->command->max_operands == OPERANDS_REST)
        arguments->operand_count = argc - arguments->next;
    while (r == 0 && arguments->command->max_operands != OPERANDS_REST &&
           arguments->next < argc) {
        r = add_operand(arguments, argv[arguments->next++], err);
        if (r == 0)
            r = parse_options(arguments, err);
    }
    if (r < 0)
        return r;
    arguments->operands = argv + arguments->first_operand;
    arguments->action = (enum option_action)r;
    if (arguments->action != ACTION_WORK)
        return 0;
    if (arguments->command->subcommands)
        r = choose_subcommand(arguments, err);
    return r < 0 ? r : check_required(arguments, err);
}

/* ---- variables -------------------------------------------------------------- */

static void variable_name(const char *prefix, const char *option, char *buf, size_t size)
{
    (void)snprintf(buf, size, "%s%s", prefix, option); /* always fits: option names are short */
    for (char *c = buf; *c; c++)
        *c = *c == '-' ? '_' : (char)toupper((unsigned char)*c);
}

/* A variable of a repeatable option holds several values, separated by commas, or a single
 * file name, which may contain commas. */
static int apply_variable(struct arguments *arguments, const struct option *option,
                          const char *text, struct spoor_error *err)
{
    AUTO_FREE char *copy = NULL;
    char *rest, *value;

    if (!(option->flags & OPTION_REPEATABLE) ||
        (option->complete && strcmp(option->complete, COMPLETE_FILES) == 0))
        return arguments_apply(arguments, option, text, err);
    copy = strdup(text);
    if (!copy)
        return error_set(err, ENOMEM, "out of memory");
    rest = copy;
    while ((value = strsep(&rest, ",")) != NULL) {
        int r = arguments_apply(arguments, option, value, err);

        if (r < 0)
            return r;
    }
    return 0;
}

/* Whether any variable has the prefix. Mostly none has, so the many names need not be built. */
static bool has_variable(const char *prefix)
{
    for (char **variable = environ; variable && *variable; variable++) {
        if (begins_with(*variable, prefix))
            return true;
    }
    return false;
}

static int read_variables(struct arguments *arguments, struct spoor_error *err)
{
    const struct command *command = arguments->command;

    if (!has_variable(arguments->program->environment_prefix))
        return 0;
    for (size_t i = 0; i < command->options->count; i++) {
        const struct option *option = &command->options->rows[i];
        const char *text;
        char name[64];
        int r;

        if (!option_is_in(option, command->scope) || option->flags & OPTION_NO_VARIABLE ||
            (command->ignores_variables && !(option->flags & OPTION_COMMON)) ||
            is_set(arguments, option))
            continue;
        variable_name(arguments->program->environment_prefix, option->name, name, sizeof(name));
        text = getenv(name);
        if (!text || *text == '\0')
            continue;
        r = apply_variable(arguments, option, text, err);
        if (r < 0)
            return error_prefix(err, r, "%s", name);
        arguments->sources[i] = SET_BY_VARIABLE;
    }
    return 0;
}

/* Finds the option that names the config file; NULL: the command has none. */
static const struct option *config_option(const struct arguments *arguments)
{
    const struct command *command = arguments->command;

    for (size_t i = 0; i < command->options->count; i++) {
        const struct option *option = &command->options->rows[i];

        if (option_is_in(option, command->scope) && option->flags & OPTION_CONFIG_FILE)
            return option;
    }
    return NULL;
}

/* Finds the program's own config file, if it exists. A relative $XDG_CONFIG_HOME counts as
 * unset. */
static int find_config(struct arguments *arguments, const struct option *option,
                       struct spoor_error *err)
{
    const char *folder = getenv("XDG_CONFIG_HOME");
    const char *home = getenv("HOME");
    AUTO_FREE char *path = NULL;
    bool is_set = folder && *folder == '/';

    if (!is_set && !(home && *home == '/'))
        return 0;
    if (asprintf(&path, "%s%s/%s", is_set ? folder : home, is_set ? "" : "/.config",
                 arguments->program->config_file) < 0) {
        path = NULL;
        return error_set(err, ENOMEM, "out of memory");
    }
    if (access(path, F_OK) < 0)
        return 0;
    return arguments_apply(arguments, option, path, err);
}

int arguments_complete(struct arguments *arguments, struct spoor_error *err)
{
    const struct program *program = arguments->program;
    const struct option *option = config_option(arguments);
    char **path = option ? option_member(arguments->target, option) : NULL;
    int r = program->environment_prefix ? read_variables(arguments, err) : 0;

    arguments->is_restricted = arguments->command->ignores_variables &&
                               !(option && *source_of(arguments, option) == SET_BY_OPTION);
    if (r == 0 && path && !*path && program->config_file)
        r = find_config(arguments, option, err);
    if (r < 0 || !path || !*path || (program->config_file && strcmp(*path, "none") == 0))
        return r;
    return config_read(arguments, *path, err);
}
