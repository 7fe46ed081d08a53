/* SPDX-License-Identifier: Apache-2.0 */
#include "history/index.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/parse.h"
#include "text/number.h"

#define SYNTAX                                                                              \
    "use KEY=VALUE, KEY!=VALUE or KEY~TEXT with name, command, host, user, job, id, exit, " \
    "since, until or tag.KEY, or last, previous, last=N"

/* How a value is compared. */
enum kind { TEXT, NUMBER, ID, SINCE, UNTIL };

static const struct {
    const char *key;
    enum kind kind;
} keys[] = {
    { "name", TEXT }, { "command", TEXT }, { "host", TEXT },
    { "user", TEXT }, { "job", TEXT },     { "exit", NUMBER },
    { "id", ID },     { "since", SINCE },  { "until", UNTIL },
};

static const char tag_prefix[] = "tag.";

static int refuse(const char *key, const char *operator, const char * value,
                  struct spoor_error *err)
{
    return error_set(err, EINVAL, "invalid filter '%.60s%s%.60s': " SYNTAX, key, operator,
                     value);
}

/* Adds a condition and binds its value. */
static int add(struct history_filter *filter, const char *value, struct spoor_error *err)
{
    if (filter->value_count == FILTER_VALUES_MAX)
        return error_set(err, EINVAL, "a filter has at most %d conditions", FILTER_VALUES_MAX);
    filter->values[filter->value_count] = strdup(value);
    if (!filter->values[filter->value_count] || buffer_error(&filter->where) < 0)
        return error_set(err, ENOMEM, "out of memory");
    filter->value_count++;
    return 0;
}

/* Converts "30d" (ago), a date, or a date and time to seconds since 1970. */
static int parse_moment(const char *text, double now, double *ret)
{
    char date[64];
    uint64_t ns;

    if (duration_parse(text, &ns) == 0) {
        *ret = now - (double)ns / (double)NS_PER_SECOND;
        return 0;
    }
    (void)snprintf(date, sizeof(date), "%.40s%s", text, strchr(text, 'T') ? "" : "T00:00:00Z");
    return clock_parse(date, ret);
}

static int add_moment(struct history_filter *filter, const char *operator, const char * text,
                      double now, struct spoor_error *err)
{
    double moment;

    if (parse_moment(text, now, &moment) < 0)
        return error_set(
            err, EINVAL,
            "invalid time '%.60s': expected a time ago, such as 12h or 30d, or a date "
            "such as 2026-11-01",
            text);
    buffer_format(&filter->where, " AND started %s ?", operator);
    return add(filter, decimal_number(moment).text, err);
}

static int add_tag(struct history_filter *filter, const char *key, const char *operator,
                   const char * value, struct spoor_error *err)
{
    int r;

    buffer_format(
        &filter->where,
        " AND %sEXISTS (SELECT 1 FROM tag WHERE tag.run = run.number AND tag.key = ? AND "
        "%s)",
        *operator== '!' ? "NOT " : "",
        *operator== '~' ? "instr(tag.value, ?) > 0" : "tag.value = ?");
    r = add(filter, key, err);
    return r < 0 ? r : add(filter, value, err);
}

static int add_number(struct history_filter *filter, const char *key, const char *operator,
                      const char * value, struct spoor_error *err)
{
    uint64_t number;

    if (*operator== '~' || parse_whole_u64(value, &number) < 0)
        return refuse(key, operator, value, err);
    buffer_format(&filter->where, " AND %s %s CAST(? AS INTEGER)", key, operator);
    return add(filter, value, err);
}

static int add_text(struct history_filter *filter, const char *key, const char *operator,
                    const char * value, struct spoor_error *err)
{
    if (*operator== '~')
        buffer_format(&filter->where, " AND instr(%s, ?) > 0", key);
    else
        buffer_format(&filter->where, " AND %s %s ?", key, *operator== '=' ? "=" : "IS NOT");
    return add(filter, value, err);
}

int history_filter_add_one(struct history_filter *filter, const char *key, const char *operator,
                           const char * value, double now, struct spoor_error *err)
{
    bool is_equal = *operator== '=';
    int r;

    if (strncmp(key, tag_prefix, strlen(tag_prefix)) == 0 && key[strlen(tag_prefix)])
        return add_tag(filter, key + strlen(tag_prefix), operator, value, err);
    for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
        if (strcmp(keys[i].key, key) != 0)
            continue;
        switch (keys[i].kind) {
        case TEXT:
            return add_text(filter, key, operator, value, err);
        case NUMBER:
            return add_number(filter, key, operator, value, err);
        case ID: /* a range of IDs, which uses the index */
            if (!is_equal || value[strspn(value, "0123456789abcdef")] || !*value)
                break;
            buffer_add_text(&filter->where, " AND id >= ? AND id < ? || 'g'");
            r = add(filter, value, err);
            return r < 0 ? r : add(filter, value, err);
        case SINCE:
        case UNTIL:
            if (!is_equal)
                break;
            return add_moment(filter, keys[i].kind == SINCE ? ">=" : "<", value, now, err);
        }
    }
    return refuse(key, operator, value, err);
}

/* Adds "last", "previous" or "last=N". Returns 1 if `text` is one of these, else 0 or
 * -errno. */
static int add_word(struct history_filter *filter, const char *text, struct spoor_error *err)
{
    static const char last[] = "last=";
    uint64_t count = 1;

    if (strncmp(text, last, strlen(last)) == 0) {
        if (parse_whole_u64(text + strlen(last), &count) < 0 || count == 0 ||
            count > SIZE_MAX / 2)
            return error_set(err, EINVAL, "invalid filter '%.60s': expected a number of runs",
                             text);
    } else if (strcmp(text, "previous") == 0) {
        filter->skip = 1;
    } else if (strcmp(text, "last") != 0) {
        return 0;
    }
    filter->limit = (size_t)count;
    return 1;
}

static int add_condition(struct history_filter *filter, char *text, double now,
                         struct spoor_error *err)
{
    size_t length = strcspn(text, "=!~");
    const char *operator= text[length] == '!' ? "!=" : text[length] == '~' ? "~" : "=";
    const char *value = text + length + strlen(operator);
    int r = add_word(filter, text, err);

    if (r != 0)
        return r < 0 ? r : 0;
    if (length == 0 || strncmp(text + length, operator, strlen(operator)) != 0)
        return refuse(text, "", "", err);
    text[length] = '\0';
    return history_filter_add_one(filter, text, operator, value, now, err);
}

int history_filter_add(struct history_filter *filter, const char *text, double now,
                       struct spoor_error *err)
{
    int r = 0;

    while (r == 0) {
        CLEANUP(buffer_done) struct buffer condition = { 0 };

        buffer_add_text(&condition, "");
        for (; *text && *text != ','; text++) {
            if (*text == '\\' && text[1])
                text++;
            buffer_add(&condition, text, 1);
        }
        if (buffer_error(&condition) < 0)
            return error_set(err, ENOMEM, "out of memory");
        r = add_condition(filter, condition.text, now, err);
        if (*text++ == '\0')
            break;
    }
    return r;
}

void history_filter_done(struct history_filter *filter)
{
    for (size_t i = 0; i < filter->value_count; i++)
        free(filter->values[i]);
    buffer_done(&filter->where);
    *filter = (struct history_filter){ 0 };
}
