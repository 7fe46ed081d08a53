/* SPDX-License-Identifier: Apache-2.0 */
#include "compat/gpu_tracker/subtrack/comparison.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"

/* The digits after the last colon of a name; NULL: no line number. */
static const char *line_number(const char *name)
{
    const char *colon = strrchr(name, ':');

    if (!colon || colon[1] == '\0' || colon[1 + strspn(colon + 1, "0123456789")] != '\0')
        return NULL;
    return colon + 1;
}

/* The character at `i` of a name whose line number was filled up with zeros. */
static char padded(const char *name, const char *line, size_t digits, size_t i)
{
    size_t before = line ? (size_t)(line - name) : strlen(name);
    size_t zeros = line ? digits - strlen(line) : 0;

    if (i < before)
        return name[i];
    if (i < before + zeros)
        return '0';
    return name[i - zeros];
}

static int compare_blocks(const void *left, const void *right, void *digits)
{
    const char *a = ((const struct block_result *)left)->name;
    const char *b = ((const struct block_result *)right)->name;
    const char *line_a = line_number(a), *line_b = line_number(b);

    for (size_t i = 0;; i++) {
        unsigned char x = (unsigned char)padded(a, line_a, *(size_t *)digits, i);
        unsigned char y = (unsigned char)padded(b, line_b, *(size_t *)digits, i);

        if (x != y)
            return x < y ? -1 : 1;
        if (x == '\0')
            return 0;
    }
}

static void sort_blocks(struct results *results)
{
    size_t digits = 0;

    for (size_t i = 0; i < results->block_count; i++) {
        const char *line = line_number(results->blocks[i].name);

        if (line && strlen(line) > digits)
            digits = strlen(line);
    }
    if (results->block_count > 0)
        qsort_r(results->blocks, results->block_count, sizeof(*results->blocks), compare_blocks,
                &digits);
}

static bool differ_by_line(const char *a, const char *b)
{
    const char *line_a = line_number(a), *line_b = line_number(b);

    return line_a && line_b && line_a - a == line_b - b &&
           memcmp(a, b, (size_t)(line_a - a)) == 0;
}

/* Where messages go. */
struct listener {
    comparison_say *say;
    void *data;
};

static void say_formatted(const struct listener *listener, bool is_error, const char *fmt, ...)
    PRINTF_LIKE(3, 4);

static void say_formatted(const struct listener *listener, bool is_error, const char *fmt, ...)
{
    AUTO_FREE char *message = NULL;
    va_list args;
    int length;

    va_start(args, fmt);
    length = vasprintf(&message, fmt, args);
    va_end(args);
    if (length < 0)
        message = NULL;
    listener->say(listener->data, is_error, message ? message : "out of memory");
}

static int match_names(const struct compared *first, const struct compared *other, size_t i,
                       const struct listener *listener)
{
    const char *name = first->results.blocks[i].name;
    const char *other_name = other->results.blocks[i].name;

    if (strcmp(name, other_name) == 0)
        return 0;
    if (differ_by_line(name, other_name)) {
        say_formatted(listener, false,
                      "Code block name \"%s\" of tracking session \"%s\" matched with code "
                      "block name \"%s\" of tracking session \"%s\" but they differ by line "
                      "number. If these code blocks were not meant to match, their comparison "
                      "will not be valid and their names must be disambiguated.",
                      name, first->name, other_name, other->name);
        return 0;
    }
    say_formatted(listener, true,
                  "Code block name \"%s\" of tracking session \"%s\" does not match code block "
                  "name \"%s\" of tracking session \"%s\"",
                  name, first->name, other_name, other->name);
    return -EINVAL;
}

static int match_sessions(const struct compared *first, const struct compared *other,
                          const struct listener *listener)
{
    size_t count = first->results.block_count;

    if (other->results.block_count != count) {
        say_formatted(listener, true,
                      "All sub-tracking results must have the same number of code blocks. The "
                      "first has %zu code blocks but tracking session \"%s\" has %zu code "
                      "blocks.",
                      count, other->name, other->results.block_count);
        return -EINVAL;
    }
    for (size_t i = 0; i < count; i++) {
        int r = match_names(first, other, i, listener);

        if (r < 0)
            return r;
    }
    return 0;
}

int comparison_match(struct compared *sessions, size_t count, comparison_say *say, void *data)
{
    const struct listener listener = { say, data };
    const struct compared *first = &sessions[0];
    int r = 0;

    for (size_t i = 0; i < count; i++) {
        sort_blocks(&sessions[i].results);
        if (strcmp(sessions[i].name, first->name) < 0)
            first = &sessions[i];
    }
    for (size_t i = 0; i < count && r == 0; i++)
        r = match_sessions(first, &sessions[i], &listener);
    return r;
}

int comparison_statistic(const char *name, enum statistic *ret, struct spoor_error *err)
{
    for (size_t i = 0; i < STATISTICS; i++) {
        if (strcmp(statistic_names[i], name) == 0) {
            *ret = (enum statistic)i;
            return 0;
        }
    }
    return error_set(err, EINVAL,
                     "Invalid summary statistic '%s'. Valid values are min max mean std.",
                     name);
}
