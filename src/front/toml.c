/* SPDX-License-Identifier: Apache-2.0 */
#include "front/toml.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/error.h"
#include "text/buffer.h"
#include "text/utf8.h"

enum { DEPTH_MAX = 32 }; /* of arrays and inline tables */

struct reader {
    const char *at, *end;
    unsigned line;        /* from 1 */
    unsigned depth;       /* of the arrays and inline tables around the value; 0: none */
    unsigned array_depth; /* of the arrays alone: what is in one is not reported */
    struct buffer key;    /* of the value, with its table */
    struct buffer value;  /* its text */
    toml_found *found;
    void *data;
    struct spoor_error *err;
};

/* ---- characters ----------------------------------------------------------- */

/* '\0' at the end: it is not a character of a TOML file. */
static char peek(const struct reader *reader)
{
    return reader->at < reader->end ? *reader->at : '\0';
}

static bool starts_with(const struct reader *reader, const char *text)
{
    size_t length = strlen(text);

    return (size_t)(reader->end - reader->at) >= length &&
           memcmp(reader->at, text, length) == 0;
}

static bool is_at_newline(const struct reader *reader)
{
    return peek(reader) == '\n' || starts_with(reader, "\r\n");
}

/* Tabs are allowed, other control characters are not. */
static bool is_control(char c)
{
    return ((unsigned char)c < ' ' && c != '\t') || c == 0x7f;
}

static bool is_bare(char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
           c == '_' || c == '-';
}

static void skip_blanks(struct reader *reader)
{
    while (peek(reader) == ' ' || peek(reader) == '\t')
        reader->at++;
}

static int skip_comment(struct reader *reader)
{
    if (peek(reader) != '#')
        return 0;
    while (reader->at < reader->end && !is_at_newline(reader)) {
        if (is_control(*reader->at++))
            return error_set(reader->err, EINVAL, "control character in a comment");
    }
    return 0;
}

static void skip_newline(struct reader *reader)
{
    reader->at += *reader->at == '\n' ? 1 : 2;
    reader->line++;
}

/* Blanks, comments and line breaks. */
static int skip_space(struct reader *reader)
{
    for (;;) {
        int r;

        skip_blanks(reader);
        r = skip_comment(reader);
        if (r < 0 || !is_at_newline(reader))
            return r;
        skip_newline(reader);
    }
}

/* ---- strings and keys ----------------------------------------------------- */

/* \uXXXX or \UXXXXXXXX, behind the letter. A NUL would end the text. */
static int read_code_point(struct reader *reader, size_t digits, struct buffer *out)
{
    uint32_t code = 0;
    char bytes[4];
    int length;

    for (; digits > 0; digits--) {
        static const char hex[] = "0123456789abcdef";
        char c = peek(reader);
        const char *found = c ? strchr(hex, c >= 'A' && c <= 'F' ? c + ('a' - 'A') : c) : NULL;

        if (!found)
            return error_set(reader->err, EINVAL, "invalid escape in a string");
        code = code << 4 | (uint32_t)(found - hex);
        reader->at++;
    }
    length = utf8_put(code, bytes);
    if (code == 0 || length < 0)
        return error_set(reader->err, EINVAL, "invalid character in an escape");
    buffer_add(out, bytes, (size_t)length);
    return 0;
}

/* Behind the backslash. */
static int read_escape(struct reader *reader, struct buffer *out)
{
    static const char letters[] = "btnfr\"\\";
    static const char meanings[] = "\b\t\n\f\r\"\\";
    char letter = peek(reader);
    const char *found = letter ? strchr(letters, letter) : NULL;

    if (letter == 'u' || letter == 'U') {
        reader->at++;
        return read_code_point(reader, letter == 'u' ? 4 : 8, out);
    }
    if (!found)
        return error_set(reader->err, EINVAL, "invalid escape in a string");
    buffer_add(out, &meanings[found - letters], 1);
    reader->at++;
    return 0;
}

/* Behind a backslash at the end of a line: the space up to the next text does not count. False: the
 * backslash is not at the end of the line. */
static bool skip_line_end(struct reader *reader)
{
    const char *start = reader->at;

    skip_blanks(reader);
    if (!is_at_newline(reader)) {
        reader->at = start;
        return false;
    }
    while (is_at_newline(reader)) {
        skip_newline(reader);
        skip_blanks(reader);
    }
    return true;
}

/* What opens the string here, and closes it. */
static const char *quotes_of(const struct reader *reader)
{
    if (peek(reader) == '"')
        return starts_with(reader, "\"\"\"") ? "\"\"\"" : "\"";
    return starts_with(reader, "'''") ? "'''" : "'";
}

