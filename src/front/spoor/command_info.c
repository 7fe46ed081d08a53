/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/compiler.h"
#include "base/error.h"
#include "front/help.h"
#include "front/spoor/outputs.h"
#include "front/spoor/program.h"
#include "front/spoor/settings.h"
#include "run/job_socket.h"
#include "run/process.h"
#include "services/cloud/cloud.h"

/* ---- help --------------------------------------------------------------- */

int command_help(const struct command *command, int argc, char **argv)
{
    const char *topic = argc > 1 ? argv[1] : NULL;

    if (!topic || strcmp(topic, "--help") == 0 || strcmp(topic, "-h") == 0) {
        help_overview(stdout, &spoor_program);
        return 0;
    }
    command = command_find(spoor_program.commands, topic);
    if (!command)
        return program_refuse_command(&spoor_program, topic, NULL);
    if (argc > 2)
        return complain("unexpected argument '%s'", argv[2]);
    help_command(stdout, &spoor_program, command);
    return 0;
}

/* ---- info --------------------------------------------------------------- */

int command_info(const struct command *command, int argc, char **argv)
{
    CLEANUP(settings_done) struct settings settings;
    struct arguments arguments;
    struct root root = ROOT_CLOSED;
    struct spoor_error err = { 0 }, cloud_err = { 0 };
    struct cloud_facts facts = { 0 };
    struct spoor_cloud cloud;
    int code = settings_begin(&settings, &arguments, command, argc, argv);
    int r;

    if (code >= 0)
        return code;
    r = root_open(NULL, &root);
    if (r == 0)
        r = cloud_find(&root, &facts, &cloud_err);
    root_close(&root);
    cloud = cloud_describe(&facts);
    cloud.reason = r < 0 && r != -ENODEV ? cloud_err.message : NULL;
    if (spoor_machine_write(NULL, settings.gpus, &cloud, settings.format, STDOUT_FILENO, &err) <
        0) {
        gpus_name_source(&settings, &err);
        return complain("%s", err.message);
    }
    return 0;
}

/* ---- doctor ------------------------------------------------------------- */

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

/* ---- phase --------------------------------------------------------------
 *
 * The runs around the caller are notified, and their reports have the phase. A file gets a row if one is
 * named, or if there is no such run.
 */

#define PHASE_FILE_VARIABLE "SPOOR_PHASE_FILE"

/* From the option or the variable; NULL: none is named. */
static const char *named_file(const struct settings *settings)
{
    const char *variable = getenv(PHASE_FILE_VARIABLE);

    if (settings->phase_file)
        return settings->phase_file;
    return variable && *variable ? variable : NULL;
}

/* A file for the calling process alone: its start time distinguishes it from others with the same
 * PID, as in containers that share a directory. */
static int default_file(pid_t process, char **ret, struct spoor_error *err)
{
    struct pid_stat stat = { 0 };
    struct root root = ROOT_CLOSED;
    int r = root_open(NULL, &root);

    if (r == 0)
        r = pid_stat_read_once(&root, process, &stat);
    root_close(&root);
    if (r < 0)
        return error_set(err, ESRCH,
                         "cannot name a phase file for the calling process: "
                         "pass --file");
    return asprintf(ret, "%d-%llu.csv", (int)process, (unsigned long long)stat.start_ticks) < 0
               ? error_set(err, ENOMEM, "out of memory")
               : 0;
}

static int write_row(const struct settings *settings, const struct phase_mark *mark,
                     struct spoor_error *err)
{
    const char *named = named_file(settings);
    AUTO_FREE char *path = NULL;
    size_t run_count = phase_tell(mark->name, mark->is_stop, spoor_say);
    int r;

    if (named)
        return phase_file_append(named, mark, false, err);
    if (run_count > 0)
        return 0;
    r = default_file((pid_t)mark->process_id, &path, err);
    return r < 0 ? r : phase_file_append(path, mark, true, err);
}

int command_phase(const struct command *command, int argc, char **argv)
{
    CLEANUP(settings_done) struct settings settings;
    struct arguments arguments;
    const char *const *words = arguments.operands;
    struct phase_mark mark = {
        .process_id = getppid(), /* the caller is in the phase, not we */
        .timestamp = (double)clock_now().realtime_ns / (double)NS_PER_SECOND,
    };
    struct spoor_error err;
    int code;

    (void)prctl(PR_SET_NAME, SPOOR_AGENT_NAME); /* we are not part of the job; cannot fail */
    code = settings_begin(&settings, &arguments, command, argc, argv);

    if (code >= 0)
        return code;
    if (arguments.operand_count < 2)
        return complain("missing argument: spoor phase start|stop NAME");
    mark.is_stop = strcmp(words[0], "stop") == 0;
    if (!mark.is_stop && strcmp(words[0], "start") != 0)
        return complain("invalid argument '%s': expected start or stop", words[0]);
    if (*words[1] == '\0')
        return complain("the name of the phase must not be empty");
    mark.name = words[1];
    return write_row(&settings, &mark, &err) < 0 ? complain("%s", err.message) : 0;
}
