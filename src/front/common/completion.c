/* SPDX-License-Identifier: Apache-2.0 */
/*
 * completion.c - the bash completion, written from the tables.
 */
#include <string.h>

#include "front/common/help.h"

static void put_words(FILE *out, const struct command *command)
{
    for (size_t i = 0; i < settings_table.count; i++) {
        const struct cli_option *option = &settings_table.rows[i];

        if (option->flags & command->scope)
            fprintf(out, " --%s", option->name);
    }
}

/* One case of the values that follow an option. */
static void put_value_case(FILE *out, const struct cli_option *option)
{
    fputs("    ", out);
    if (option->letter)
        fprintf(out, "-%c|", option->letter);
    fprintf(out, "--%s) ", option->name);
    if (strcmp(option->value, "FILE") == 0)
        fputs("COMPREPLY=($(compgen -f -- \"$cur\")); return ;;\n", out);
    else if (strcmp(option->value, "PID") == 0)
        fputs("COMPREPLY=($(compgen -W \"$(ps -eo pid= 2>/dev/null)\" -- \"$cur\")); "
              "return ;;\n",
              out);
    else if (strchr(option->value, '|')) {
        fputs("COMPREPLY=($(compgen -W \"", out);
        for (const char *c = option->value; *c; c++)
            fputc(*c == '|' ? ' ' : *c, out);
        fputs("\" -- \"$cur\")); return ;;\n", out);
    } else {
        fputs("return ;;\n", out);
    }
}

static void put_values(FILE *out)
{
    fputs("    case \"$prev\" in\n", out);
    for (size_t i = 0; i < settings_table.count; i++) {
        if (settings_table.rows[i].value)
            put_value_case(out, &settings_table.rows[i]);
    }
    fputs("    esac\n", out);
}

/* Where the command to run starts: behind "--" or the first word that is neither an
 * option nor the value of one. */
static void put_command_search(FILE *out)
{
    fputs("    for ((i = 2; i < COMP_CWORD; i++)); do\n"
          "        case \"${COMP_WORDS[i]}\" in\n"
          "        --) start=$((i + 1)); break ;;\n"
          "        ",
          out);
    for (size_t i = 0, n = 0; i < settings_table.count; i++) {
        const struct cli_option *option = &settings_table.rows[i];

        if (!option->value)
            continue;
        fprintf(out, "%s--%s", n++ ? "|" : "", option->name);
        if (option->letter)
            fprintf(out, "|-%c", option->letter);
    }
    fputs(") ((i++)) ;;\n"
          "        -*) ;;\n"
          "        *) start=$i; break ;;\n"
          "        esac\n"
          "    done\n",
          out);
}

void help_completion_bash(FILE *out)
{
    fputs("# bash completion for spoor, written by 'spoor help --completion bash'\n"
          "_spoor() {\n"
          "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
          "    local words= start= i\n"
          "    if ((COMP_CWORD == 1)); then\n"
          "        COMPREPLY=($(compgen -W \"--help --version",
          out);
    for (const struct command *command = commands; command->name; command++) {
        if (!command->is_hidden)
            fprintf(out, " %s", command->name);
    }
    fputs("\" -- \"$cur\"))\n"
          "        return\n"
          "    fi\n",
          out);
    put_command_search(out);
    fputs("    if [[ ${COMP_WORDS[1]} == run && $start ]]; then\n"
          "        if declare -F _command_offset >/dev/null; then\n"
          "            _command_offset \"$start\"\n"
          "        else\n"
          "            COMPREPLY=($(compgen -c -f -- \"$cur\"))\n"
          "        fi\n"
          "        return\n"
          "    fi\n",
          out);
    put_values(out);
    fputs("    case \"${COMP_WORDS[1]}\" in\n", out);
    for (const struct command *command = commands; command->name; command++) {
        fprintf(out, "    %s) words=\"", command->name);
        put_words(out, command);
        fputs("\" ;;\n", out);
    }
    fputs("    esac\n"
          "    if [[ ${COMP_WORDS[1]} == run && $cur != -* ]]; then\n"
          "        COMPREPLY=($(compgen -c -- \"$cur\"))\n"
          "    elif [[ ${COMP_WORDS[1]} == attach && $cur != -* ]]; then\n"
          "        COMPREPLY=($(compgen -W \"$(ps -eo pid= 2>/dev/null)\" -- \"$cur\"))\n"
          "    else\n"
          "        COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
          "    fi\n"
          "} &&\n"
          "    complete -F _spoor spoor\n",
          out);
}
