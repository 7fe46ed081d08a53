/* SPDX-License-Identifier: Apache-2.0 */
/*
 * completion.c - the bash completion of a program, written from its tables.
 *
 * The function of the script has a case for each command. It completes the value of the
 * option before the cursor, else the operands of the command, else its options.
 */
#include <string.h>

#include "front/common/help.h"

/* "-i|--interval" */
static void put_names(FILE *out, const struct option *option)
{
    if (option->letter)
        fprintf(out, "-%c|", option->letter);
    fprintf(out, "--%s", option->name);
}

static void put_value_case(FILE *out, const struct option *option)
{
    fputs("            ", out);
    put_names(out, option);
    fputs(") ", out);
    if (option->complete) {
        fprintf(out, "COMPREPLY=($(compgen %s -- \"$cur\")); ", option->complete);
    } else if (strchr(option->value, '|')) {
        fputs("COMPREPLY=($(compgen -W \"", out);
        for (const char *c = option->value; *c; c++)
            fputc(*c == '|' ? ' ' : *c, out);
        fputs("\" -- \"$cur\")); ", out);
    }
    fputs("return ;;\n", out);
}

static bool takes_value(const struct command *command, const struct option *option)
{
    return option_is_in(option, command->scope) && option->value &&
           !(option->flags & OPTION_OPTIONAL);
}

/* Where the command to run starts: after "--" or at the first word that is neither an
 * option nor the value of one. Bash splits --option=value into three words. */
static void put_command_search(FILE *out, const struct command *command)
{
    unsigned count = 0;

    fputs("        for ((i = 2; i < COMP_CWORD; i++)); do\n"
          "            case \"${COMP_WORDS[i]}\" in\n"
          "            --) start=$((i + 1)); break ;;\n"
          "            ",
          out);
    for (size_t i = 0; i < command->options->count; i++) {
        if (!takes_value(command, &command->options->rows[i]))
            continue;
        fputs(count++ ? "|" : "", out);
        put_names(out, &command->options->rows[i]);
    }
    fputs(") [[ ${COMP_WORDS[i+1]} != = ]] || ((i++)); ((i++)) ;;\n"
          "            -*) ;;\n"
          "            *) start=$i; break ;;\n"
          "            esac\n"
          "        done\n"
          "        if [[ $start ]]; then\n"
          "            if declare -F _command_offset >/dev/null; then\n"
          "                _command_offset \"$start\"\n"
          "            else\n"
          "                COMPREPLY=($(compgen -c -f -- \"$cur\"))\n"
          "            fi\n"
          "            return\n"
          "        fi\n",
          out);
}

static void put_command(FILE *out, const struct command *command)
{
    const struct option_table *table = command->options;

    if (command->max_operands == OPERANDS_REST)
        put_command_search(out, command);
    fputs("        case \"$prev\" in\n", out);
    for (size_t i = 0; table && i < table->count; i++) {
        if (takes_value(command, &table->rows[i]))
            put_value_case(out, &table->rows[i]);
    }
    fputs("        esac\n", out);
    if (command->complete)
        fprintf(out,
                "        if [[ $cur != -* ]]; then\n"
                "            COMPREPLY=($(compgen %s -- \"$cur\"))\n"
                "            return\n"
                "        fi\n",
                command->complete);
    fputs("        words+=\"", out);
    for (const struct command *each = command->subcommands; each && each->name; each++)
        fprintf(out, " %s", each->name);
    for (size_t i = 0; table && i < table->count; i++) {
        if (option_is_in(&table->rows[i], command->scope))
            fprintf(out, " --%s", table->rows[i].name);
    }
    fputs("\"\n", out);
}

/* The name of the program as the name of a function. */
static void put_function(FILE *out, const struct program *program)
{
    fputc('_', out);
    for (const char *c = program->name; *c; c++)
        fputc(*c == '-' ? '_' : *c, out);
}

void completion_write(FILE *out, const struct program *program)
{
    fprintf(out, "# bash completion for %s, generated: do not edit\n", program->name);
    put_function(out, program);
    fputs("() {\n"
          "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
          "    local words= start= i command=${COMP_WORDS[1]}\n"
          "    if [[ $cur == = ]]; then\n"
          "        cur=\n"
          "    elif [[ $prev == = ]]; then\n"
          "        prev=${COMP_WORDS[COMP_CWORD-2]}\n"
          "    fi\n"
          "    if ((COMP_CWORD == 1)); then\n"
          "        command=\n"
          "        words=\"",
          out);
    for (const struct command *each = program->commands; each->name; each++)
        fprintf(out, "%s%s", each->is_hidden ? "" : " ", each->is_hidden ? "" : each->name);
    fprintf(out,
            "%s\"\n    fi\n"
            "    case \"$command\" in\n",
            program->main_command ? "" : " --help --version");
    for (const struct command *each = program->commands; each->name; each++) {
        if (each->is_hidden)
            continue;
        fprintf(out, "    %s)\n", each->name);
        put_command(out, each);
        fputs("        ;;\n", out);
    }
    if (program->main_command) {
        fputs("    *)\n", out);
        put_command(out, program->main_command);
        fputs("        ;;\n", out);
    }
    fputs("    esac\n"
          "    COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
          "} &&\n    complete -F ",
          out);
    put_function(out, program);
    fprintf(out, " %s\n", program->name);
}
