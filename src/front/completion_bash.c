/* SPDX-License-Identifier: Apache-2.0 */
/*
 * completion_bash.c - the completion script for bash.
 *
 * The function of the script has a case for each command. It completes the value of the
 * option before the cursor, else the operands of the command, else its options.
 */
#include "front/completion.h"

/* Arguments of compgen. */
static const char *const offers[OFFER_COUNT] = {
    [OFFER_FILES] = "-f",
    [OFFER_COMMANDS] = "-c",
    [OFFER_PROCESSES] = "-W \"$(ps -eo pid= 2>/dev/null)\"",
};

static void put_value_case(FILE *out, const struct option *option)
{
    enum offer offer = completion_offer(option);

    fputs("            ", out);
    if (option->letter)
        fprintf(out, "-%c|", option->letter);
    fprintf(out, "--%s) ", option->name);
    if (offer == OFFER_WORDS) {
        fputs("COMPREPLY=($(compgen -W \"", out);
        completion_put_words(out, option);
        fputs("\" -- \"$cur\")); ", out);
    } else if (offer != OFFER_NOTHING) {
        fprintf(out, "COMPREPLY=($(compgen %s -- \"$cur\")); ", offers[offer]);
    }
    fputs("return ;;\n", out);
}

/* Where the command to run starts: after "--" or at the first word that is neither an
 * option nor the value of one. Bash splits --option=value into three words. */
static void put_command_search(FILE *out, const struct command *command)
{
    fputs("        for ((i = 2; i < COMP_CWORD; i++)); do\n"
          "            case \"${COMP_WORDS[i]}\" in\n"
          "            --) start=$((i + 1)); break ;;\n"
          "            ",
          out);
    completion_put_value_options(out, command, "|");
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
    enum offer operands = completion_operands(command);

    if (command->max_operands == OPERANDS_REST)
        put_command_search(out, command);
    fputs("        case \"$prev\" in\n", out);
    for (size_t i = 0; table && i < table->count; i++) {
        if (completion_takes_value(command, &table->rows[i]))
            put_value_case(out, &table->rows[i]);
    }
    fputs("        esac\n", out);
    if (operands != OFFER_NOTHING) {
        fputs("        if [[ $cur != -* ]]; then\n            COMPREPLY=($(compgen ", out);
        if (operands == OFFER_WORDS)
            fprintf(out, "-W \"%s\"", command->complete);
        else
            fputs(offers[operands], out);
        fputs(" -- \"$cur\"))\n            return\n        fi\n", out);
    }
    fputs("        words+=\"", out);
    for (const struct command *each = command->subcommands; each && each->name; each++)
        fprintf(out, " %s", each->name);
    for (size_t i = 0; table && i < table->count; i++) {
        if (option_is_in(&table->rows[i], command->scope))
            fprintf(out, " --%s", table->rows[i].name);
    }
    fputs("\"\n", out);
}

void completion_bash(FILE *out, const struct program *program)
{
    const struct command *each;

    fprintf(out, "# bash completion for %s, generated: do not edit\n_", program->name);
    completion_put_identifier(out, program->name);
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
    each = completion_next(program->commands);
    for (; each; each = completion_next(each + 1))
        fprintf(out, " %s", each->name);
    fprintf(out,
            "%s\"\n    fi\n"
            "    case \"$command\" in\n",
            program->main_command ? "" : " --help --version");
    each = completion_next(program->commands);
    for (; each; each = completion_next(each + 1)) {
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
          "} &&\n    complete -F _",
          out);
    completion_put_identifier(out, program->name);
    fprintf(out, " %s\n", program->name);
}
