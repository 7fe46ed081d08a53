/* SPDX-License-Identifier: Apache-2.0 */
#include "front/help.h"

#include <ctype.h>
#include <string.h>

#include "text/utf8.h"

/* ---- help --------------------------------------------------------------- */

#define WIDTH 79
#define HELP_COLUMN 30

void help_add(const char *text, size_t column, size_t indent, struct buffer *out)
{
    const struct wrap wrap = {
        .width = WIDTH, .column = column, .indent = indent, .is_prose = true
    };

    wrap_text(text, &wrap, out);
    buffer_add(out, "\n", 1);
}

void help_wrap(FILE *out, const char *text, int column, int indent)
{
    CLEANUP(buffer_done) struct buffer lines = { 0 };

    help_add(text, (size_t)column, (size_t)indent, &lines);
    fputs(buffer_text(&lines), out);
}

/* Writes "--format=<format>", in brackets unless the option is required, or "-p <file-path>..."
 * if it is repeatable. */
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
    return option->action != ACTION_WORK;
}

static void put_full_line(FILE *out, const struct command *command)
{
    for (size_t i = 0; i < command->options->count; i++) {
        const struct option *option = &command->options->rows[i];

        if (option_is_shown(option, command->scope) && !is_action(option))
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

/* Writes a line for each way to call the program, or a command with subcommands. */
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

static bool is_in_group(const struct command *command, size_t index, const char *group)
{
    const struct option *option = &command->options->rows[index];

    return option_is_shown(option, command->scope) &&
           (option->group && group ? strcmp(option->group, group) == 0
                                   : option->group == group);
}

/* Writes every shown option by group, in the order of the first row of each group. The name
 * of a group is between `before` and `after`; options without a group have the heading
 * `other`, or none if it is NULL. */
static void put_groups(FILE *out, const struct command *command, const char *before,
                       const char *after, const char *other,
                       void (*put)(FILE *out, const struct option *option))
{
    for (size_t i = 0; i < command->options->count; i++) {
        const char *group = command->options->rows[i].group;
        bool is_first = is_in_group(command, i, group);

        for (size_t j = 0; is_first && j < i; j++)
            is_first = !is_in_group(command, j, group);
        if (is_first && (group || other))
            fprintf(out, "%s%s%s", before, group ? group : other, after);
        for (size_t j = i; is_first && j < command->options->count; j++) {
            if (is_in_group(command, j, group))
                put(out, &command->options->rows[j]);
        }
    }
}

void help_command(FILE *out, const struct program *program, const struct command *command)
{
    help_usage(out, program, command);
    fputc('\n', out);
    help_wrap(out, command->about, 0, 0);
    if (command->subcommands)
        put_commands(out, command->subcommands);
    if (command->options) {
        put_groups(out, command, "\n", ":\n", "Options", put_option);
    }
    if (command->notes) {
        fputc('\n', out);
        help_wrap(out, command->notes, 0, 0);
    }
    if (command->example)
        fprintf(out, "\nExample:\n  %s\n", command->example);
}

/* ---- the manual --------------------------------------------------------- */

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

static void put_manual_option(FILE *out, const struct option *option)
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
    put_groups(out, command, "## ", "\n\n", NULL, put_manual_option);
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
        fprintf(out, "*%s %s* %s.\n\n", program->name, command->name,
                command->is_hidden ? "ignores environment variables and the config file"
                                   : "reads only *--color* from environment variables and the "
                                     "default config file");
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

/* ---- completion --------------------------------------------------------- */

/* The command line to complete. */
struct line {
    const struct program *program;
    const struct command *command; /* NULL: there is no such command */
    char **words;                  /* without the name of the program */
    int count;                     /* the last word is to be completed */
    int job;                       /* index of the command to run; -1: the last word, or none */
    const struct option *option;   /* option whose value is the last word; NULL: none */
};

/* Offers a word with its help up to the first comma, semicolon, colon or parenthesis. */
static void offer_word(FILE *out, const char *dashes, const char *word, const char *help)
{
    size_t length = strcspn(help, ",;:(");

    while (length > 0 && help[length - 1] == ' ')
        length--;
    fprintf(out, "%s%s\t%.*s\n", dashes, word, (int)length, help);
}

/* Offers words separated by spaces or bars, or a list that the shell makes: "<files>". */
static void offer(FILE *out, const char *offer)
{
    for (; *offer; offer++)
        fputc(strchr(" |", *offer) ? '\n' : *offer, out);
    fputc('\n', out);
}

static void offer_value(FILE *out, const struct option *option)
{
    if (option->complete)
        offer(out, option->complete);
    else if (option->value && strchr(option->value, '|'))
        offer(out, option->value);
}

static void offer_commands(FILE *out, const struct command *each)
{
    for (; each && each->name; each++) {
        if (!each->is_hidden)
            offer_word(out, "", each->name, each->summary ? each->summary : each->about);
    }
}

static void offer_options(FILE *out, const struct command *command)
{
    for (size_t i = 0; command->options && i < command->options->count; i++) {
        const struct option *option = &command->options->rows[i];

        if (option_is_shown(option, command->scope))
            offer_word(out, "--", option->name, option->help);
    }
}

/* Finds the option that a word names: "-o", "--output" or "--output=FILE". */
static const struct option *find_option(const struct command *command, const char *word)
{
    size_t length = strcspn(word, "=");

    for (size_t i = 0; command->options && i < command->options->count; i++) {
        const struct option *option = &command->options->rows[i];
        bool is_letter = option->letter && word[1] == option->letter && word[2] == '\0';
        bool is_name = length == 2 + strlen(option->name) && strncmp(word, "--", 2) == 0 &&
                       strncmp(word + 2, option->name, length - 2) == 0;

        if (option_is_in(option, command->scope) && (is_letter || is_name))
            return option;
    }
    return NULL;
}

/* Bash splits --option=value into three words. Returns how many of the following words are
 * the value. */
static int count_value_words(const struct option *option, const char *word, const char *next)
{
    bool has_equals = strncmp(word, "--", 2) == 0 && strcmp(next, "=") == 0;

    if (!option || !option->value || strchr(word, '='))
        return 0;
    return has_equals ? 2 : !(option->flags & OPTION_OPTIONAL);
}

static void read_words(struct line *line)
{
    int last = line->count - 1;
    int i = line->command != line->program->main_command;

    while (i < last) {
        const char *word = line->words[i];
        const struct option *option;
        int value_words;

        if (line->command->max_operands == OPERANDS_REST &&
            (word[0] != '-' || strcmp(word, "--") == 0)) {
            line->job = i + (word[0] == '-');
            return;
        }
        option = word[0] == '-' ? find_option(line->command, word) : NULL;
        value_words = count_value_words(option, word, line->words[i + 1]);
        if (value_words > 0 && i + value_words >= last)
            line->option = option;
        i += 1 + value_words;
    }
}

static void put_last_word(FILE *out, const struct line *line)
{
    const struct command *command = line->command;
    const char *word = line->words[line->count - 1];
    const struct option *option =
        strncmp(word, "--", 2) == 0 && strchr(word, '=') ? find_option(command, word) : NULL;

    if (line->option || option) {
        offer_value(out, line->option ? line->option : option);
    } else if (line->job >= 0 || (command->max_operands == OPERANDS_REST && word[0] != '-')) {
        fprintf(out, "<command> %d\n", 1 + (line->job >= 0 ? line->job : line->count - 1));
    } else if (command->complete && word[0] != '-') {
        offer(out, command->complete);
    } else {
        offer_commands(out, command->subcommands);
        offer_options(out, command);
    }
}

void completion_write(FILE *out, const struct program *program, char **words, int count)
{
    struct line line = { program, program->main_command, words, count, -1, NULL };
    const struct command *command = NULL;

    if (count > 1)
        command = command_find(program->commands, words[0]);
    if (command && !command->is_hidden)
        line.command = command;
    if (count == 1) {
        offer_commands(out, program->commands);
        if (!program->main_command) {
            offer_word(out, "--", "help", "show this help and exit");
            offer_word(out, "--", "version", "show the version and exit");
        }
    }
    if (count == 0 || !line.command)
        return;
    read_words(&line);
    put_last_word(out, &line);
}
