/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/compiler.h"
#include "base/error.h"
#include "front/help.h"
#include "front/spoor/outputs.h"
#include "front/spoor/settings.h"
#include "output/text_layout.h"
#include "record/record.h"
#include "run/job_socket.h"
#include "run/process.h"
#include "services/cloud/cloud.h"
#include "text/buffer.h"
#include "text/escape.h"
#include "text/json_writer.h"

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

struct machine {
    const struct settings *settings;
    struct spoor_cloud cloud;
};

/* The library writes to a descriptor: the output, or a memfd. */
static int write_machine(void *data, const struct output *output,
                         UNUSED const struct format_style *style, struct buffer *out,
                         struct spoor_error *err)
{
    const struct machine *machine = data;
    AUTO_CLOSE int file = output->fd < 0 ? memfd_create("output", MFD_CLOEXEC) : -1;
    int r;

    if (output->fd < 0 && file < 0)
        return -errno;
    r = spoor_machine_write(NULL, machine->settings->gpus, &machine->cloud, output->format,
                            output->flags, output->fd < 0 ? file : output->fd, err);
    if (r < 0)
        gpus_name_source(machine->settings, err);
    if (r < 0 || output->fd >= 0)
        return r;
    return lseek(file, 0, SEEK_SET) < 0 ? -errno : buffer_read(out, file, BUFFER_MAX);
}

int command_info(struct settings *settings, UNUSED char **operands, UNUSED int count)
{
    struct root root = ROOT_CLOSED;
    struct spoor_error cloud_err = { 0 };
    struct cloud_facts facts = { 0 };
    struct machine machine = { .settings = settings };
    int r = root_open(NULL, &root);

    if (r == 0)
        r = cloud_find(&root, true, &facts, &cloud_err);
    root_close(&root);
    machine.cloud = cloud_describe(&facts);
    machine.cloud.reason = r < 0 && r != -ENODEV ? cloud_err.message : NULL;
    return outputs_print(settings, FORMATS_TEXT_JSON, NULL, write_machine, &machine);
}

/* ---- doctor ------------------------------------------------------------- */

/* A copy: the library's strings are valid during the callback only. */
struct row {
    char quantity[64];
    char source[64];
    char why_not[192]; /* empty: it is available */
    char remedy[128];  /* empty: none */
    bool is_first;     /* the first source of its quantity */
    bool is_served;    /* a better source of the same quantity is in use */
};

enum { ROWS_MAX = 64 };

struct source_list {
    struct row rows[ROWS_MAX];
    size_t count;
    int source_width; /* width of the widest source */
    unsigned available_count;
};

static void copy(char *buf, size_t size, const char *text)
{
    (void)snprintf(buf, size, "%s", text ? text : ""); /* may be truncated */
}

static void collect(const struct spoor_source *source, void *data)
{
    struct source_list *list = data;
    int width = (int)strlen(source->source);
    struct row *row = &list->rows[list->count];

    if (list->count == ROWS_MAX)
        return;
    copy(row->quantity, sizeof(row->quantity), source->quantity);
    copy(row->source, sizeof(row->source), source->source);
    copy(row->why_not, sizeof(row->why_not), source->why_not);
    copy(row->remedy, sizeof(row->remedy), source->remedy);
    row->is_first = list->count++ == 0 || strcmp(row->quantity, row[-1].quantity) != 0;
    row->is_served = !row->is_first && (row[-1].is_served || !row[-1].why_not[0]);
    if (width > list->source_width)
        list->source_width = width;
    list->available_count += source->is_available;
}

static void add_source(const struct source_list *list, const struct row *row, bool has_color,
                       struct buffer *out)
{
    bool is_available = !row->why_not[0];
    size_t indent = 8 + (size_t)list->source_width + 2;
    const char *word = !is_available ? "no  " : row->is_served ? "yes " : "used";
    struct page page = { .out = out, .has_color = has_color };

    if (row->is_first) {
        page_blank(&page);
        page_add(&page, PAGE_BOLD, row->quantity);
        page_blank(&page);
    }
    buffer_add_text(out, "  ");
    page_add(&page, is_available ? PAGE_GREEN : PAGE_RED, word);
    buffer_add_text(out, "  ");
    escape_unsafe(row->source, out);
    if (is_available) {
        page_blank(&page);
    } else {
        buffer_format(out, "%*s", (int)(indent - 8 - strlen(row->source)), "");
        help_add(row->why_not, indent, indent, out);
    }
    if (row->remedy[0]) {
        buffer_add_text(out, "        fix: ");
        help_add(row->remedy, strlen("        fix: "), strlen("        fix: "), out);
    }
}

static void write_sources_json(const struct source_list *list, struct buffer *out)
{
    struct json_writer json = { .out = out };

    json_begin(&json, NULL, '{');
    json_add_text(&json, "schema", RECORD_SCHEMA);
    json_begin(&json, "sources", '[');
    for (size_t i = 0; i < list->count; i++) {
        const struct row *row = &list->rows[i];
        bool is_available = !row->why_not[0];

        json_begin(&json, NULL, '{');
        json_add_text(&json, "quantity", row->quantity);
        json_add_text(&json, "source", row->source);
        json_add_bool(&json, "available", is_available);
        json_add_bool(&json, "used", is_available && !row->is_served);
        json_add_text(&json, "reason", is_available ? NULL : row->why_not);
        json_add_text(&json, "fix", row->remedy[0] ? row->remedy : NULL);
        json_end(&json);
    }
    json_end(&json);
    json_end(&json);
    buffer_add(out, "\n", 1);
}

