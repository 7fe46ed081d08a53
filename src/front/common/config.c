/* SPDX-License-Identifier: Apache-2.0 */
#include "front/common/config.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"

struct place {
    const char *path;
    const char *text;
    size_t length;
    size_t key; /* number of the key we are at */
};

static void cleanup_json(json_t **json)
{
    json_decref(*json);
}

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
    /* The later bytes of a UTF-8 sequence are no characters of their own. */
    if (scan->at >= scan->length || ((unsigned char)scan->text[scan->at] & 0xc0) != 0x80)
        scan->column++;
}

/* From the opening quote behind the closing one. */
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

/* Jansson keeps no positions, so the key is looked for in the text again. At the
 * outermost level a string that follows '{' or ',' is a key. */
void config_key_position(const char *text, size_t length, size_t index, unsigned *ret_line,
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

static int fail_at(const struct place *place, int code, struct spoor_error *err)
{
    unsigned line, column;

    config_key_position(place->text, place->length, place->key, &line, &column);
    return error_prefix(err, code, "%s:%u:%u", place->path, line, column);
}

static int apply_text(struct cli_settings *settings, const struct cli_option *option,
                      const char *text, struct spoor_error *err)
{
    return option->apply(settings, option, text, err);
}

/* A text, number or boolean becomes what one would write on the command line. */
static int apply_scalar(struct cli_settings *settings, const struct cli_option *option,
                        json_t *value, struct spoor_error *err)
{
    AUTO_FREE char *number = NULL;

    if (json_is_string(value))
        return apply_text(settings, option, json_string_value(value), err);
    if (json_is_boolean(value) && !option->value)
        return apply_text(settings, option, json_is_true(value) ? "yes" : "no", err);
    if (!json_is_number(value) || !option->value)
        return error_set(err, EINVAL,
                         option->value ? "must be a text or a number"
                                       : "must be true or false");
    number = json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(15));
    if (!number)
        return error_set(err, ENOMEM, "out of memory");
    return apply_text(settings, option, number, err);
}

/* { "KEY": "VALUE" } as KEY=VALUE. */
static int apply_object(struct cli_settings *settings, const struct cli_option *option,
                        json_t *object, struct spoor_error *err)
{
    const char *key;
    json_t *value;

    json_object_foreach(object, key, value)
    {
        AUTO_FREE char *text = NULL;
        int r;

        if (!json_is_string(value))
            return error_set(err, EINVAL, "the value of '%s' must be a text", key);
        if (asprintf(&text, "%s=%s", key, json_string_value(value)) < 0) {
            text = NULL;
            return error_set(err, ENOMEM, "out of memory");
        }
        r = apply_text(settings, option, text, err);
        if (r < 0)
            return r;
    }
    return 0;
}

static int apply_value(struct cli_settings *settings, const struct cli_option *option,
                       json_t *value, struct spoor_error *err)
{
    json_t *element;
    size_t i;

    if (!(option->flags & OPTION_REPEATABLE))
        return apply_scalar(settings, option, value, err);
    if (json_is_object(value))
        return apply_object(settings, option, value, err);
    if (!json_is_array(value))
        return apply_scalar(settings, option, value, err);
    json_array_foreach(value, i, element)
    {
        int r = apply_scalar(settings, option, element, err);

        if (r < 0)
            return r;
    }
    return 0;
}

static int unknown_key(const char *key, struct spoor_error *err)
{
    const struct cli_option *near = option_nearest(&settings_table, 0, key);

    if (near && !(near->flags & OPTION_NO_FILE))
        return error_set(err, EINVAL, "unknown key \"%s\"; did you mean \"%s\"?", key,
                         near->name);
    return error_set(err, EINVAL, "unknown key \"%s\"; keys are the long options of spoor",
                     key);
}

static int apply_key(const char *key, json_t *value, unsigned scope, uint32_t given,
                     struct cli_settings *settings, struct spoor_error *err)
{
    const struct cli_option *option = option_find(&settings_table, key, strlen(key));
    int r;

    if (!option)
        return unknown_key(key, err);
    if (option->flags & OPTION_NO_FILE)
        return error_set(err, EINVAL, "\"%s\" cannot be set in a config file", key);
    if (!(option->flags & scope) || given & (UINT32_C(1) << (option - settings_table.rows)))
        return 0;
    r = apply_value(settings, option, value, err);
    return r < 0 ? error_prefix(err, r, "%s", key) : 0;
}

int config_apply_text(const char *path, const char *text, size_t length, unsigned scope,
                      uint32_t given, struct cli_settings *settings, struct spoor_error *err)
{
    CLEANUP(cleanup_json) json_t *root = NULL;
    struct place place = { path, text, length, 0 };
    json_error_t broken;
    const char *key;
    json_t *value;

    root = json_loadb(text, length, JSON_REJECT_DUPLICATES, &broken);
    if (!root)
        return error_set(err, EINVAL, "%s:%d:%d: %s", path, broken.line, broken.column,
                         broken.text);
    if (!json_is_object(root))
        return error_set(err, EINVAL, "%s:1:1: settings are an object: {\"interval\": 0.5}",
                         path);
    json_object_foreach(root, key, value)
    {
        int r = apply_key(key, value, scope, given, settings, err);

        if (r < 0)
            return fail_at(&place, r, err);
        place.key++;
    }
    return 0;
}

int config_apply(const char *path, unsigned scope, uint32_t given,
                 struct cli_settings *settings, struct spoor_error *err)
{
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    AUTO_FREE char *text = NULL;
    size_t used = 0;

    if (fd < 0)
        return error_sys(err, errno, "config '%s'", path);
    text = malloc(CONFIG_MAX_BYTES);
    if (!text)
        return error_set(err, ENOMEM, "out of memory");
    for (;;) {
        ssize_t n = read(fd, text + used, CONFIG_MAX_BYTES - used);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return error_sys(err, errno, "config '%s'", path);
        if (n == 0)
            break;
        used += (size_t)n;
        if (used == CONFIG_MAX_BYTES)
            return error_set(err, EFBIG, "config '%s' is larger than 1 MiB", path);
    }
    return config_apply_text(path, text, used, scope, given, settings, err);
}