/* What is next in a string: a character, an escape or, in three quotes, a line break. */
static int read_in_string(struct reader *reader, const char *quotes, struct buffer *out)
{
    bool is_long = quotes[1] != '\0';
    char c = peek(reader);

    if (reader->at >= reader->end || (!is_long && is_at_newline(reader)))
        return error_set(reader->err, EINVAL, "missing %s at the end of a string", quotes);
    if (is_at_newline(reader)) {
        buffer_add(out, "\n", 1);
        skip_newline(reader);
        return 0;
    }
    if (is_control(c))
        return error_set(reader->err, EINVAL, "control character in a string");
    reader->at++;
    if (c == '\\' && *quotes == '"')
        return is_long && skip_line_end(reader) ? 0 : read_escape(reader, out);
    buffer_add(out, &c, 1);
    return 0;
}

/* A string up to and including the closing quotes. In three quotes, a line break at its start does
 * not count, and it may end in one or two more quotes of the kind. */
static int read_string(struct reader *reader, const char *quotes, struct buffer *out)
{
    size_t length = strlen(quotes);
    int r = 0;

    reader->at += length;
    if (length == 3 && is_at_newline(reader))
        skip_newline(reader);
    while (r == 0 && !starts_with(reader, quotes))
        r = read_in_string(reader, quotes, out);
    if (r < 0)
        return r;
    reader->at += length;
    for (int i = 0; i < 2 && length == 3 && peek(reader) == *quotes; i++)
        buffer_add(out, reader->at++, 1);
    return 0;
}

/* One part of a key. If it has a dot in it, it stays in quotes: "a.b" is not a.b. */
static int read_key_part(struct reader *reader)
{
    struct buffer *part = &reader->value; /* which is read later */
    const char *start = reader->at;
    bool is_quoted = false;
    int r = 0;

    buffer_clear(part);
    if (peek(reader) == '"' || peek(reader) == '\'')
        r = read_string(reader, peek(reader) == '"' ? "\"" : "'", part);
    else
        while (is_bare(peek(reader)))
            buffer_add(part, reader->at++, 1);
    if (r < 0)
        return r;
    if (reader->at == start)
        return error_set(reader->err, EINVAL, "expected a key");
    is_quoted = part->length > 0 && strchr(part->text, '.');
    buffer_add(&reader->key, "\"", is_quoted);
    buffer_add(&reader->key, part->text, part->length);
    buffer_add(&reader->key, "\"", is_quoted);
    return 0;
}

/* Adds a key of one or more parts to that of the table. */
static int read_key(struct reader *reader)
{
    for (;;) {
        int r;

        if (reader->key.length > 0)
            buffer_add(&reader->key, ".", 1);
        skip_blanks(reader);
        r = read_key_part(reader);
        if (r < 0)
            return r;
        skip_blanks(reader);
        if (peek(reader) != '.')
            return 0;
        reader->at++;
    }
}

/* ---- values --------------------------------------------------------------- */

static int report(struct reader *reader, enum toml_type type)
{
    struct toml_value value = { reader->key.text, type,
                                reader->value.length > 0 ? reader->value.text : "" };

    if (reader->array_depth > 0)
        return 0;
    if (buffer_error(&reader->key) < 0 || buffer_error(&reader->value) < 0)
        return error_set(reader->err, ENOMEM, "out of memory");
    return reader->found(&value, reader->data, reader->err);
}

/* Copies digits without the underscores between them. Returns how many. */
static size_t copy_digits(struct reader *reader)
{
    size_t count = 0;

    for (; (peek(reader) >= '0' && peek(reader) <= '9') || (peek(reader) == '_' && count > 0);
         reader->at++) {
        if (*reader->at == '_')
            continue;
        buffer_add(&reader->value, reader->at, 1);
        count++;
    }
    return count;
}

/* The next character, if it is one of these. */
static bool copy_one_of(struct reader *reader, const char *characters)
{
    if (peek(reader) == '\0' || !strchr(characters, peek(reader)))
        return false;
    buffer_add(&reader->value, reader->at++, 1);
    return true;
}

/* [sign] digits [. digits] [e [sign] digits]. False: it is not a number. */
static bool read_number(struct reader *reader)
{
    (void)copy_one_of(reader, "+-");
    if (copy_digits(reader) == 0)
        return false;
    if (copy_one_of(reader, ".") && copy_digits(reader) == 0)
        return false;
    if (copy_one_of(reader, "eE")) {
        (void)copy_one_of(reader, "+-");
        if (copy_digits(reader) == 0)
            return false;
    }
    return !is_bare(peek(reader)) && peek(reader) != ':' && peek(reader) != '.';
}

static int read_boolean(struct reader *reader, const char *word)
{
    buffer_add_text(&reader->value, word);
    reader->at += strlen(word);
    return report(reader, TOML_BOOLEAN);
}

/* What a date or a time may consist of. */
static void skip_date(struct reader *reader)
{
    while (is_bare(peek(reader)) || (peek(reader) && strchr(":.+", peek(reader))))
        reader->at++;
}

