/* SPDX-License-Identifier: Apache-2.0 */
/*
 * completion_fish.c - the completion script for fish: a `complete` line for each option.
 *
 * A line holds while its condition does. The condition of an option is a function for its command,
 * which looks at the words before the cursor. After `spoor run` it fails from the command to run on,
 * which is then completed as if it stood alone.
 */
#include <string.h>

#include "front/completion.h"

static const char *const offers[OFFER_COUNT] = {
    [OFFER_NOTHING] = " -x",
    [OFFER_FILES] = " -r -F",
    [OFFER_COMMANDS] = " -x -a '(__fish_complete_command)'",
    [OFFER_PROCESSES] = " -x -a '(__fish_complete_pids)'",
};

static void put_escaped(FILE *out, const char *text, int length)
{
    for (int i = 0; i < length; i++) {
        if (strchr("'\\", text[i]))
            fputc('\\', out);
        fputc(text[i], out);
    }
}

/* "__spoor_", which begins the names of all functions of the script. */
static void put_prefix(FILE *out, const struct program *program)
{
    fputs("__", out);
    completion_put_identifier(out, program->name);
    fputc('_', out);
}

/* `complete`, on the condition that the function of this name succeeds. */
static void put_line(FILE *out, const struct program *program, const char *condition,
                     const char *name)
{
    fprintf(out, "complete -c %s -n ", program->name);
    put_prefix(out, program);
    fputs(condition, out);
    completion_put_identifier(out, name);
}

static void put_option(FILE *out, const struct program *program, const struct command *command,
                       const struct option *option)
{
    enum offer offer = completion_offer(option);

    put_line(out, program, "in_", command->name);
    if (option->letter)
        fprintf(out, " -s %c", option->letter);
    fprintf(out, " -l %s", option->name);
    if (completion_takes_value(command, option)) {
        if (offer == OFFER_WORDS) {
            fputs(" -x -a '", out);
            completion_put_words(out, option);
            fputc('\'', out);
        } else {
            fputs(offers[offer], out);
        }
    }
    fputs(" -d '", out);
    put_escaped(out, option->help, completion_short_help(option->help));
    fputs("'\n", out);
}

static void put_operands(FILE *out, const struct program *program,
                         const struct command *command)
{
    enum offer offer = completion_operands(command);

    if (command->max_operands == OPERANDS_REST) {
        put_line(out, program, "is_", command->name);
        fputs(" -x -a '(", out);
        put_prefix(out, program);
        fputs("complete_", out);
        completion_put_identifier(out, command->name);
        fputs(")'\n", out);
    } else if (command->subcommands || offer == OFFER_WORDS) {
        put_line(out, program, "in_", command->name);
        fputs(" -x -a '", out);
        fputs(command->complete ? command->complete : "", out);
        for (const struct command *each = command->subcommands; each && each->name; each++)
            fprintf(out, "%s%s", each == command->subcommands ? "" : " ", each->name);
        fputs("'\n", out);
    } else if (offer != OFFER_NOTHING) {
        put_line(out, program, "in_", command->name);
        fprintf(out, "%s\n", offer == OFFER_FILES ? " -F" : offers[offer]);
    }
}

