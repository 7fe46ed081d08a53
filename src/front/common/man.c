/* SPDX-License-Identifier: Apache-2.0 */
/* man.c - the options of a command as source of the manual page. */
#include <ctype.h>
#include <string.h>

#include "front/common/help.h"

/* Escapes what has a meaning in scdoc. */
static void put_scdoc(FILE *out, const char *text)
{
    for (; *text; text++) {
        if (strchr("*_\\[]#<>-", *text))
            fputc('\\', out);
        fputc(*text, out);
    }
}

static void put_value(FILE *out, const char *value)
{
    if (strchr(value, '|')) {
        put_scdoc(out, value);
        return;
    }
    fputc('_', out);
    put_scdoc(out, value);
    fputc('_', out);
}

static void put_option(FILE *out, const struct option *option)
{
    if (option->letter)
        fprintf(out, "*-%c*, ", option->letter);
    fputc('*', out);
    fprintf(out, "--%s*", option->name);
    if (option->value) {
        bool is_optional = option->flags & OPTION_OPTIONAL;

        fputs(is_optional ? "[=" : " ", out);
        put_value(out, option->value);
        fputs(is_optional ? "]" : "", out);
    }
    fprintf(out, "\n\t%c", toupper((unsigned char)option->help[0]));
    put_scdoc(out, option->help + 1);
    fputs(".\n\n", out);
}

void man_options(FILE *out, const struct command *command)
{
    for (size_t i = 0; i < command->options->count; i++) {
        if (option_is_in(&command->options->rows[i], command->scope))
            put_option(out, &command->options->rows[i]);
    }
}
