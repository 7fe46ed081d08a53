/* SPDX-License-Identifier: Apache-2.0 */
/*
 * option.h - options as a table, and the one parser that reads it.
 *
 * One row is one option. The command line, the variables (SPOOR_<NAME>), the
 * config file, --help, the manual page and the shell completion all come from
 * the same rows, so that none of them can tell another story.
 *
 * Accepted: -i5, -i 5, -qi5, --interval 5, --interval=5. A flag takes no value,
 * but --quiet=no undoes a variable or a config file. "--" ends the options, and
 * so does the first word that is none. A table may allow long options to be cut
 * short as far as they stay apart: --form for --format.
 */
#ifndef FRONT_COMMON_OPTION_H
#define FRONT_COMMON_OPTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "spoor/spoor.h"

struct cli_settings;
struct cli_option;

/* Takes one value into the settings. `value` is NULL for a flag without one, and
 * is copied where it is kept. Returns 0; 1 to end parsing here, as --help does;
 * or -errno with a message that does not name the option: the caller does. */
typedef int option_apply(struct cli_settings *settings, const struct cli_option *option,
                         const char *value, struct spoor_error *err);

/* Bits of cli_option.flags: the commands that have the option, then its manners. */
enum {
    OPTION_RUN = 1u << 0,
    OPTION_ATTACH = 1u << 1,
    OPTION_DOCTOR = 1u << 2,
    OPTION_INFO = 1u << 3,
    OPTION_PHASE = 1u << 4,
    OPTION_AGENT = 1u << 5,
    OPTION_REPEATABLE = 1u << 6, /* each use adds one; otherwise the last one counts */
    OPTION_NO_VARIABLE = 1u << 7,
    OPTION_NO_FILE = 1u << 8, /* has no place in a config file */
    OPTION_REPORT = 1u << 9,
};

struct cli_option {
    char letter;       /* '\0': none */
    const char *name;  /* without the dashes */
    const char *value; /* how help names it; "a|b|c" lists all there are; NULL: a flag */
    const char *help;  /* a phrase without a full stop */
    unsigned flags;
    option_apply *apply;
};

/* At most 32 rows: each is a bit of a uint32_t. */
struct option_table {
    const struct cli_option *rows;
    size_t count;
    /* The table of a predecessor: long options may be cut short, and no message names a
     * command of spoor. */
    bool has_prefixes;
};

/* Reads options from argv[first] on and applies those that belong to `scope`
 * (OPTION_RUN, ...). Returns the index of the first word that is no option, and
 * sets the bit of each row used in *given. -EINVAL: the message names the option. */
int option_parse(const struct option_table *table, unsigned scope, int argc, char *const *argv,
                 int first, struct cli_settings *settings, uint32_t *given,
                 struct spoor_error *err);

/* The row of that name; NULL: there is none. `length` bytes of it count. */
const struct cli_option *option_find(const struct option_table *table, const char *name,
                                     size_t length);

/* The row of that name, or the only one whose name begins so. NULL: there is none; the message
 * says why ("--t is not a unique prefix: --tu, --tf?"). */
const struct cli_option *option_find_prefix(const struct option_table *table, const char *name,
                                            size_t length, struct spoor_error *err);

/* The row whose name is nearest; NULL: none is near. `scope` 0 is all commands. */
const struct cli_option *option_nearest(const struct option_table *table, unsigned scope,
                                        const char *name);

/* Which of the words in option->value this is, from 0. -EINVAL: none of them. */
int option_choice(const struct cli_option *option, const char *value, struct spoor_error *err);

/* NULL, yes, true, on, 1 against no, false, off, 0. */
int option_flag(const char *value, bool *ret, struct spoor_error *err);

#endif
