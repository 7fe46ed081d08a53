/* SPDX-License-Identifier: Apache-2.0 */
/*
 * completion_zsh.c - the completion script for zsh: an _arguments call for each command.
 *
 * _arguments (zshcompsys(1)) takes a specification of each option, such as
 *
 *     '(-o --output)'{-o+,--output=}'[write the report to FILE]:FILE:_files'
 *
 * The names in parentheses are no longer offered once the option is given. "+" and "=" say that the
 * value may be part of the same word; "=-" that it must be.
 */
#include <string.h>

#include "front/completion.h"

/* Actions of _arguments. */
static const char *const offers[OFFER_COUNT] = {
    [OFFER_NOTHING] = " ",
    [OFFER_FILES] = "_files",
    [OFFER_COMMANDS] = "_command_names",
    [OFFER_PROCESSES] = "_pids",
};

/* Inside single quotes; brackets and colons would end a part of a specification. */
static void put_escaped(FILE *out, const char *text, int length)
{
    for (int i = 0; i < length; i++) {
        if (text[i] == '\'')
            fputs("'\\'", out);
        else if (strchr("[]:\\", text[i]))
            fputc('\\', out);
        fputc(text[i], out);
    }
}

static void put_names(FILE *out, const struct option *option)
{
    const char *after = !option->value ? "" : option->flags & OPTION_OPTIONAL ? "=-" : "=";

    if (option->flags & OPTION_REPEATABLE)
        fputs("'*'", out);
    else if (option->letter)
        fprintf(out, "'(-%c --%s)'", option->letter, option->name);
    if (option->letter)
        fprintf(out, "{-%c%s,--%s%s}'", option->letter, option->value ? "+" : "", option->name,
                after);
    else
        fprintf(out, "'--%s%s", option->name, after);
}

static void put_option(FILE *out, const struct option *option)
{
    enum offer offer = completion_offer(option);

    fputs(" \\\n            ", out);
    put_names(out, option);
    fputc('[', out);
    put_escaped(out, option->help, completion_short_help(option->help));
    fputc(']', out);
    if (option->value) {
        fputs(option->flags & OPTION_OPTIONAL ? "::" : ":", out);
        put_escaped(out, option->value, (int)strlen(option->value));
        fputc(':', out);
        if (offer == OFFER_WORDS) {
            fputc('(', out);
            completion_put_words(out, option);
            fputc(')', out);
        } else {
            fputs(offers[offer], out);
        }
    }
    fputc('\'', out);
}

static void put_operands(FILE *out, const struct command *command)
{
    enum offer offer = completion_operands(command);

    if (command->subcommands) {
        fputs(" \\\n            '1:command:(", out);
        for (const struct command *each = command->subcommands; each->name; each++)
            fprintf(out, "%s%s", each == command->subcommands ? "" : " ", each->name);
        fputs(")'", out);
    } else if (command->max_operands == OPERANDS_REST) {
        fputs(" \\\n            '(-)1:command:_command_names -e' '*::argument:_normal'", out);
    } else if (offer == OFFER_WORDS) {
        fprintf(out, " \\\n            '1:argument:(%s)'", command->complete);
    } else if (offer != OFFER_NOTHING) {
        fprintf(out, " \\\n            '%s:argument:%s'",
                command->max_operands == OPERANDS_MANY ? "*" : "1", offers[offer]);
    }
}

static void put_command(FILE *out, const struct command *command)
{
    fputs("        _arguments -s -S :", out);
    for (size_t i = 0; command->options && i < command->options->count; i++) {
        if (option_is_in(&command->options->rows[i], command->scope))
            put_option(out, &command->options->rows[i]);
    }
    put_operands(out, command);
    fputc('\n', out);
}

/* Completes the name of a command: the first word. */
static void put_names_of_commands(FILE *out, const struct program *program)
{
    const struct command *each = completion_next(program->commands);

    if (!each)
        return;
    fputs("    if ((CURRENT == 2)); then\n        names=(", out);
    for (; each; each = completion_next(each + 1)) {
        const char *summary = each->summary ? each->summary : each->about;

        fprintf(out, "\n            '%s:", each->name);
        put_escaped(out, summary, (int)strlen(summary));
        fputc('\'', out);
    }
    fputs(")\n        _describe command names\n", out);
    if (!program->main_command)
        fputs("        _arguments : {-h,--help}'[show this help and exit]' "
              "{-V,--version}'[show the version and exit]'\n        return\n",
              out);
    fputs("    fi\n", out);
}

void completion_zsh(FILE *out, const struct program *program)
{
    const struct command *each = completion_next(program->commands);

    fprintf(out, "#compdef %s\n# zsh completion for %s, generated: do not edit\n_",
            program->name, program->name);
    completion_put_identifier(out, program->name);
    fputs("() {\n    local -a names\n", out);
    put_names_of_commands(out, program);
    fputs("    case $words[2] in\n", out);
    for (; each; each = completion_next(each + 1)) {
        fprintf(out, "    %s)\n        shift words\n        ((CURRENT--))\n", each->name);
        put_command(out, each);
        fputs("        ;;\n", out);
    }
    if (program->main_command) {
        fputs("    *)\n", out);
        put_command(out, program->main_command);
        fputs("        ;;\n", out);
    }
    fputs("    esac\n}\n_", out);
    completion_put_identifier(out, program->name);
    fputs(" \"$@\"\n", out);
}
