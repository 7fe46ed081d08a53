/* SPDX-License-Identifier: Apache-2.0 */
/*
 * option.h - options as rows of a table.
 *
 * One row is one option. The command line, the environment variables, the config
 * file, --help, the manual page and the shell completion are all driven by the same
 * rows, so they cannot disagree.
 *
 * A row names the function that stores its value and the member of the target that
 * it is stored in:
 *
 *     { 'o', "output", "FILE", "write the report to FILE", RUN,
 *       OPTION_TEXT(struct settings, output_path), .complete = COMPLETE_FILES },
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "spoor/spoor.h"
#include "text/text_list.h"

/* ---- options ------------------------------------------------------------ */

struct option;

/* Stores one value in the target; texts are copied. `value` is NULL for a flag without a value.
 * Returns 0, or -errno with a message without the name of the option, which the caller adds. */
typedef int option_apply(void *target, const struct option *option, const char *value,
                         struct spoor_error *err);

enum option_action { ACTION_WORK, ACTION_HELP, ACTION_VERSION };

/* Bits of option.flags. The lower 16 belong to the program: the commands that have the
 * option. */
enum {
    OPTION_REPEATABLE = 1u << 16, /* each use adds a value; otherwise the last one counts */
    OPTION_REQUIRED = 1u << 17,
    OPTION_NO_VARIABLE = 1u << 18, /* cannot be set by an environment variable */
    OPTION_NO_FILE = 1u << 19,     /* cannot be set in a config file */
    OPTION_FILE_ONLY = 1u << 20,   /* a key of the config file, not an option */
    OPTION_CONFIG_FILE = 1u << 21, /* names the config file */
    /* Types in a config file; without them, a string or a number. */
    OPTION_FILE_STRING = 1u << 22,
    OPTION_FILE_LIST = 1u << 23, /* a string, or a list of strings to join by commas */
    OPTION_OPTIONAL = 1u << 24,  /* --name without "=VALUE" is a flag: its value is NULL */
    OPTION_COMMON = 1u << 26,    /* also read by commands that ignore other variables */
    OPTION_HIDDEN = 1u << 25,    /* an old name: accepted, but not listed or completed */
};

struct option {
    char letter;       /* '\0': none */
    const char *name;  /* without the dashes */
    const char *value; /* name of the value in help; "a|b|c" lists all values; NULL: a flag */
    const char *help;  /* a phrase without a full stop */
    unsigned flags;
    const char *group; /* heading in help and manual; NULL: Options */
    enum option_action
        action; /* ends the parsing instead of applying a value, unless ACTION_WORK */
    option_apply *apply;
    size_t offset; /* offset of the member in the target, for the functions below */
    /* Rejects an invalid value before it is stored. NULL: any value is accepted. */
    int (*check)(const char *value, struct spoor_error *err);
    const char *key;      /* key in a config file; NULL: the name */
    const char *complete; /* see below; NULL: the words of `value`, if it lists them */
    double least, most;   /* bounds of a number, or of a time in seconds */
    const char
        *expected; /* the bounds in messages: "number: 1 to 10"; for a time, only "1 to 10" */
};

/* Completions of a value in a shell: one of these, or words separated by spaces or bars. */
#define COMPLETE_FILES "<files>"
#define COMPLETE_COMMANDS "<commands>"
#define COMPLETE_PIDS "<processes>"

enum { OPTIONS_MAX = 128 }; /* maximum number of rows in a table */

struct option_table {
    const struct option *rows;
    size_t count;
};

/* Functions for rows. The macros below check the type of the member. */
option_apply option_text;     /* char *: must not be empty */
option_apply option_any_text; /* char *: may be empty */
option_apply option_list;     /* struct text_list: adds a non-empty text; NULL adds "-" */
option_apply option_flag;     /* bool: NULL, yes, true, on, 1; or no, false, off, 0 */
option_apply option_choice;   /* an enum: the index of the word in option->value */
option_apply option_count;    /* size_t: a whole number from `least` to `most` */
option_apply option_number;   /* double: a number from `least` to `most` */
option_apply option_time;     /* uint64_t: nanoseconds */

/* Checks that a value has the form KEY=VALUE; for option.check. */
int option_check_tag(const char *value, struct spoor_error *err);

/* Parses a process ID. -EINVAL: not a process ID. */
int option_parse_pid(const char *text, pid_t *ret, struct spoor_error *err);

/* Returns the index of a word in option->value or, if that lists no words, in option->complete.
 * -EINVAL: the word is not listed. */
int option_find_choice(const struct option *option, const char *value, struct spoor_error *err);

#define OPTION_MEMBER(function, is_right, type, member) \
    .apply = (function),                                \
    .offset = offsetof(type, member) + 0 * sizeof(char[(is_right) ? 1 : -1])
#define OPTION_IS(wanted, type, member) \
    __builtin_types_compatible_p(__typeof__(((type *)0)->member), wanted)

#define OPTION_TEXT(type, member) \
    OPTION_MEMBER(option_text, OPTION_IS(char *, type, member), type, member)
#define OPTION_ANY_TEXT(type, member) \
    OPTION_MEMBER(option_any_text, OPTION_IS(char *, type, member), type, member)
#define OPTION_LIST(type, member) \
    OPTION_MEMBER(option_list, OPTION_IS(struct text_list, type, member), type, member)
#define OPTION_FLAG(type, member) \
    OPTION_MEMBER(option_flag, OPTION_IS(bool, type, member), type, member)
#define OPTION_CHOICE(type, member) \
    OPTION_MEMBER(option_choice, sizeof(((type *)0)->member) == sizeof(unsigned), type, member)
#define OPTION_COUNT(type, member) \
    OPTION_MEMBER(option_count, OPTION_IS(size_t, type, member), type, member)
#define OPTION_NUMBER(type, member) \
    OPTION_MEMBER(option_number, OPTION_IS(double, type, member), type, member)
#define OPTION_TIME(type, member) \
    OPTION_MEMBER(option_time, OPTION_IS(uint64_t, type, member), type, member)

/* Returns the member of the target that a row stores its value in. */
void *option_member(void *target, const struct option *option);

/* Frees the texts and lists of a target and clears them. */
void option_free(const struct option_table *table, void *target);

/* Returns whether the commands in `scope` accept the option on their command line. */
static inline bool option_is_in(const struct option *option, unsigned scope)
{
    return (option->flags & scope) && !(option->flags & OPTION_FILE_ONLY);
}

/* Returns whether help, manual pages and completion show the option. */
static inline bool option_is_shown(const struct option *option, unsigned scope)
{
    return option_is_in(option, scope) && !(option->flags & OPTION_HIDDEN);
}

/* ---- suggestions for misspelled words -----------------------------------
 *
 *     struct nearest nearest = NEAREST_TO("intreval");
 *
 *     nearest_offer(&nearest, "interval");    once for each known word
 *     nearest_get(&nearest);                  "interval"
 */

struct nearest {
    const char *word;
    const char *best; /* the best word offered so far; borrowed */
    size_t distance;  /* edit distance of `best` */
};

#define NEAREST_TO(text) ((struct nearest){ (text), NULL, SIZE_MAX })

/* Returns how many letters must be added, dropped, changed or swapped with their neighbour to
 * change one word into the other. Only the first 63 bytes of each word count. */
size_t edit_distance(const char *a, const char *b);

void nearest_offer(struct nearest *nearest, const char *candidate);

/* Returns the word that was probably meant; NULL: none is near enough. */
const char *nearest_get(const struct nearest *nearest);
