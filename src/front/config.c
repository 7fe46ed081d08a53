/* SPDX-License-Identifier: Apache-2.0 */
#include "front/config.h"

#include <errno.h>
#include <jansson.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "front/nearest.h"
#include "text/buffer.h"

/* A cursor that counts lines and characters. */
struct scan {
    const char *text;
    size_t length;
    size_t at;
    unsigned line, column; /* of the character at `at`, from 1 */
};

static void step(struct scan *scan)
{
    if (scan->text[scan->at] == '\n') {
        scan->line++;
        scan->column = 0;
    }
    scan->at++;
    /* Continuation bytes of UTF-8 are not characters. */
    if (scan->at >= scan->length || ((unsigned char)scan->text[scan->at] & 0xc0) != 0x80)
        scan->column++;
}

/* From the opening quote to the character after the closing one. */
static void step_over_string(struct scan *scan)
{
    step(scan);
    while (scan->at < scan->length && scan->text[scan->at] != '"') {
        if (scan->text[scan->at] == '\\')
            step(scan);
        step(scan);
    }
    step(scan);
}

/* Where key number `index` (from 0) of the outermost object starts. Jansson keeps no
 * positions, so the text, which is valid JSON, is searched again: at the outermost level a
 * string that follows '{' or ',' is a key. */
static void find_key(const char *text, size_t length, size_t index, unsigned *ret_line,
                     unsigned *ret_column)
{
    struct scan scan = { text, length, 0, 1, 1 };
    bool is_key = false;
    int depth = 0;

    while (scan.at < length) {
        char c = text[scan.at];

        if (c == '"' && is_key && depth == 1 && index-- == 0)
            break;
        if (c == '"') {
            step_over_string(&scan);
            continue;
        }
        depth += (c == '{' || c == '[') - (c == '}' || c == ']');
        is_key = c == '{' || c == ',' || (is_key && c != ':');
        step(&scan);
    }
    *ret_line = scan.line;
    *ret_column = scan.column;
}

static const char *key_of(const struct option *option)
{
    return option->key ? option->key : option->name;
}

/* ["a", "b"] as "a,b"; to be freed. NULL: it is not a list of strings. */
static char *join(json_t *list)
{
    AUTO_FREE char *text = calloc(1, CONFIG_MAX_BYTES); /* the whole file fits */
    size_t used = 0;
    json_t *element;
    size_t i;

    json_array_foreach(list, i, element)
    {
        if (!text || !json_is_string(element))
            return NULL;
        if (i > 0)
            text[used++] = ',';
        memcpy(text + used, json_string_value(element), json_string_length(element));
        used += json_string_length(element);
    }
    return take_ptr(text);
}

/* What one would write on the command line; to be freed. NULL: the value is of a wrong type. */
static char *text_of(const struct program *program, const struct option *option, json_t *value)
{
    bool takes_text = option->value || program->flags_take_values;
    bool takes_number =
        option->value && !(option->flags & (OPTION_FILE_STRING | OPTION_FILE_LIST));

    if (json_is_string(value) && takes_text)
        return strdup(json_string_value(value));
    if (json_is_number(value) && takes_number)
        return json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(15));
    if (json_is_boolean(value) && !option->value)
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

/* { "KEY": "VALUE" } as KEY=VALUE. */
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

/* The option of the command with that key, or else one of another command. */
static const struct option *find_option(const struct command *command, const char *key)
{
    const struct option *found = NULL;

    for (size_t i = 0; i < command->options->count; i++) {
        const struct option *option = &command->options->rows[i];

        if (strcmp(key_of(option), key) != 0)
            continue;
        if (option->flags & command->scope)
            return option;
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
    enum setting_source *source;
    int r;

    if (!option)
        return unknown_key(table, key, err);
    if (option->flags & OPTION_NO_FILE)
        return error_set(err, EINVAL, "\"%s\" cannot be set in a config file", key);
    source = &arguments->sources[option - table->rows];
    if (!(option->flags & arguments->command->scope) || *source != SET_BY_NOTHING ||
        (json_is_null(value) && arguments->program->ignores_null))
        return 0;
    r = apply_value(arguments, option, value, err);
    *source = SET_BY_FILE;
    return r < 0 ? error_prefix(err, r, "%s", key) : 0;
}

int config_read_text(struct arguments *arguments, const char *path, const char *text,
                     size_t length, struct spoor_error *err)
{
    json_auto_t *root = NULL;
    json_error_t broken;
    size_t index = 0;
    const char *key;
    json_t *value;

    root = json_loadb(text, length, JSON_REJECT_DUPLICATES, &broken);
    if (!root)
        return error_set(err, EINVAL, "%s:%d:%d: %s", path, broken.line, broken.column,
                         broken.text);
    if (!json_is_object(root))
        return error_set(err, EINVAL, "%s:1:1: expected an object: { \"KEY\": VALUE, ... }",
                         path);
    json_object_foreach(root, key, value)
    {
        int r = apply_key(arguments, key, value, err);

        if (r < 0) {
            unsigned line, column;

            find_key(text, length, index, &line, &column);
            return error_prefix(err, r, "%s:%u:%u", path, line, column);
        }
        index++;
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