static int write_sources(void *data, const struct output *output,
                         const struct format_style *style, struct buffer *out,
                         UNUSED struct spoor_error *err)
{
    const struct source_list *list = data;

    if (output->format == SPOOR_JSON) {
        write_sources_json(list, out);
        return 0;
    }
    help_add("Sources of each quantity on this machine, best first. A run uses those marked "
             "'used'; those marked 'yes' would work too, those marked 'no' do not.",
             0, 0, out);
    for (size_t i = 0; i < list->count; i++)
        add_source(list, &list->rows[i], style->has_color, out);
    buffer_format(out, "\n%u of %zu sources are available.\n", list->available_count,
                  list->count);
    return 0;
}

int command_doctor(struct settings *settings, UNUSED char **operands, UNUSED int count)
{
    AUTO_FREE struct source_list *list = calloc(1, sizeof(*list));
    struct spoor_options options = session_options(settings);
    struct spoor_error err = { 0 };

    if (!list)
        return complain("out of memory");
    if (spoor_machine_check(&options, collect, list, &err) < 0)
        return complain("%s", err.message);
    return outputs_print(settings, FORMATS_TEXT_JSON, NULL, write_sources, list);
}

/* ---- phase --------------------------------------------------------------
 *
 * The runs that the caller is part of are notified, and their reports list the phase. A row is
 * written to a file if a file is named, or if there is no such run.
 */

#define PHASE_FILE_VARIABLE "SPOOR_PHASE_FILE"

/* Returns the file of the option or the variable; NULL: none is named. */
static const char *named_file(const struct settings *settings)
{
    const char *variable = getenv(PHASE_FILE_VARIABLE);

    if (settings->phase_file)
        return settings->phase_file;
    return variable && *variable ? variable : NULL;
}

/* Makes a file name that is unique to the calling process. The start time distinguishes the
 * process from others with the same PID, as in containers that share a directory. */
static int default_file(pid_t process, char **ret, struct spoor_error *err)
{
    struct pid_stat stat = { 0 };
    struct root root = ROOT_CLOSED;
    int r = root_open(NULL, &root);

    if (r == 0)
        r = pid_stat_read(NULL, &root, process, &stat);
    root_close(&root);
    if (r < 0)
        return error_set(err, ESRCH,
                         "cannot name a phase file for the calling process: "
                         "pass --file");
    return asprintf(ret, "%d-%llu.csv", (int)process, (unsigned long long)stat.start_ticks) < 0
               ? error_set(err, ENOMEM, "out of memory")
               : 0;
}

static void ignore_warning(UNUSED const char *message)
{
}

/* A phase outside a run is no error: the script must go on. Warns once per phase and names the
 * file. */
static void note_missing_run(const struct phase_mark *mark, const char *path)
{
    if (!mark->is_stop)
        program_warn(&spoor_program,
                     "phase '%s': not in a 'spoor run'; its start and stop are written to '%s'",
                     mark->name, path);
    else if (access(path, F_OK) < 0)
        program_warn(&spoor_program,
                     "phase '%s': not in a 'spoor run', and this process has not started it",
                     mark->name);
}

static int write_row(const struct settings *settings, const struct phase_mark *mark,
                     struct spoor_error *err)
{
    const char *named = named_file(settings);
    AUTO_FREE char *path = NULL;
    size_t run_count =
        phase_send(mark->name, mark->is_stop, settings->is_quiet ? ignore_warning : spoor_warn);
    int r;

    if (named)
        return phase_file_append(named, mark, false, err);
    if (run_count > 0)
        return 0;
    r = default_file((pid_t)mark->process_id, &path, err);
    if (r < 0 || !path) /* the static analyzer does not model asprintf() */
        return r;
    if (!settings->is_quiet)
        note_missing_run(mark, path);
    return phase_file_append(path, mark, true, err);
}

int command_phase(const struct command *command, int argc, char **argv)
{
    CLEANUP(settings_done) struct settings settings;
    struct arguments arguments = ARGUMENTS_INIT(&spoor_program, command, &settings);
    char **words;
    struct phase_mark mark = {
        .process_id = getppid(), /* the caller is in the phase, not this process */
        .timestamp = (double)clock_now().realtime_ns / (double)NS_PER_SECOND,
    };
    struct spoor_error err;

    /* Keeps this process out of the job; cannot fail. */
    (void)prctl(PR_SET_NAME, SPOOR_AGENT_NAME);
    settings_init(&settings);
    if (settings_load(&arguments, argc, argv, &err) < 0)
        return complain("%s", err.message);
    if (arguments.action != ACTION_WORK)
        return program_show(&arguments);
    if (arguments.operand_count < 2)
        return complain("missing argument: spoor phase start|stop NAME");
    words = arguments.operands;
    mark.is_stop = strcmp(words[0], "stop") == 0;
    if (!mark.is_stop && strcmp(words[0], "start") != 0)
        return complain("invalid argument '%s': expected start or stop", words[0]);
    if (*words[1] == '\0')
        return complain("the name of the phase must not be empty");
    mark.name = words[1];
    return write_row(&settings, &mark, &err) < 0 ? complain("%s", err.message) : 0;
}
