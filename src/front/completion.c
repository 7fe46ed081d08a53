/* SPDX-License-Identifier: Apache-2.0 */
#include "front/completion.h"

#include <string.h>

/* The words before the one to complete. */
struct line {
    const struct program *program;
    const struct command *command; /* NULL: there is no such command */
    char **words;                  /* without the name of the program */
    int count;                     /* the last word is to be completed */
    int job;                     /* where the command to run starts; -1: not before the last */
    const struct option *option; /* whose value the last word is; NULL: of none */
};

/* A phrase up to the first comma, semicolon, colon or parenthesis. */
static void put_word(FILE *out, const char *dashes, const char *word, const char *help)
{
    size_t length = strcspn(help, ",;:(");

    while (length > 0 && help[length - 1] == ' ')
        length--;
    fprintf(out, "%s%s\t%.*s\n", dashes, word, (int)length, help);
}

/* Words separated by spaces or bars, or what the shell is to list: "<files>". */
static void put_offer(FILE *out, const char *offer)
{
    for (; *offer; offer++)
        fputc(strchr(" |", *offer) ? '\n' : *offer, out);
    fputc('\n', out);
}

static void put_value(FILE *out, const struct option *option)
{
    if (option->complete)
        put_offer(out, option->complete);
    else if (option->value && strchr(option->value, '|'))
        put_offer(out, option->value);
}

static void put_commands(FILE *out, const struct command *each)
{
    for (; each && each->name; each++) {
        if (!each->is_hidden)
            put_word(out, "", each->name, each->summary ? each->summary : each->about);
    }
}

static void put_options(FILE *out, const struct command *command)
{
    for (size_t i = 0; command->options && i < command->options->count; i++) {
        const struct option *option = &command->options->rows[i];

        if (option_is_in(option, command->scope))
            put_word(out, "--", option->name, option->help);
    }
}

/* The option that a word names: "-o", "--output" or "--output=FILE". */
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

/* Bash makes three words of --option=value. Returns how many words follow as the value. */
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
        put_value(out, line->option ? line->option : option);
    } else if (line->job >= 0 || (command->max_operands == OPERANDS_REST && word[0] != '-')) {
        fprintf(out, "<command> %d\n", 1 + (line->job >= 0 ? line->job : line->count - 1));
    } else if (command->complete && word[0] != '-') {
        put_offer(out, command->complete);
    } else {
        put_commands(out, command->subcommands);
        put_options(out, command);
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
        put_commands(out, program->commands);
        if (!program->main_command) {
            put_word(out, "--", "help", "show this help and exit");
            put_word(out, "--", "version", "show the version and exit");
        }
    }
    if (count == 0 || !line.command)
        return;
    read_words(&line);
    put_last_word(out, &line);
}