/* Shared by the functions below: the words after the command; fails if it is another one. */
static void put_words_function(FILE *out, const struct program *program)
{
    const struct command *each = completion_next(program->commands);

    fputs("function ", out);
    put_prefix(out, program);
    fputs("words --argument-names command\n"
          "    set -l words (commandline -opc)[2..]\n"
          "    if contains -- \"$words[1]\"",
          out);
    for (; each; each = completion_next(each + 1))
        fprintf(out, " %s", each->name);
    fputs("\n        test \"$words[1]\" = \"$command\"; or return\n"
          "        set -e words[1]\n"
          "    else\n"
          "        test -z \"$command\"; or return\n"
          "    end\n"
          "    string join -- \\n $words\n"
          "    return 0\n"
          "end\n"
          /* The words of the command to run; fails as long as there is none. */
          "function ",
          out);
    put_prefix(out, program);
    fputs("job\n    set -l words (", out);
    put_prefix(out, program);
    fputs("words $argv[1])\n"
          "    while set -q words[1]\n"
          "        switch $words[1]\n"
          "            case --\n"
          "                string join -- \\n $words[2..]\n"
          "                return 0\n"
          "            case '-*'\n"
          "                contains -- $words[1] $argv[2..]; and set -e words[1]\n"
          "            case '*'\n"
          "                string join -- \\n $words\n"
          "                return 0\n"
          "        end\n"
          "        set -e words[1]\n"
          "    end\n"
          "    return 1\n"
          "end\n",
          out);
}

/* The first line of a function for a command, and its code up to the name of another one. */
static void put_function(FILE *out, const struct program *program, const char *prefix,
                         const struct command *command, const char *code)
{
    fputs("function ", out);
    put_prefix(out, program);
    fputs(prefix, out);
    completion_put_identifier(out, command->name);
    fprintf(out, "\n    %s", code);
    put_prefix(out, program);
}

/* The functions of a command X whose operands are a command to run. is_X: the command is X.
 * job_X: the words of the command to run. complete_X: what may follow them. */
static void put_job_functions(FILE *out, const struct program *program,
                              const struct command *command)
{
    put_function(out, program, "is_", command, "");
    fprintf(out, "words '%s' >/dev/null\nend\n", command->name);
    put_function(out, program, "job_", command, "");
    fprintf(out, "job '%s' ", command->name);
    completion_put_value_options(out, command, " ");
    fputs("\nend\n", out);
    put_function(out, program, "complete_", command, "set -l words (");
    fputs("job_", out);
    completion_put_identifier(out, command->name);
    fputs(" | string escape)\n    complete -C \"$words \"(commandline -ct)\nend\n", out);
}

/* in_X: the command is X, and the word is one of its options or operands. */
static void put_functions(FILE *out, const struct program *program,
                          const struct command *command)
{
    bool has_job = command->max_operands == OPERANDS_REST;

    if (has_job)
        put_job_functions(out, program, command);
    put_function(out, program, "in_", command, "");
    fprintf(out, "words '%s' >/dev/null", command->name);
    if (has_job) {
        fputs("; and not ", out);
        put_prefix(out, program);
        fputs("job_", out);
        completion_put_identifier(out, command->name);
        fputs(" >/dev/null", out);
    }
    fputs("\nend\n", out);
}

static void put_command(FILE *out, const struct program *program, const struct command *command)
{
    put_functions(out, program, command);
    put_operands(out, program, command);
    for (size_t i = 0; command->options && i < command->options->count; i++) {
        const struct option *option = &command->options->rows[i];

        if (option_is_in(option, command->scope))
            put_option(out, program, command, option);
    }
}

void completion_fish(FILE *out, const struct program *program)
{
    const struct command *each = completion_next(program->commands);

    fprintf(out, "# fish completion for %s, generated: do not edit\ncomplete -c %s -f\n",
            program->name, program->name);
    put_words_function(out, program);
    for (; each; each = completion_next(each + 1)) {
        const char *summary = each->summary ? each->summary : each->about;

        fprintf(out, "complete -c %s -n __fish_use_subcommand -a %s -d '", program->name,
                each->name);
        put_escaped(out, summary, (int)strlen(summary));
        fputs("'\n", out);
        put_command(out, program, each);
    }
    if (program->main_command)
        put_command(out, program, program->main_command);
    else
        fprintf(out,
                "complete -c %s -n __fish_use_subcommand -s h -l help -d "
                "'show this help and exit'\n"
                "complete -c %s -n __fish_use_subcommand -s V -l version -d "
                "'show the version and exit'\n",
                program->name, program->name);
}
