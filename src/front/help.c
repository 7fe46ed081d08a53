/* SPDX-License-Identifier: Apache-2.0 */
#include "front/help.h"

#include <string.h>

#include "text/utf8.h"

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

/* "--format=<format>", in brackets unless it is required; "-p <file-path>..." if repeatable. */
static void put_option_usage(FILE *out, const struct option *option)
{
    bool is_required = option->flags & OPTION_REQUIRED;

    fputs(is_required ? " " : " [", out);
    if (option->flags & OPTION_REPEATABLE && option->letter)
        fprintf(out, "-%c %s...", option->letter, option->value);
    else
        fprintf(out, "--%s%s%s", option->name, option->value ? "=" : "",
                option->value ? option->value : "");
    fputs(is_required ? "" : "]", out);
}

static bool is_action(const struct option *option)
{
    return option->apply == option_help || option->apply == option_version;
}

/* The options of a command after its name, on one line. */
static void put_full_line(FILE *out, const struct command *command)
{
    for (size_t i = 0; i < command->options->count; i++) {
        const struct option *option = &command->options->rows[i];

        if (option_is_in(option, command->scope) && !is_action(option))
            put_option_usage(out, option);
    }
    fputc('\n', out);
}

static void put_subcommand_lines(FILE *out, const struct program *program,
                                 const struct command *parent)
{
    for (const struct command *each = parent->subcommands; each && each->name; each++) {
        fprintf(out, "    %s %s %s", program->name, parent->name, each->name);
        put_full_line(out, each);
    }
}

/* A line for each way to call the program, or the command with subcommands. */
static void put_full_usage(FILE *out, const struct program *program,
                           const struct command *command)
{
    fputs("Usage:\n", out);
    if (command != program->main_command) {
        put_subcommand_lines(out, program, command);
        return;
    }
    for (size_t i = 0; i < command->options->count; i++) {
        const struct option *option = &command->options->rows[i];

        if (is_action(option))
            fprintf(out, "    %s -%c | --%s\n", program->name, option->letter, option->name);
    }
    fprintf(out, "    %s", program->name);
    put_full_line(out, command);
    for (const struct command *each = program->commands; each->name; each++)
        put_subcommand_lines(out, program, each);
}

void help_usage(FILE *out, const struct program *program, const struct command *command)
{
    if (program->has_full_usage) {
        put_full_usage(out, program, command);
        return;
    }
    fprintf(out, "Usage: %s", program->name);
    if (command != program->main_command)
        fprintf(out, " %s", command->name);
    fprintf(out, "%s%s%s\n", command->options ? " [OPTIONS]" : "", command->operands ? " " : "",
            command->operands ? command->operands : "");
}

static void put_commands(FILE *out, const struct command *commands)
{
    size_t width = 0;

    for (const struct command *each = commands; each->name; each++) {
        if (!each->is_hidden && strlen(each->name) > width)
            width = strlen(each->name);
    }
    fputs("\nCommands:\n", out);
    for (; commands->name; commands++) {
        if (!commands->is_hidden)
            fprintf(out, "  %-*s  %s\n", (int)width, commands->name, commands->summary);
    }
}

void help_overview(FILE *out, const struct program *program)
{
    fprintf(out, "Usage: %s COMMAND [OPTIONS] ...\n\n", program->name);
    help_wrap(out, program->description, 0, 0);
    put_commands(out, program->commands);
    fprintf(out,
            "\nOptions:\n"
            "  -h, --help     show this help and exit\n"
            "  -V, --version  show the version and exit\n\n"
            "Run '%s COMMAND --help' for the options of a command.\n\n"
            "Examples:\n",
            program->name);
    for (const struct command *command = program->commands; command->name; command++) {
        if (command->example)
            fprintf(out, "  %s\n", command->example);
    }
}

static void put_option(FILE *out, const struct option *option)
{
    int column = 0;

    if (option->letter)
        column = fprintf(out, "  -%c, --%s", option->letter, option->name);
    else
        column = fprintf(out, "      --%s", option->name);
    if (option->value)
        column +=
            fprintf(out, option->flags & OPTION_OPTIONAL ? "[=%s]" : " %s", option->value);
    if (column + 2 > HELP_COLUMN) {
        fputc('\n', out);
        column = 0;
    }
    fprintf(out, "%*s", HELP_COLUMN - column, "");
    help_wrap(out, option->help, HELP_COLUMN, HELP_COLUMN);
}

void help_command(FILE *out, const struct program *program, const struct command *command)
{
    help_usage(out, program, command);
    fputc('\n', out);
    help_wrap(out, command->about, 0, 0);
    if (command->subcommands)
        put_commands(out, command->subcommands);
    if (command->options) {
        fputs("\nOptions:\n", out);
        for (size_t i = 0; i < command->options->count; i++) {
            if (option_is_in(&command->options->rows[i], command->scope))
                put_option(out, &command->options->rows[i]);
        }
    }
    if (command->notes) {
        fputc('\n', out);
        help_wrap(out, command->notes, 0, 0);
    }
    if (command->example)
        fprintf(out, "\nExample:\n  %s\n", command->example);
}
