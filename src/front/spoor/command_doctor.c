/* SPDX-License-Identifier: Apache-2.0 */
/* command_doctor.c - spoor doctor: what this machine can measure, and how. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/compiler.h"
#include "front/help.h"
#include "front/spoor/outputs.h"
#include "front/spoor/program.h"
#include "front/spoor/session_options.h"

/* A copy: the library's strings are valid during the callback only. */
struct row {
    char quantity[64];
    char source[64];
    char why_not[192]; /* empty: it is available */
    char remedy[128];  /* empty: none */
};

enum { ROWS_MAX = 64 };

struct source_list {
    struct row rows[ROWS_MAX];
    size_t count;
    int source_width; /* of the widest */
    bool has_color;
    unsigned available_count;
};

static void copy(char *buf, size_t size, const char *text)
{
    (void)snprintf(buf, size, "%s", text ? text : ""); /* cut is fine */
}

static void collect(const struct spoor_source *source, void *data)
{
    struct source_list *list = data;
    int width = (int)strlen(source->source);
    struct row *row;

    if (list->count == ROWS_MAX)
        return;
    row = &list->rows[list->count++];
    copy(row->quantity, sizeof(row->quantity), source->quantity);
    copy(row->source, sizeof(row->source), source->source);
    copy(row->why_not, sizeof(row->why_not), source->why_not);
    copy(row->remedy, sizeof(row->remedy), source->remedy);
    if (width > list->source_width)
        list->source_width = width;
    list->available_count += source->is_available;
}

/* `is_served`: a better source of the same quantity is in use. */
static void print_row(const struct source_list *list, const struct row *row, bool is_served)
{
    bool is_available = !row->why_not[0];
    int indent = 8 + list->source_width + 2;
    const char *word = !is_available ? "no" : is_served ? "yes" : "used";
    const char *color = is_available ? "\033[32m" : "\033[31m";

    printf("  %s%-4s%s  %-*s", list->has_color ? color : "", word,
           list->has_color ? "\033[0m" : "", is_available ? 0 : list->source_width,
           row->source);
    if (is_available) {
        putchar('\n');
    } else {
        fputs("  ", stdout);
        help_wrap(stdout, row->why_not, indent, indent);
    }
    if (row->remedy[0]) {
        int column = printf("%*sfix: ", 8, "");

        help_wrap(stdout, row->remedy, column, column);
    }
}

static void print_rows(const struct source_list *list)
{
    bool is_served = false;

    for (size_t i = 0; i < list->count; i++) {
        const struct row *row = &list->rows[i];

        if (i == 0 || strcmp(row->quantity, list->rows[i - 1].quantity) != 0) {
            printf("\n%s%s%s\n", list->has_color ? "\033[1m" : "", row->quantity,
                   list->has_color ? "\033[0m" : "");
            is_served = false;
        }
        print_row(list, row, is_served);
        is_served |= !row->why_not[0];
    }
}

int command_doctor(const struct command *command, int argc, char **argv)
{
    CLEANUP(settings_done) struct settings settings;
    struct arguments arguments;
    struct source_list list = { 0 };
    struct spoor_options options;
    struct spoor_error err = { 0 };
    int code = settings_begin(&settings, &arguments, command, argc, argv);

    if (code >= 0)
        return code;
    list.has_color = outputs_has_color(settings.color, STDOUT_FILENO);
    options = session_options(&settings);
    if (spoor_machine_check(&options, collect, &list, &err) < 0)
        return complain("%s", err.message);
    help_wrap(stdout,
              "Sources of each quantity on this machine, best first. A run uses those "
              "marked 'used'; those marked 'yes' would work too, those marked 'no' do not.",
              0, 0);
    print_rows(&list);
    printf("\n%u of %zu sources are available.\n", list.available_count, list.count);
    return 0;
}
