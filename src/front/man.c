/* SPDX-License-Identifier: Apache-2.0 */
/* man.c - the manual page of a command, in the language of scdoc(5). */
#include <ctype.h>
#include <string.h>

#include "front/help.h"

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

void man_page(FILE *out, const struct program *program, const struct command *command)
{
    fprintf(out, "%s-%s(1)\n\n# NAME\n\n%s-%s - ", program->name, command->name, program->name,
            command->name);
    put_scdoc(out, command->summary);
    fprintf(out, "\n\n# SYNOPSIS\n\n*%s %s*%s ", program->name, command->name,
            command->options ? " [_OPTIONS_]" : "");
    put_scdoc(out, command->operands ? command->operands : "");
    fputs("\n\n# DESCRIPTION\n\n", out);
    put_scdoc(out, command->about);
    fputs("\n\n", out);
    if (command->options) {
        fputs("# OPTIONS\n\n", out);
        man_options(out, command);
    }
    if (command->ignores_variables)
        fprintf(out, "*%s %s* ignores environment variables and the config file.\n\n",
                program->name, command->name);
    if (command->notes) {
        put_scdoc(out, command->notes);
        fputs("\n\n", out);
    }
}

void man_commands(FILE *out, const struct program *program)
{
    for (const struct command *each = program->commands; each->name; each++) {
        fprintf(out, "*%s-%s*(1)\n\t%c", program->name, each->name,
                toupper((unsigned char)each->summary[0]));
        put_scdoc(out, each->summary + 1);
        fputs(".\n\n", out);
    }
}
