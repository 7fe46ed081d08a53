/* SPDX-License-Identifier: Apache-2.0 */
/* command_doctor.c - spoor doctor: the measuring ladder, as this machine has it. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/compiler.h"
#include "cli/command.h"
#include "cli/help.h"
#include "cli/message.h"
#include "cli/outputs.h"

struct ladder {
    char quantity[64]; /* of the rung before */
    bool is_served;    /* a better source of that quantity is in use */
    int source_width;  /* of the widest */
    bool has_color;
    unsigned rung_count, available_count;
};

static void measure(const struct spoor_rung *rung, void *data)
{
    struct ladder *ladder = data;
    int width = (int)strlen(rung->source);

    if (width > ladder->source_width)
        ladder->source_width = width;
    ladder->rung_count++;
    ladder->available_count += rung->is_available;
}

static void print_rung(const struct spoor_rung *rung, void *data)
{
    struct ladder *ladder = data;
    int indent = 8 + ladder->source_width + 2;
    const char *word;

    if (strncmp(ladder->quantity, rung->quantity, sizeof(ladder->quantity) - 1) != 0) {
        printf("\n%s%s%s\n", ladder->has_color ? "\033[1m" : "", rung->quantity,
               ladder->has_color ? "\033[0m" : "");
        (void)snprintf(ladder->quantity, sizeof(ladder->quantity), "%s", rung->quantity);
        ladder->is_served = false;
    }
    word = !rung->is_available ? "no" : ladder->is_served ? "yes" : "used";
    ladder->is_served |= rung->is_available;
    printf("  %s%-4s%s  %-*s",
           !ladder->has_color   ? ""
           : rung->is_available ? "\033[32m"
                                : "\033[31m",
           word, ladder->has_color ? "\033[0m" : "", rung->why_not ? ladder->source_width : 0,
           rung->source);
    if (rung->why_not) {
        fputs("  ", stdout);
        help_wrap(stdout, rung->why_not, indent, indent);
    } else {
        putchar('\n');
    }
    if (rung->remedy)
        printf("%*sto change it: %s\n", 8, "", rung->remedy);
}

int command_doctor(const struct command *command, int argc, char **argv)
{
    CLEANUP(settings_done) struct cli_settings settings;
    struct ladder ladder = { 0 };
    struct spoor_error err = { 0 };
    int operand = 0;
    int code;

    settings_init(&settings);
    code = command_begin(command, argc, argv, &settings, &operand);
    if (code >= 0)
        return code;
    ladder.has_color = outputs_has_color(settings.color, STDOUT_FILENO);
    /* Once for the widths, once to print: the strings live for the call only. */
    if (spoor_machine_check(NULL, measure, &ladder, &err) < 0)
        return complain("%s", err.message);
    puts("What can be measured here, the best source of each quantity first: 'used' by a run,\n"
         "'yes' where it could be, 'no' where it cannot.");
    if (spoor_machine_check(NULL, print_rung, &ladder, &err) < 0)
        return complain("%s", err.message);
    printf("\n%u of %u sources can be used.\n", ladder.available_count, ladder.rung_count);
    return 0;
}
