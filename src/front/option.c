/* SPDX-License-Identifier: Apache-2.0 */
#include "front/option.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/amount.h"
#include "base/compiler.h"
#include "base/error.h"
#include "base/parse.h"
#include "text/number.h"

/* ---- suggestions for misspelled words ----------------------------------- */

#define WORD_MAX 63

/* Keeps three rows of the table of distances between prefixes: a swap needs the last two, other
 * edits only the last. */
size_t edit_distance(const char *a, const char *b)
{
    size_t a_length = strnlen(a, WORD_MAX);
    size_t b_length = strnlen(b, WORD_MAX);
    size_t rows[3][WORD_MAX + 1] = { 0 };

    for (size_t j = 0; j <= b_length; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= a_length; i++) {
        size_t *row = rows[i % 3];
        const size_t *above = rows[(i + 2) % 3];
        const size_t *two_above = rows[(i + 1) % 3];

        row[0] = i;
        for (size_t j = 1; j <= b_length; j++) {
            size_t changed = above[j - 1] + (a[i - 1] != b[j - 1]);

            row[j] = smaller(changed, smaller(above[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = smaller(row[j], two_above[j - 2] + 1);
        }
    }
    return rows[a_length % 3][b_length];
}

void nearest_offer(struct nearest *nearest, const char *candidate)
{
    size_t length = strlen(nearest->word);
    size_t distance = edit_distance(nearest->word, candidate);

    /* A prefix of a word matches the word, however long the rest is. */
    if (length >= 2 && strncmp(candidate, nearest->word, length) == 0)
        distance = smaller(distance, 1);
    if (distance < nearest->distance) {
        nearest->best = candidate;
        nearest->distance = distance;
    }
}

const char *nearest_get(const struct nearest *nearest)
{
    size_t length = strlen(nearest->word);

    /* A word that differs in more than half its letters is not a typo. */
    return nearest->distance <= smaller(length / 2, 3) ? nearest->best : NULL;
}

/* ---- options ------------------------------------------------------------ */

void *option_member(void *target, const struct option *option)
{
    return (char *)target + option->offset;
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
    if (value && *value == '\0')
        return error_set(err, EINVAL, "the value must not be empty");
    return text_list_add(option_member(target, option), value ? value : "-", err);
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

int option_check_tag(const char *value, struct spoor_error *err)
{
    const char *equals = strchr(value, '=');

    if (!equals || equals == value)
        return error_set(err, EINVAL, "invalid tag '%s': expected KEY=VALUE", value);
    return 0;
}

int option_parse_pid(const char *text, pid_t *ret, struct spoor_error *err)
{
    uint64_t pid;

    if (parse_whole_u64(text, &pid) < 0 || pid == 0 || pid > INT32_MAX)
        return error_set(err, EINVAL, "invalid process ID '%.100s'", text);
    *ret = (pid_t)pid;
    return 0;
}

int option_find_choice(const struct option *option, const char *value, struct spoor_error *err)
{
    const char *words = strchr(option->value, '|') ? option->value : option->complete;
    const char *word = words;

    for (int i = 0;; i++) {
        size_t length = strcspn(word, "|");

        if (strlen(value) == length && memcmp(word, value, length) == 0)
            return i;
        if (word[length] == '\0')
            return error_set(err, EINVAL, "invalid value '%s': expected %s", value, words);
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

static int check_range(const struct option *option, const char *value, double number,
                       struct spoor_error *err)
{
    size_t kind = strcspn(option->expected, ":");

    if (number >= option->least && number <= option->most) /* false for NaN */
        return 0;
    return error_set(err, EINVAL, "invalid %.*s '%s': expected%s", (int)kind, option->expected,
                     value, option->expected + kind + 1);
}

int option_count(void *target, const struct option *option, const char *value,
                 struct spoor_error *err)
{
    uint64_t count;
    int r = parse_whole_u64(value, &count);

    r = check_range(option, value, r < 0 ? (double)NAN : (double)count, err);
    if (r == 0)
        *(size_t *)option_member(target, option) = (size_t)count;
    return r;
}

int option_number(void *target, const struct option *option, const char *value,
                  struct spoor_error *err)
{
    double number;
    int r = decimal_parse(value, &number);

    r = check_range(option, value, r < 0 ? (double)NAN : number, err);
    if (r == 0)
        *(double *)option_member(target, option) = number;
    return r;
}

int option_time(void *target, const struct option *option, const char *value,
                struct spoor_error *err)
{
    uint64_t ns;
    int r = duration_parse(value, &ns);

    if (r == -EBADMSG)
        return error_set(err, EINVAL,
                         "invalid time '%s': expected seconds (0.5) or a unit (500ms, 2m, 1h)",
                         value);
    if (r < 0 || (double)ns / 1e9 < option->least || (double)ns / 1e9 > option->most)
        return error_set(err, EINVAL, "'%s' is out of range: expected %s", value,
                         option->expected);
    *(uint64_t *)option_member(target, option) = ns;
    return 0;
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
