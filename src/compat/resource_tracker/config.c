/* SPDX-License-Identifier: Apache-2.0 */
#include "compat/resource_tracker/config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "compat/resource_tracker/options.h"
#include "front/config.h"
#include "text/buffer.h"
#include "text/utf8.h"

#define DEFAULT_PATH "resource-tracker.toml"
#define BARE "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"

enum { DEPTH_MAX = 32 }; /* of inline tables */

/* A TOML file. Tables, strings and numbers are read; values of other types are passed over. */
struct reader {
    const char *at;      /* the text ends in NUL and has no other */
    unsigned line;       /* from 1 */
    unsigned depth;      /* of the inline tables around the key */
    struct buffer key;   /* with its table: "job.name" */
    struct buffer value; /* the text of a string, or a number without underscores */
    struct arguments *arguments;
    struct spoor_error *err;
};

/* ---- settings --------------------------------------------------------------- */

/* The row of the table with that key, or -1. */
static ssize_t find_row(const struct option_table *table, const char *key)
{
    for (size_t i = 0; i < table->count; i++) {
        if (table->rows[i].key && strcmp(table->rows[i].key, key) == 0)
            return (ssize_t)i;
    }
    return -1;
}

/* Applies the value that was read. `first`: the first character of the value in the file. */
static int apply(struct reader *reader, char first)
{
    struct arguments *arguments = reader->arguments;
    const struct option_table *table = arguments->command->options;
    bool is_text, is_string = first == '"' || first == '\'';
    const char *key = reader->key.text;
    enum setting_source *source;
    ssize_t row;
    int r;

    if (buffer_error(&reader->key) < 0 || buffer_error(&reader->value) < 0)
        return error_set(reader->err, ENOMEM, "out of memory");
    row = find_row(table, key);
    if (row < 0)
        return 0;
    source = &arguments->sources[row];
    is_text = table->rows[row].apply == option_any_text;
    if (*source == SET_BY_FILE)
        return error_set(reader->err, EINVAL, "%s is set twice", key);
    if (is_text ? !is_string : !strchr("+-0123456789", first))
        return error_set(reader->err, EINVAL, "%s: expected a %s", key,
                         is_text ? "string" : "number");
    if (*source != SET_BY_NOTHING)
        return 0;
    buffer_add(&reader->value, "", 0); /* an empty text is a text */
    r = arguments_apply(arguments, &table->rows[row], reader->value.text, reader->err);
    *source = SET_BY_FILE;
    return r < 0 ? error_prefix(reader->err, r, "%s", key) : 0;
}

/* ---- TOML ------------------------------------------------------------------- */

static int refuse(const struct reader *reader, const char *message)
{
    return error_set(reader->err, EINVAL, "%s", message);
}

static void skip_blanks(struct reader *reader)
{
    reader->at += strspn(reader->at, " \t\r");
    if (*reader->at == '#')
        reader->at += strcspn(reader->at, "\n");
}

static void skip_lines(struct reader *reader)
{
    for (skip_blanks(reader); *reader->at == '\n'; skip_blanks(reader)) {
        reader->at++;
        reader->line++;
    }
}

/* Behind the backslash: an escape, or the end of a line, which is not part of the string. */
static int read_escape(struct reader *reader)
{
    static const char letters[] = "btnfr\"\\", meanings[] = "\b\t\n\f\r\"\\";
    char letter = *reader->at, hex[9] = "", bytes[4];
    size_t digits = letter == 'u' ? 4 : 8;
    const char *found = letter ? strchr(letters, letter) : NULL;
    int length;

    if (letter && strchr(" \t\r\n", letter)) {
        skip_lines(reader);
        return 0;
    }
    reader->at += letter != '\0';
    if (found) {
        buffer_add(&reader->value, &meanings[found - letters], 1);
        return 0;
    }
    if ((letter != 'u' && letter != 'U') ||
        strspn(reader->at, "0123456789abcdefABCDEF") < digits)
        return refuse(reader, "invalid escape in a string");
    memcpy(hex, reader->at, digits);
    reader->at += digits;
    length = utf8_put((uint32_t)strtoul(hex, NULL, 16), bytes);
    if (length < 0 || bytes[0] == '\0')
        return refuse(reader, "invalid character in an escape");
    buffer_add(&reader->value, bytes, (size_t)length);
    return 0;
}

/* A string in one or three quotes. A line break behind three quotes is not part of it. */
static int read_string(struct reader *reader)
{
    char quote = *reader->at;
    size_t length = reader->at[1] == quote && reader->at[2] == quote ? 3 : 1;
    const char quotes[] = { quote, length == 3 ? quote : '\0', quote, '\0' };

    reader->at += length;
    reader->line += length == 3 && *reader->at == '\n';
    reader->at += length == 3 && *reader->at == '\n';
    while (strncmp(reader->at, quotes, length) != 0 ||
           (length == 3 && reader->at[length] == quote)) {
        char c = *reader->at;
        int r = 0;

        if (c == '\0' || (c == '\n' && length == 1))
            return error_set(reader->err, EINVAL, "missing %s at the end of a string", quotes);
        if (((unsigned char)c < ' ' && !strchr("\t\r\n", c)) || c == 0x7f)
            return refuse(reader, "control character in a string");
        reader->line += c == '\n';
        reader->at++;
        if (c == '\\' && quote == '"')
            r = read_escape(reader);
        else
            buffer_add(&reader->value, &c, 1);
        if (r < 0)
            return r;
    }
    reader->at += length;
    return 0;
}

