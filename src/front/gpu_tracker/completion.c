/* SPDX-License-Identifier: Apache-2.0 */
/* completion.c - the bash completion of gpu-tracker, written from its tables. */
#include <string.h>

#include "base/compiler.h"
#include "front/common/help.h"
#include "front/gpu_tracker/options.h"
#include "front/gpu_tracker/subtrack.h"

#define MEMORY_UNITS "bytes kilobytes megabytes gigabytes terabytes"

/* What follows an option, by the name of its value. */
static const struct {
    const char *value;
    const char *compgen; /* how bash lists the choices */
} values[] = {
    { "<command>", "-c" },
    { "<output>", "-f" },
    { "<config-file>", "-f" },
    { "<tracking-file>", "-f" },
    { "<sub-track-file>", "-f" },
    { "<file-path>", "-f" },
    { "<format>", "-W 'text json'" },
    { "<ram-unit>", "-W '" MEMORY_UNITS "'" },
    { "<gpu-ram-unit>", "-W '" MEMORY_UNITS "'" },
    { "<time-unit>", "-W 'seconds minutes hours days'" },
    { "<gpu-brand>", "-W 'nvidia amd'" },
    { "<spelling>", "-W 'descendants descendents'" },
    { "<statistic>", "-W 'min max mean std'" },
};

static const char *compgen_of(const char *value)
{
    for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
        if (strcmp(values[i].value, value) == 0)
            return values[i].compgen;
    }
    return NULL;
}

static void put_cases(FILE *out, const struct option_table *table)
{
    for (size_t i = 0; i < table->count; i++) {
        const struct cli_option *option = &table->rows[i];
        const char *compgen = option->value ? compgen_of(option->value) : NULL;

        if (!option->value)
            continue;
        fputs("    ", out);
        if (option->letter)
            fprintf(out, "-%c|", option->letter);
        fprintf(out, "--%s) ", option->name);
        if (compgen)
            fprintf(out, "COMPREPLY=($(compgen %s -- \"$cur\")); ", compgen);
        fputs("return ;;\n", out);
    }
}

static void put_names(FILE *out, const struct option_table *table)
{
    for (size_t i = 0; i < table->count; i++)
        fprintf(out, " --%s", table->rows[i].name);
}

static void put_table(FILE *out, const struct option_table *table, const char *words)
{
    fputs("    case \"$prev\" in\n", out);
    put_cases(out, table);
    fprintf(out, "    esac\n    COMPREPLY=($(compgen -W \"%s", words);
    put_names(out, table);
    fputs("\" -- \"$cur\"))\n", out);
}

void help_completion_gpu_tracker(FILE *out)
{
    fputs("# bash completion for gpu-tracker, written by "
          "'spoor help --completion bash gpu-tracker'\n"
          "_gpu_tracker() {\n"
          "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
          "    # bash takes --option=value for three words\n"
          "    if [[ $cur == = ]]; then\n"
          "        cur=\n"
          "    elif [[ $prev == = ]]; then\n"
          "        prev=${COMP_WORDS[COMP_CWORD-2]}\n"
          "    fi\n"
          "    if [[ ${COMP_WORDS[1]} == sub-track ]] && ((COMP_CWORD > 1)); then\n",
          out);
    put_table(out, &gpu_tracker_subtrack_table, "combine analyze compare");
    fputs("        return\n    fi\n", out);
    put_table(out, &gpu_tracker_table, "sub-track");
    fputs("} &&\n    complete -F _gpu_tracker gpu-tracker\n", out);
}
