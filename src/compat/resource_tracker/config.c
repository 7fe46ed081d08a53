/* SPDX-License-Identifier: Apache-2.0 */
#include "compat/resource_tracker/config.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "compat/resource_tracker/options.h"
#include "front/config.h"
#include "front/toml.h"
#include "text/buffer.h"

#define DEFAULT_PATH "resource-tracker.toml"

/* The row of the table with that key, or -1. */
static ssize_t find_row(const struct option_table *table, const char *key)
{
    for (size_t i = 0; i < table->count; i++) {
        if (table->rows[i].key && strcmp(table->rows[i].key, key) == 0)
            return (ssize_t)i;
    }
    return -1;
}

static int apply(const struct toml_value *value, void *data, struct spoor_error *err)
{
    struct arguments *arguments = data;
    const struct option_table *table = arguments->command->options;
    ssize_t row = find_row(table, value->key);
    bool is_text;
    int r;

    if (row < 0)
        return 0;
    if (arguments->sources[row] == SET_BY_FILE)
        return error_set(err, EINVAL, "%s is set twice", value->key);
    is_text = table->rows[row].apply == option_any_text;
    if (value->type != (is_text ? TOML_STRING : TOML_NUMBER))
        return error_set(err, EINVAL, "%s: expected a %s", value->key,
                         is_text ? "string" : "number");
    if (arguments->sources[row] != SET_BY_NOTHING)
        return 0;
    r = arguments_apply(arguments, &table->rows[row], value->text, err);
    if (r < 0)
        return error_prefix(err, r, "%s", value->key);
    arguments->sources[row] = SET_BY_FILE;
    return 0;
}

/* All of the file, or nothing if any of it is wrong: it is applied to other settings first. */
static int read_file(struct arguments *arguments, const char *path, struct spoor_error *err)
{
    CLEANUP(tracker_settings_done) struct tracker_settings trial_settings;
    CLEANUP(buffer_done) struct buffer text = { 0 };
    struct arguments trial = *arguments;
    int r = buffer_read_file(&text, path, CONFIG_MAX_BYTES);

    tracker_settings_init(&trial_settings);
    trial.target = &trial_settings;
    if (r < 0)
        return error_sys(err, r, "config file '%s'", path);
    r = toml_read(path, text.text, text.length, apply, &trial, err);
    if (r < 0)
        return r;
    return toml_read(path, text.text, text.length, apply, arguments, err);
}

/* Nobody asked for it: a pipe of that name, say in /tmp, must not keep us waiting. */
static int read_default(struct arguments *arguments, struct spoor_error *err)
{
    struct stat status;

    if (stat(DEFAULT_PATH, &status) == 0 && !S_ISREG(status.st_mode))
        return error_set(err, EINVAL, "config file '%s': not a regular file", DEFAULT_PATH);
    return read_file(arguments, DEFAULT_PATH, err);
}

int tracker_config_read(struct arguments *arguments, const char *path, struct spoor_error *err)
{
    int r = path ? read_file(arguments, path, err) : read_default(arguments, err);

    if (r == 0 || path)
        return r;
    if (r != -ENOENT)
        program_warn(arguments->program, "%s; ignored", err->message);
    return 0;
}
