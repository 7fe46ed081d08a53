/* SPDX-License-Identifier: Apache-2.0 */
#include "front/common/help.h"

#include <string.h>

#include "text/wrap.h"

#define WIDTH 79
#define HELP_COLUMN 30

void help_wrap(FILE *out, const char *text, int column, int indent)
{
    const struct wrap wrap = {
        .width = WIDTH,
        .column = (size_t)column,
        .indent = (size_t)indent,
        .is_prose = true,
    };
    struct buffer lines = { 0 };

    wrap_text(text, &wrap, &lines);
    fprintf(out, "%s\n", lines.text ? lines.text : "");
    buffer_done(&lines);
}

void help_overview(FILE *out)
{
    fputs("Usage: spoor COMMAND [OPTIONS] ...\n\n"
          "Measures what a job uses: memory, CPU, I/O, time.\n\n"
          "Commands:\n",
          out);
    for (const struct command *command = commands; command->name; command++) {
        if (!command->is_hidden)
            fprintf(out, "  %-8s %s\n", command->name, command->summary);
    }
    fputs("\nOptions:\n"
          "  -h, --help     show this help; 'spoor COMMAND --help' shows a command's\n"
          "  -V, --version  show the version\n\n"
          "Examples:\n",
          out);
    for (const struct command *command = commands; command->name; command++) {
        if (command->example)
            fprintf(out, "  %s\n", command->example);
    }
}

void help_option(FILE *out, const struct cli_option *option)
{
    int column = 0;

    if (option->letter)
        column = fprintf(out, "  -%c, --%s", option->letter, option->name);
    else
        column = fprintf(out, "      --%s", option->name);
    if (option->value)
        column += fprintf(out, " %s", option->value);
    if (column + 2 > HELP_COLUMN) {
        fputc('\n', out);
        column = 0;
    }
    fprintf(out, "%*s", HELP_COLUMN - column, "");
    help_wrap(out, option->help, HELP_COLUMN, HELP_COLUMN);
}

void help_command(FILE *out, const struct command *command)
{
    fprintf(out, "Usage: spoor %s%s%s%s\n\n", command->name, command->scope ? " [OPTIONS]" : "",
            *command->operands ? " " : "", command->operands);
    help_wrap(out, command->about, 0, 0);
    if (command->scope) {
        fputs("\nOptions:\n", out);
        for (size_t i = 0; i < settings_table.count; i++) {
            if (settings_table.rows[i].flags & command->scope)
                help_option(out, settings_shown(&settings_table.rows[i], command->scope));
        }
    }
    if (command->scope & (OPTION_RUN | OPTION_ATTACH)) {
        fputc('\n', out);
        help_wrap(out,
                  "Each option may also be set by a variable (SPOOR_INTERVAL=0.5) or in the "
                  "config file; the option wins, then the variable.",
                  0, 0);
    }
    if (command->example)
        fprintf(out, "\nExample:\n  %s\n", command->example);
}

/* scdoc gives a meaning to these. */
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
    fputc(' ', out);
    if (strchr(value, '|')) {
        put_scdoc(out, value);
        return;
    }
    fputc('_', out);
    put_scdoc(out, value);
    fputc('_', out);
}

static void put_man_option(FILE *out, const struct cli_option *option)
{
    if (option->letter)
        fprintf(out, "*-%c*, ", option->letter);
    fputc('*', out);
    fprintf(out, "--%s*", option->name);
    if (option->value)
        put_value(out, option->value);
    fputs("\n\t", out);
    put_scdoc(out, option->help);
    fputs(".\n\n", out);
}

void help_man_options(FILE *out, const struct command *command)
{
    for (size_t i = 0; i < settings_table.count; i++) {
        if (settings_table.rows[i].flags & command->scope)
            put_man_option(out, settings_shown(&settings_table.rows[i], command->scope));
    }
}

void help_man_table(FILE *out, const struct option_table *table)
{
    for (size_t i = 0; i < table->count; i++)
        put_man_option(out, &table->rows[i]);
}