/* Adds a key of one or more parts to that of the table. A part in quotes keeps them: "a.b" is not a.b. */
static int read_key(struct reader *reader)
{
    do {
        const char *start;
        int r = 0;

        reader->at += *reader->at == '.';
        if (reader->key.length > 0)
            buffer_add_text(&reader->key, ".");
        skip_blanks(reader);
        start = reader->at;
        buffer_clear(&reader->value);
        if (*start == '"' || *start == '\'')
            r = read_string(reader);
        else
            reader->at += strspn(start, BARE);
        if (r < 0 || reader->at == start)
            return r < 0 ? r : refuse(reader, "expected a key");
        buffer_add(&reader->key, start, (size_t)(reader->at - start));
        skip_blanks(reader);
    } while (*reader->at == '.');
    return 0;
}

/* An array, whatever is in it. */
static int skip_array(struct reader *reader)
{
    size_t depth = 0;

    do {
        char c = *reader->at;
        bool is_string = c == '"' || c == '\'';
        int r = is_string ? read_string(reader) : 0;

        if (r < 0 || c == '\0')
            return r < 0 ? r : refuse(reader, "missing ']' at the end of an array");
        reader->at += !is_string;
        depth += c == '[';
        depth -= c == ']';
        if (depth > 0)
            skip_lines(reader);
    } while (depth > 0);
    return 0;
}

/* A number, true, false or a date. */
static int read_word(struct reader *reader)
{
    size_t length = strcspn(reader->at, ",}#\r\n");

    if (length == 0)
        return refuse(reader, "expected a value");
    while (strchr(" \t", reader->at[length - 1]))
        length--;
    for (const char *end = reader->at + length; reader->at < end; reader->at++)
        buffer_add(&reader->value, reader->at, *reader->at != '_');
    return 0;
}

static int read_pair(struct reader *reader);

/* { key = value, ... } */
static int read_inline_table(struct reader *reader)
{
    int r = 0;

    if (reader->depth++ == DEPTH_MAX)
        return refuse(reader, "tables are nested too deeply");
    do {
        reader->at++; /* '{' or ',' */
        skip_blanks(reader);
        if (*reader->at != '}')
            r = read_pair(reader);
        skip_blanks(reader);
    } while (r == 0 && *reader->at == ',');
    if (r < 0 || *reader->at != '}')
        return r < 0 ? r : refuse(reader, "expected ',' or '}' in an inline table");
    reader->at++;
    reader->depth--;
    return 0;
}

static int read_value(struct reader *reader)
{
    char first = *reader->at;
    int r;

    buffer_clear(&reader->value);
    if (first == '{')
        return read_inline_table(reader);
    if (first == '"' || first == '\'')
        r = read_string(reader);
    else
        r = first == '[' ? skip_array(reader) : read_word(reader);
    return r < 0 ? r : apply(reader, first);
}

static void cut_key(struct reader *reader, size_t length)
{
    reader->key.length = length;
    if (reader->key.text)
        reader->key.text[length] = '\0';
}

static int read_pair(struct reader *reader)
{
    size_t table_length = reader->key.length;
    int r = read_key(reader);

    if (r < 0 || *reader->at != '=')
        return r < 0 ? r : refuse(reader, "expected '=' after a key");
    reader->at++;
    skip_blanks(reader);
    r = read_value(reader);
    cut_key(reader, table_length);
    return r;
}

/* [table], or [[table]]: one of several with the same keys. */
static int read_header(struct reader *reader)
{
    const char *closing = reader->at[1] == '[' ? "]]" : "]";
    int r;

    reader->at += strlen(closing);
    cut_key(reader, 0);
    r = read_key(reader);
    if (r < 0 || strncmp(reader->at, closing, strlen(closing)) != 0)
        return r < 0 ? r : refuse(reader, "expected ']' after the name of a table");
    reader->at += strlen(closing);
    return 0;
}

static int read_text(struct arguments *arguments, const char *path, const char *text,
                     struct spoor_error *err)
{
    struct reader reader = { .at = text, .line = 1, .arguments = arguments, .err = err };
    int r = 0;

    skip_lines(&reader);
    while (r == 0 && *reader.at) {
        r = *reader.at == '[' ? read_header(&reader) : read_pair(&reader);
        skip_blanks(&reader);
        if (r == 0 && *reader.at && *reader.at != '\n')
            r = refuse(&reader, "unexpected text after a value");
        if (r == 0)
            skip_lines(&reader);
    }
    if (r < 0)
        r = error_prefix(err, r, "%s:%u", path, reader.line);
    buffer_done(&reader.key);
    buffer_done(&reader.value);
    return r;
}

/* ---- the file --------------------------------------------------------------- */

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
    if (strlen(text.text) < text.length)
        return error_set(err, EINVAL, "config file '%s' is not text", path);
    r = read_text(&trial, path, text.text, err);
    return r < 0 ? r : read_text(arguments, path, text.text, err);
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
