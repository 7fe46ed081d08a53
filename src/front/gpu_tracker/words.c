/* SPDX-License-Identifier: Apache-2.0 */
#include "front/gpu_tracker/words.h"

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

/* Copies one word to *end, with its NUL. Returns the rest of the text; NULL: an error. */
static const char *copy_word(const char *at, char **end, struct spoor_error *err)
{
    while (*at && !strchr(BLANKS, *at)) {
        if (*at == '\'' || *at == '"') {
            char quote = *at;

            at = copy_quoted(at + 1, quote, end);
            if (!at) {
                (void)error_set(err, EINVAL, "The command has an unclosed %s quote.",
                                quote == '"' ? "double" : "single");
                return NULL;
            }
        } else if (*at == '\\') {
            if (at[1] == '\0') {
                (void)error_set(err, EINVAL, "The command ends with a backslash.");
                return NULL;
            }
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

/* A backslash before the end of a line joins it to the next, between words too. */
static const char *skip_blanks(const char *at)
{
    while (*at && (strchr(BLANKS, *at) || (at[0] == '\\' && at[1] == '\n')))
        at += *at == '\\' ? 2 : 1;
    return at;
}

int words_split(const char *text, char ***ret, struct spoor_error *err)
{
    size_t length = strlen(text);
    /* Every word but the last is followed by a blank, so this many words and bytes do. */
    char **words = calloc(length / 2 + 2, sizeof(*words));
    char *end = malloc(length + 1);
    char *memory = end;
    size_t count = 0;

    if (!words || !end) {
        free(end);
        free(words);
        return error_set(err, ENOMEM, "out of memory");
    }
    for (;;) {
        text = skip_blanks(text);
        if (*text == '\0')
            break;
        words[count] = end;
        text = copy_word(text, &end, err);
        if (!text) {
            free(memory);
            free(words);
            return -EINVAL;
        }
        count++;
    }
    if (count == 0)
        free(memory);
    *ret = words;
    return 0;
}
