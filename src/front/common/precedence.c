/* SPDX-License-Identifier: Apache-2.0 */
/*
 * precedence.c - option, then variable, then config file, then default.
 *
 * The strongest is read first and marks what it gave; a weaker one only fills
 * what is still open. So tags of the command line replace those of a config
 * file, and a variable that an option overrides is not even looked at.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "front/common/config.h"
#include "front/common/settings.h"

static void variable_name(const char *option, char *buf, size_t size)
{
    (void)snprintf(buf, size, "SPOOR_%s", option); /* names are short: ours */
    for (char *c = buf; *c; c++)
        *c = *c == '-' ? '_' : (char)toupper((unsigned char)*c);
}

/* A repeatable option takes several values from one variable, between commas. */
static int apply_list(struct cli_settings *settings, const struct cli_option *option,
                      const char *text, struct spoor_error *err)
{
    AUTO_FREE char *copy = strdup(text);
    char *rest = copy;
    char *value;

    if (!copy)
        return error_set(err, ENOMEM, "out of memory");
    while ((value = strsep(&rest, ",")) != NULL) {
        int r = option->apply(settings, option, value, err);

        if (r < 0)
            return r;
    }
    return 0;
}

static int apply_variables(struct cli_settings *settings, unsigned scope, uint32_t *given,
                           struct spoor_error *err)
{
    for (size_t i = 0; i < settings_table.count; i++) {
        const struct cli_option *option = &settings_table.rows[i];
        uint32_t bit = UINT32_C(1) << i;
        const char *text;
        char name[64];
        int r;

        if (!(option->flags & scope) || (option->flags & OPTION_NO_VARIABLE) || *given & bit)
            continue;
        variable_name(option->name, name, sizeof(name));
        text = getenv(name);
        if (!text || *text == '\0')
            continue;
        r = option->flags & OPTION_REPEATABLE ? apply_list(settings, option, text, err)
                                              : option->apply(settings, option, text, err);
        if (r < 0)
            return error_prefix(err, r, "%s", name);
        *given |= bit;
    }
    return 0;
}

/* attach: options may stand behind the PID too. */
static int read_operands(struct cli_settings *settings, unsigned scope, int argc,
                         char *const *argv, int next, uint32_t *given, struct spoor_error *err)
{
    const struct cli_option *pid = option_find(&settings_table, "pid", strlen("pid"));

    while (next < argc && settings->action == CLI_WORK) {
        if (settings->pid)
            return error_set(err, EINVAL, "one process at a time: '%s' is one too many",
                             argv[next]);
        if (settings_set_pid(settings, argv[next], err) < 0)
            return -EINVAL;
        *given |= UINT32_C(1) << (pid - settings_table.rows);
        next = option_parse(&settings_table, scope, argc, argv, next + 1, settings, given, err);
        if (next < 0)
            return next;
    }
    return next;
}

/* Who gave it is said where it turns out later that a GPU is not there. */
static void note_source(struct cli_settings *settings, enum cli_source source)
{
    if (settings->gpus && settings->gpus_source == CLI_NOBODY)
        settings->gpus_source = source;
}

int settings_load(struct cli_settings *settings, unsigned scope, int argc, char *const *argv,
                  struct spoor_error *err)
{
    uint32_t given = 0;
    int operand, r;

    operand = option_parse(&settings_table, scope, argc, argv, 1, settings, &given, err);
    if (operand >= 0 && scope == OPTION_ATTACH)
        operand = read_operands(settings, scope, argc, argv, operand, &given, err);
    if (operand < 0 || settings->action != CLI_WORK)
        return operand;
    if (scope & (OPTION_DOCTOR | OPTION_INFO | OPTION_AGENT) && operand < argc)
        return error_set(err, EINVAL, "%s takes no operand: '%s'", argv[0], argv[operand]);
    note_source(settings, CLI_OPTION);
    /* An agent is told all by its program; the variables are for a person's spoor. */
    r = scope == OPTION_AGENT ? 0 : apply_variables(settings, scope, &given, err);
    if (r < 0)
        return r;
    note_source(settings, CLI_VARIABLE);
    if (settings->config_path) {
        r = config_apply(settings->config_path, scope, given, settings, err);
        if (r < 0)
            return r;
        note_source(settings, CLI_FILE);
    }
    if (settings->is_append && settings->is_no_clobber)
        return error_set(err, EINVAL, "--append and --no-clobber exclude each other");
    return operand;
}
