/* SPDX-License-Identifier: Apache-2.0 */
#include "front/completion.h"

#include <errno.h>
#include <string.h>

int completion_write(FILE *out, const struct program *program, const char *shell)
{
    static const struct {
        const char *name;
        void (*write)(FILE *out, const struct program *program);
    } shells[] = {
        { "bash", completion_bash },
        { "zsh", completion_zsh },
        { "fish", completion_fish },
    };

    for (size_t i = 0; i < ARRAY_SIZE(shells); i++) {
        if (strcmp(shells[i].name, shell) == 0) {
            shells[i].write(out, program);
            return 0;
        }
    }
    return -EINVAL;
}

static enum offer find_offer(const char *complete)
{
    if (strcmp(complete, COMPLETE_FILES) == 0)
        return OFFER_FILES;
    if (strcmp(complete, COMPLETE_COMMANDS) == 0)
        return OFFER_COMMANDS;
    return strcmp(complete, COMPLETE_PIDS) == 0 ? OFFER_PROCESSES : OFFER_WORDS;
}

enum offer completion_offer(const struct option *option)
{
    if (option->complete)
        return find_offer(option->complete);
    return option->value && strchr(option->value, '|') ? OFFER_WORDS : OFFER_NOTHING;
}

enum offer completion_operands(const struct command *command)
{
    return command->complete ? find_offer(command->complete) : OFFER_NOTHING;
}

bool completion_takes_value(const struct command *command, const struct option *option)
{
    return option_is_in(option, command->scope) && option->value &&
           !(option->flags & OPTION_OPTIONAL);
}

void completion_put_words(FILE *out, const struct option *option)
{
    for (const char *c = option->complete ? option->complete : option->value; *c; c++)
        fputc(*c == '|' ? ' ' : *c, out);
}

void completion_put_value_options(FILE *out, const struct command *command,
                                  const char *separator)
{
    const char *between = "";

    for (size_t i = 0; i < command->options->count; i++) {
        const struct option *option = &command->options->rows[i];

        if (!completion_takes_value(command, option))
            continue;
        fputs(between, out);
        if (option->letter)
            fprintf(out, "-%c%s", option->letter, separator);
        fprintf(out, "--%s", option->name);
        between = separator;
    }
}

void completion_put_identifier(FILE *out, const char *name)
{
    for (const char *c = name; *c; c++)
        fputc(*c == '-' ? '_' : *c, out);
}

int completion_short_help(const char *help)
{
    size_t length = strcspn(help, ",;:(");

    while (length > 0 && help[length - 1] == ' ')
        length--;
    return (int)length;
}

const struct command *completion_next(const struct command *each)
{
    while (each->name && each->is_hidden)
        each++;
    return each->name ? each : NULL;
}
