/* SPDX-License-Identifier: Apache-2.0 */
#include "compat/gpu_tracker/words.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

#define BLANKS " \t\n\v\f\r"

/* All words are in one block of memory, which starts with the first word. */
void words_free(char **words)
{
    if (words)
        free(words[0]);
    free(words);
}

/* Between double quotes a backslash is literal, except before these. */
static bool is_escape(const char *at)
{
    return at[0] == '\\' && at[1] && strchr("$`\"\\\n", at[1]);
}

/* Copies from after an opening quote. Returns what follows the closing one; NULL: none does. */
static const char *copy_quoted(const char *at, char quote, char **end)
{
    for (; *at != quote; at++) {
        if (*at == '\0')
            return NULL;
        if (quote == '"' && is_escape(at)) {
            at++;
            if (*at == '\n')
                continue;
        }
        *(*end)++ = *at;
    }
    return at + 1;
}

/* Copies one word to *end, with its NUL. Returns the rest of the text; NULL: a quote is not closed,
 * or nothing follows a backslash. */
static const char *copy_word(const char *at, char **end)
{
    while (*at && !strchr(BLANKS, *at)) {
        if (*at == '\'' || *at == '"') {
            at = copy_quoted(at + 1, *at, end);
            if (!at)
                return NULL;
        } else if (*at == '\\') {
            if (at[1] == '\0')
                return NULL;
            if (at[1] != '\n')
                *(*end)++ = at[1];
            at += 2;
        } else {
            *(*end)++ = *at++;
        }
    }
    *(*end)++ = '\0';
    return at;
}

static const char *copy_literal_word(const char *at, char **end)
{
    while (*at && !strchr(BLANKS, *at))
        *(*end)++ = *at++;
    *(*end)++ = '\0';
    return at;
}

/* A backslash before the end of a line joins it to the next, between words too. */
static const char *skip_blanks(const char *at)
{
    while (*at && (strchr(BLANKS, *at) || (at[0] == '\\' && at[1] == '\n')))
        at += *at == '\\' ? 2 : 1;
    return at;
}

/* Copies all words to `memory` and ends them with NULL. False: as copy_word(). */
static bool copy_words(const char *text, const char *(*copy)(const char *at, char **end),
                       char *memory, char **words)
{
    for (text = skip_blanks(text); text && *text; text = text ? skip_blanks(text) : NULL) {
        *words++ = memory;
        text = copy(text, &memory);
    }
    *words = NULL;
    return text != NULL;
}

int words_split(const char *text, char ***ret, struct spoor_error *err)
{
    size_t length = strlen(text);
    /* Every word but the last is followed by a blank, so this many words and bytes do. */
    char **words = calloc(length / 2 + 2, sizeof(*words));
    char *memory = malloc(length + 1);

    if (!words || !memory) {
        free(memory);
        free(words);
        return error_set(err, ENOMEM, "out of memory");
    }
    if (!copy_words(text, copy_word, memory, words))
        (void)copy_words(text, copy_literal_word, memory, words); /* cannot fail */
    if (!words[0])
        free(memory);
    *ret = words;
    return 0;
}