static int read_word(struct reader *reader)
{
    const char *start = reader->at;

    if (starts_with(reader, "true"))
        return read_boolean(reader, "true");
    if (starts_with(reader, "false"))
        return read_boolean(reader, "false");
    if (read_number(reader))
        return report(reader, TOML_NUMBER);
    buffer_clear(&reader->value);
    if (starts_with(reader, "inf") ||
        starts_with(reader, "nan")) { /* behind the sign, if any */
        reader->at += strlen("inf");
        return report(reader, TOML_OTHER);
    }
    if (start == reader->end || *start < '0' || *start > '9') /* a date begins with a digit */
        return error_set(reader->err, EINVAL, "expected a string, a number, true or false");
    skip_date(reader);
    if (peek(reader) == ' ' && reader->end - reader->at > 1 && reader->at[1] >= '0' &&
        reader->at[1] <= '9' && reader->at - start == (ptrdiff_t)strlen("2026-11-16")) {
        reader->at++;
        skip_date(reader); /* the time of that day */
    }
    return report(reader, TOML_OTHER);
}

static int read_value(struct reader *reader);

static int read_array(struct reader *reader)
{
    int r;

    reader->array_depth++;
    do {
        reader->at++; /* '[' or ',' */
        r = skip_space(reader);
        if (r == 0 && peek(reader) != ']')
            r = read_value(reader);
        if (r == 0)
            r = skip_space(reader);
    } while (r == 0 && peek(reader) == ',');
    reader->array_depth--;
    if (r == 0 && peek(reader) != ']')
        return error_set(reader->err, EINVAL, "expected ',' or ']' in an array");
    return r;
}

static void cut_key(struct reader *reader, size_t length)
{
    if (length >= reader->key.length)
        return;
    reader->key.length = length;
    reader->key.text[length] = '\0';
}

static int read_pair(struct reader *reader)
{
    size_t table_length = reader->key.length;
    int r = read_key(reader);

    if (r == 0 && peek(reader) != '=')
        r = error_set(reader->err, EINVAL, "expected '=' after a key");
    if (r < 0)
        return r;
    reader->at++;
    skip_blanks(reader);
    r = read_value(reader);
    cut_key(reader, table_length);
    return r;
}

/* { key = value, ... }: its keys are reported as those of a table. */
static int read_inline_table(struct reader *reader)
{
    int r;

    do {
        reader->at++; /* '{' or ',' */
        skip_blanks(reader);
        if (peek(reader) == '}')
            return 0;
        r = read_pair(reader);
        skip_blanks(reader);
    } while (r == 0 && peek(reader) == ',');
    if (r == 0 && peek(reader) != '}')
        return error_set(reader->err, EINVAL, "expected ',' or '}' in an inline table");
    return r;
}

/* An array or an inline table, up to and including its closing bracket. */
static int read_nested(struct reader *reader)
{
    int r;

    if (reader->depth == DEPTH_MAX)
        return error_set(reader->err, EINVAL, "values are nested too deeply");
    reader->depth++;
    r = peek(reader) == '[' ? read_array(reader) : read_inline_table(reader);
    reader->depth--;
    if (r < 0)
        return r;
    reader->at++;
    buffer_clear(&reader->value);
    return report(reader, TOML_OTHER);
}

static int read_value(struct reader *reader)
{
    char first = peek(reader);
    int r;

    buffer_clear(&reader->value);
    if (first == '[' || first == '{')
        return read_nested(reader);
    if (first != '"' && first != '\'')
        return read_word(reader);
    r = read_string(reader, quotes_of(reader), &reader->value);
    return r < 0 ? r : report(reader, TOML_STRING);
}

/* ---- lines ---------------------------------------------------------------- */

/* [table], or [[table]]: one of several with the same keys. */
static int read_header(struct reader *reader)
{
    const char *closing = starts_with(reader, "[[") ? "]]" : "]";
    int r;

    reader->at += strlen(closing);
    cut_key(reader, 0);
    r = read_key(reader);
    if (r < 0)
        return r;
    if (!starts_with(reader, closing))
        return error_set(reader->err, EINVAL, "expected '%s' after the name of a table",
                         closing);
    reader->at += strlen(closing);
    return 0;
}

/* A header or a pair, and the rest of its line. */
static int read_line(struct reader *reader)
{
    int r = peek(reader) == '[' ? read_header(reader) : read_pair(reader);

    if (r < 0)
        return r;
    skip_blanks(reader);
    r = skip_comment(reader);
    if (r == 0 && reader->at < reader->end && !is_at_newline(reader))
        return error_set(reader->err, EINVAL, "unexpected text after a value");
    return r;
}

int toml_read(const char *path, const char *text, size_t length, toml_found *found, void *data,
              struct spoor_error *err)
{
    struct reader reader = {
        .at = text,
        .end = text + length,
        .line = 1,
        .found = found,
        .data = data,
        .err = err,
    };
    int r;

    do {
        r = skip_space(&reader);
        if (r == 0 && reader.at < reader.end)
            r = read_line(&reader);
    } while (r == 0 && reader.at < reader.end);
    if (r < 0)
        r = error_prefix(err, r, "%s:%u", path, reader.line);
    buffer_done(&reader.key);
    buffer_done(&reader.value);
    return r;
}
