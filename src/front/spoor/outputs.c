/* SPDX-License-Identifier: Apache-2.0 */
#include "front/spoor/outputs.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/amount.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "front/agent.h"
#include "front/spoor/settings.h"
#include "group/folder.h"
#include "history/store.h"
#include "output/output_file.h"
#include "output/save.h"
#include "output/stream.h"
#include "record/row.h"
#include "run/process.h"
#include "services/cloud/cloud.h"

bool outputs_has_color(enum color color, int fd)
{
    const char *no_color = getenv("NO_COLOR");
    const char *terminal = getenv("TERM");

    if (color != COLOR_AUTO)
        return color == COLOR_ALWAYS;
    return isatty(fd) && !(no_color && *no_color) &&
           !(terminal && strcmp(terminal, "dumb") == 0);
}

/* Returns whether a path has the suffix of a format that spoor does not write. */
static bool promises_other_format(const char *path)
{
    static const char *const suffixes[] = { ".htm",    ".xml",    ".yaml", ".yml",  ".toml",
                                            ".jsonl",  ".ndjson", ".tsv",  ".xlsx", ".parquet",
                                            ".sqlite", ".db",     ".pdf" };

    for (size_t i = 0; i < ARRAY_SIZE(suffixes); i++) {
        if (path_has_suffix(basename(path), suffixes[i]))
            return true;
    }
    return false;
}

/* The suffix of a name selects the format, unless one file and its format were given
 * together. */
static int file_format(const struct settings *settings, const char *path,
                       enum spoor_format *ret, struct spoor_error *err)
{
    bool has_suffix = spoor_format_for_path(path, ret);

    if (settings->has_format &&
        ((settings->is_format_option && settings->outputs.count == 1) || !has_suffix))
        *ret = settings->format;
    else if (!has_suffix && promises_other_format(path))
        return error_set(
            err, EINVAL,
            "--output '%s': %s is not supported; name a .json, .csv, .html or .txt "
            "file, or give --format",
            path, strrchr(path, '.'));
    return 0;
}

static const char *stdout_name(const char *path)
{
    return strcmp(path, "-") == 0 ? "/dev/stdout" : path;
}

static struct output *add(struct outputs *outputs, enum spoor_format format, int fd,
                          const char *path)
{
    struct output *output = &outputs->items[outputs->count++];

    *output =
        (struct output){ .format = format, .fd = fd, .path = path, .save = outputs->save };
    return output;
}

/* Text on a descriptor may have color, text in a file has none. */
static void add_descriptor(struct outputs *outputs, const struct settings *settings,
                           enum spoor_format format, int fd, const char *name)
{
    add(outputs, format, fd, name)->flags =
        outputs_has_color(settings->color, fd) ? SPOOR_COLOR : 0;
}

static int plan_special(const char *path, enum spoor_format format, struct outputs *plan,
                        struct spoor_error *err)
{
    int r = output_file_open_special(path, err);

    if (r < 0)
        return r;
    add(plan, format, r, path)->owns_fd = true;
    return 0;
}

static int plan_file(const struct settings *settings, const char *path, struct outputs *plan,
                     struct spoor_error *err)
{
    int fd = strcmp(path, "-") == 0 ? STDOUT_FILENO : output_file_descriptor(path);
    enum spoor_format format = SPOOR_TEXT;
    int r = file_format(settings, path, &format, err);

    if (r < 0)
        return r;
    if (fd >= 0) {
        r = output_file_check_descriptor(fd, err);
        add_descriptor(plan, settings, format, fd, path);
    } else if (output_file_is_special(path)) {
        r = plan_special(path, format, plan, err);
    } else {
        r = save_check(path, format, plan->save, err);
        add(plan, format, -1, path);
    }
    return r < 0 ? error_prefix(err, r, "--output '%s'", path) : 0;
}

/* A page is a complete document: --append does not apply to it. */
static int plan_page(const struct settings *settings, struct outputs *plan,
                     struct spoor_error *err)
{
    const char *path = settings->report_path;
    enum spoor_save save = settings->is_no_clobber ? SPOOR_NO_CLOBBER : SPOOR_REPLACE;
    int r;

    r = save_check(path, SPOOR_HTML, save, err);
    if (r < 0)
        return error_prefix(err, r, "--report '%s'", path);
    if (settings->is_append && access(path, F_OK) == 0)
        program_warn(&spoor_program,
                     "--append does not apply to a page: '%s' will be replaced; for a page of "
                     "several runs, use 'spoor report FILE...'",
                     path);
    add(plan, SPOOR_HTML, -1, path)->save = save;
    return 0;
}

static int check_stream(const struct settings *settings, const struct spoor_stream *how,
                        struct spoor_error *err)
{
    enum output_mode mode = settings->is_append       ? OUTPUT_APPEND
                            : settings->is_no_clobber ? OUTPUT_NO_CLOBBER
                                                      : OUTPUT_TRUNCATE;
    struct stream stream;
    int r;

    r = stream_find(how->path, how->dialect, how->format, !settings->has_no_job, &stream, err);
    if (r == 0)
        r = stream_check(&stream, how->path, mode, err);
    return r < 0 ? error_prefix(err, r, "--samples '%s'", how->path) : 0;
}

struct named_file {
    const char *option, *path;
};

static size_t list_files(const struct settings *settings, struct named_file *files)
{
    size_t count = 0;

    for (size_t i = 0; i < settings->outputs.count; i++)
        files[count++] = (struct named_file){ "--output", settings->outputs.items[i] };
    if (settings->report_path)
        files[count++] = (struct named_file){ "--report", settings->report_path };
    if (settings->metrics_path)
        files[count++] = (struct named_file){ "--metrics", settings->metrics_path };
    for (size_t i = 0; i < settings->stream_count; i++)
        files[count++] = (struct named_file){ "--samples", settings->streams[i].path };
    return count;
}

/* Called before any file is opened. */
static int check_names(const struct settings *settings, struct spoor_error *err)
{
    struct named_file files[SETTINGS_OUTPUTS_MAX + 2 + SPOOR_STREAMS_MAX];
    size_t count = list_files(settings, files);

    for (size_t i = 0; i < count; i++) {
        for (size_t j = i + 1; j < count; j++) {
            if (!output_file_is_same(stdout_name(files[i].path), stdout_name(files[j].path)))
                continue;
            if (strcmp(files[i].option, files[j].option) == 0)
                return error_set(err, EINVAL, "%s: '%s' and '%s' are the same file",
                                 files[i].option, files[i].path, files[j].path);
            return error_set(err, EINVAL, "%s and %s name the same file", files[i].option,
                             files[j].option);
        }
    }
    return 0;
}

/* Sets the template of --print, which replaces the text of each file. Returns whether any
 * output uses it. */
static bool place_template(const struct settings *settings, struct outputs *plan)
{
    bool has_place = false;

    for (size_t i = 0; i < plan->count && settings->print; i++) {
        if (plan->items[i].format != SPOOR_TEXT)
            continue;
        plan->items[i].print = settings->print;
        has_place = true;
    }
    return has_place;
}

/* Whether a text report already goes to the terminal of stderr. */
static bool has_text(const struct outputs *plan)
{
    for (size_t i = 0; i < plan->count; i++) {
        const struct output *output = &plan->items[i];

        if ((output->fd == STDOUT_FILENO || output->fd == STDERR_FILENO) &&
            output->format == SPOOR_TEXT)
            return true;
    }
    return false;
}

static int plan_files(const struct settings *settings, struct outputs *plan,
                      struct spoor_error *err)
{
    int r = settings->has_format ? format_check(settings->format, err) : 0;

    if (r == 0)
        r = check_names(settings, err);
    for (size_t i = 0; r == 0 && i < settings->outputs.count; i++)
        r = plan_file(settings, settings->outputs.items[i], plan, err);
    if (r == 0 && settings->report_path)
        r = plan_page(settings, plan, err);
    for (size_t i = 0; r == 0 && i < settings->stream_count; i++)
        r = check_stream(settings, &settings->streams[i], err);
    return r;
}

/* Returns whether stderr gets the report, even with --quiet: with -f and no -o, the report has
 * no other destination. */
static bool writes_to_stderr(const struct settings *settings, const struct outputs *plan)
{
    bool is_requested = settings->is_format_option && settings->format != SPOOR_TEXT &&
                        settings->outputs.count == 0;

    return (!settings->is_quiet || is_requested) && !has_text(plan);
}

static int plan_all(const struct settings *settings, struct outputs *plan,
                    struct spoor_error *err)
{
    enum spoor_format format = settings->has_format ? settings->format : SPOOR_TEXT;
    int r;

    plan->process_count = settings->process_count;
    plan->saves_run = settings_saves_run(settings);
    plan->save = settings->is_append       ? SPOOR_APPEND
                 : settings->is_no_clobber ? SPOOR_NO_CLOBBER
                                           : SPOOR_REPLACE;
    r = plan_files(settings, plan, err);
    if (r < 0)
        return r;
    plan->streams = &settings->samples;
    if (settings->print && !place_template(settings, plan)) {
        add(plan, SPOOR_TEXT, STDERR_FILENO, "stderr")->print = settings->print;
    } else if (writes_to_stderr(settings, plan)) {
        format = settings->outputs.count > 0 ? SPOOR_TEXT : format;
        add_descriptor(plan, settings, format, STDERR_FILENO, "stderr");
    }
    return 0;
}

int outputs_plan(const struct settings *settings, struct outputs *ret, struct spoor_error *err)
{
    struct outputs plan = { 0 };
    int r = plan_all(settings, &plan, err);

    if (r < 0) {
        outputs_done(&plan);
        return r;
    }
    *ret = plan;
    return 0;
}

int outputs_plan_stdout(struct settings *settings, struct outputs *ret, struct spoor_error *err)
{
    if (settings->outputs.count == 0 && text_list_add(&settings->outputs, "-", err) < 0)
        return -ENOMEM;
    settings->is_quiet = true;
    return outputs_plan(settings, ret, err);
}

static int refuse_format(const struct output *output, unsigned formats, struct spoor_error *err)
{
    CLEANUP(buffer_done) struct buffer names = { 0 };

    for (unsigned i = 0; formats >> i; i++) {
        if (formats & 1u << i)
            buffer_format(&names, "%s%s", names.length > 0 ? ", " : "",
                          format_get((enum spoor_format)i)->name);
    }
    return error_set(err, EINVAL, "--output '%s': this command writes %s only", output->path,
                     buffer_text(&names));
}

static int print_one(const struct output *output, unsigned formats, const char *what,
                     output_write *write, void *data, struct spoor_error *err)
{
    struct format_style style = format_style_for(output->fd, output->flags & SPOOR_COLOR);
    CLEANUP(buffer_done) struct buffer text = { 0 };
    int r;

    if (!(formats & 1u << output->format))
        return refuse_format(output, formats, err);
    r = write(data, output, &style, &text, err);
    if (r == 0)
        r = buffer_error(&text);
    if (r == 0 && output->fd < 0)
        return save_text(&text, -1, output->path, output->save, err);
    if (r == 0)
        r = buffer_write(&text, output->fd);
    if (r == 0 || err->message[0])
        return r;
    return what ? error_sys(err, r, "cannot write %s", what)
                : error_sys(err, r, "cannot write to '%s'", output->path);
}

int outputs_print(struct settings *settings, unsigned formats, const char *what,
                  output_write *write, void *data)
{
    CLEANUP(outputs_done) struct outputs outputs = { 0 };
    struct spoor_error err = { 0 };
    int r = outputs_plan_stdout(settings, &outputs, &err);

    for (size_t i = 0; r == 0 && i < outputs.count; i++)
        r = print_one(&outputs.items[i], formats, what, write, data, &err);
    return r < 0 ? complain("%s", err.message) : 0;
}

void outputs_done(struct outputs *outputs)
{
    for (size_t i = 0; i < outputs->count; i++) {
        if (outputs->items[i].owns_fd)
            close(outputs->items[i].fd);
    }
    outputs->count = 0;
}

const char *outputs_file(const struct outputs *outputs, unsigned formats)
{
    for (size_t i = 0; i < outputs->count; i++) {
        if (outputs->items[i].fd < 0 && formats & 1u << outputs->items[i].format)
            return outputs->items[i].path;
    }
    return NULL;
}

int outputs_reader_fd(const struct settings *settings)
{
    if (settings->stream_count != 1 || settings->outputs.count > 0)
        return -1;
    return stream_descriptor(settings->streams[0].path);
}

int outputs_write_one(const struct outputs *outputs, size_t index, spoor_session *session,
                      struct spoor_error *err)
{
    const struct output *output = &outputs->items[index];
    CLEANUP(buffer_done) struct buffer json = { 0 }, text = { 0 };
    int r = 0;

    if (output->print) {
        r = tracking_agent_format(session, SPOOR_JSON, &json, err);
        if (r == 0)
            r = print_report(output->print, &json, &text, err);
        return r < 0 ? r : save_text(&text, output->fd, output->path, output->save, err);
    }
    if (output->fd >= 0)
        return spoor_session_write(session, output->format, output->flags, output->fd, err);
    return spoor_session_save(session, output->format, output->path, output->save, err);
}

int outputs_write_records(const struct output *output, const struct record *records,
                          size_t count, struct spoor_error *err)
{
    CLEANUP(buffer_done) struct buffer text = { 0 };
    struct format_style style = { 0 };
    int r = 0;

    if (!output->print)
        return output->fd < 0
                   ? save_to_file(records, count, output->format, output->path, output->save,
                                  err)
                   : save_to_descriptor(records, count, output->format,
                                        output->flags & SPOOR_COLOR, output->fd, err);
    for (size_t i = 0; r == 0 && i < count; i++) {
        CLEANUP(buffer_done) struct buffer json = { 0 };

        json_write(&records[i], &style, &json);
        r = buffer_error(&json) < 0 ? error_set(err, ENOMEM, "out of memory")
                                    : print_report(output->print, &json, &text, err);
    }
    return r < 0 ? r : save_text(&text, output->fd, output->path, output->save, err);
}

/* Returns the format in which a report that could not be written goes to the terminal: a
 * page would be unreadable there. */
static enum spoor_format rescue_format(const struct outputs *outputs, size_t index)
{
    enum spoor_format format = outputs->items[index].format;

    return format == SPOOR_HTML ? SPOOR_TEXT : format;
}

/* Returns whether the report was not written in this format, except to a reader that has
 * left. */
static bool is_lost(const struct outputs *outputs, const int results[], size_t index)
{
    for (size_t i = 0; i < outputs->count; i++) {
        if (results[i] == 0 && outputs->items[i].format == rescue_format(outputs, index))
            return false;
    }
    return results[index] < 0 && results[index] != -EPIPE;
}

struct report {
    const struct outputs *outputs;
    spoor_session *session;
    const struct record *record; /* record of a job that ran untracked; there is no session */
};

static int format_report(const struct report *report, enum spoor_format format,
                         struct buffer *ret, struct spoor_error *err)
{
    struct format_style style = { 0 };

    if (report->session)
        return tracking_agent_format(report->session, format, ret, err);
    format_write(format_get(format), report->record, 1, &style, ret);
    return buffer_error(ret) < 0 ? error_sys(err, buffer_error(ret), "report") : 0;
}

/* Sends no request over the network. The account is left out: reports may be published. */
static struct spoor_cloud recall_cloud(struct cloud_facts *facts)
{
    struct root root = ROOT_CLOSED;
    struct spoor_cloud cloud;

    *facts = (struct cloud_facts){ 0 };
    if (root_open(NULL, &root) == 0)
        (void)cloud_find(&root, false, facts, NULL); /* unknown values are empty */
    root_close(&root);
    cloud = cloud_describe(facts);
    cloud.account = NULL;
    return cloud;
}

static bool shows_cloud(const struct outputs *outputs)
{
    bool any = outputs->saves_run || outputs->group;

    for (size_t i = 0; i < outputs->count; i++)
        any |= outputs->items[i].format == SPOOR_JSON ||
               outputs->items[i].format == SPOOR_HTML || outputs->items[i].print;
    return any;
}

static void report_lost_rows(const struct outputs *outputs, spoor_session *session)
{
    for (size_t i = 0; i < outputs->streams->count && !has_text(outputs); i++) {
        const char *reason = NULL;
        uint64_t count = spoor_session_lost_rows(session, i, &reason);

        if (count > 0)
            complain("could not write %llu row%s to '%s': %s", (unsigned long long)count,
                     count == 1 ? "" : "s", stdout_name(outputs->streams->items[i]), reason);
    }
}

/* ---- the group of a rank ---- */

/* Names the group spoor-JOB.STEP in the directory from which the job was submitted. Without
 * a job ID, the name comes from the launcher: if a rank runs again, its last attempt counts. */
static int name_default(struct rank_group *group)
{
    const struct launch *launch = &group->launch;
    const char *directory = launch->submit_directory ? launch->submit_directory : ".";
    int n = snprintf(group->folder, sizeof(group->folder), "%s/spoor-%s%s%s", directory,
                     launch->job ? launch->job : launch->launcher, launch->step ? "." : "",
                     launch->step ? launch->step : "");

    if (n < 0 || (size_t)n >= sizeof(group->folder))
        return -1;
    for (char *c = group->folder + strlen(directory) + 1; *c; c++)
        *c = *c == '/' ? '_' : *c;
    return 0;
}

/* Returns whether this run is nested in a run of the same rank that is in the group already. A
 * nested run is not another attempt of the rank. */
static bool is_within_rank(const struct rank_group *group)
{
    pid_t tracker = group_find_running(group->folder, group->launch.rank);
    struct root root = ROOT_CLOSED;
    bool is_within = tracker > 0 && root_open(NULL, &root) == 0 &&
                     process_descends(&root, getpid(), tracker);

    root_close(&root);
    return is_within;
}

static bool find_folder(const struct settings *settings, struct rank_group *group)
{
    const struct launch *launch = &group->launch;

    launch_read(&group->launch, environment_own);
    if (settings->group) {
        (void)snprintf(group->folder, sizeof(group->folder), "%s", settings->group);
        return strcmp(settings->group, "off") != 0;
    }
    return settings->outputs.count == 0 && launch->launcher && is_known(launch->rank) &&
           is_known(launch->ranks) && launch->ranks > 1 && name_default(group) == 0;
}

void rank_group_begin(struct settings *settings, char **command, struct rank_group *ret)
{
    struct rank_group group = { .is_quiet = settings->is_quiet };
    char host[HOST_NAME_MAX + 1] = "";
    struct spoor_error err = { 0 };
    struct record begin;

    ret->folder[0] = '\0';
    if (!find_folder(settings, &group) || is_within_rank(&group))
        return;
    if (!settings->run_id[0])
        record_make_id(settings->run_id);
    (void)gethostname(host, sizeof(host) - 1); /* empty if unknown */
    record_init(&begin);
    begin.id = settings->run_id;
    begin.started_at = (double)(clock_now().realtime_ns / NS_PER_MS) / 1e3;
    begin.host = host;
    begin.pid = (uint64_t)getpid();
    begin.user = getenv("USER"); /* a name service may be slow on a cluster */
    begin.command = (const char **)(void *)command;
    begin.launch = launch_is_known(&group.launch) ? &group.launch : NULL;
    if (group_begin(group.folder, &begin, &err) < 0)
        program_warn(&spoor_program, "the run is not added to the group: %s", err.message);
    else
        *ret = group;
}

/* ---- the history ----
 *
 * Any failure here is one line on stderr: the job itself has ended. */

static void save_run(const struct report *report)
{
    CLEANUP(buffer_done) struct buffer row = { 0 };
    const struct outputs *outputs = report->outputs;
    const char *file =
        outputs->save == SPOOR_APPEND ? NULL : outputs_file(outputs, 1u << SPOOR_JSON);
    AUTO_FREE char *path = file ? realpath(file, NULL) : NULL;
    struct spoor_error err = { 0 };
    char folder[PATH_MAX];
    int r = format_report(report, SPOOR_ROW, &row, &err);

    if (r == 0 && path)
        row_add_report(&row, path);
    if (r == 0)
        r = history_folder(folder, &err);
    if (r == 0)
        r = history_append(folder, (double)NAN, &row, &err);
    if (r < 0)
        complain("the run is not saved in the history: %s", err.message);
}

static void save_rank(const struct report *report)
{
    const struct rank_group *group = report->outputs->group;
    CLEANUP(buffer_done) struct buffer line = { 0 };
    struct spoor_error err = { 0 };
    int r = format_report(report, SPOOR_RANK, &line, &err);

    if (r == 0)
        r = group_end(group->folder, &line, group->launch.ranks, &err);
    if (r < 0)
        complain("the run is not added to the group: %s", err.message);
    else if (r > 0 && !group->is_quiet)
        program_warn(&spoor_program, "the report of all ranks is in '%s/merged.html'",
                     group->folder);
}

static int write_one(const struct report *report, size_t index, struct spoor_error *err)
{
    const struct output *output = &report->outputs->items[index];

    if (report->session)
        return outputs_write_one(report->outputs, index, report->session, err);
    return output->fd == STDERR_FILENO ? 0
                                       : outputs_write_records(output, report->record, 1, err);
}

static int write_all(void *data)
{
    const struct report *report = data;
    const struct outputs *outputs = report->outputs;
    int results[ARRAY_SIZE(outputs->items)];
    struct cloud_facts facts;
    struct spoor_cloud cloud;

    if (report->session && shows_cloud(outputs)) {
        cloud = recall_cloud(&facts);
        spoor_session_set_cloud(report->session, &cloud);
    }
    for (size_t i = 0; i < outputs->count; i++) {
        struct spoor_error err = { 0 };

        results[i] = write_one(report, i, &err);
        if (results[i] < 0)
            complain("%s", err.message);
    }
    for (size_t i = 0; report->session && i < outputs->count; i++) {
        if (is_lost(outputs, results, i))
            results[i] = spoor_session_write(report->session, rescue_format(outputs, i), 0,
                                             STDERR_FILENO, NULL);
    }
    if (outputs->saves_run)
        save_run(report);
    if (outputs->group)
        save_rank(report);
    if (report->session)
        spoor_session_set_cloud(report->session, NULL);
    return 0;
}

static void write_report(struct report *report)
{
    const struct outputs *outputs = report->outputs;

    if (outputs->count > 0 || outputs->saves_run || outputs->group)
        (void)program_write_report(&spoor_program, write_all, report);
}

void outputs_write_untracked(const struct outputs *outputs, const struct record *record)
{
    write_report(&(struct report){ outputs, NULL, record });
}

void outputs_write(const struct outputs *outputs, spoor_session *session)
{
    spoor_session_show_processes(session, outputs->process_count);
    write_report(&(struct report){ outputs, session, NULL });
    report_lost_rows(outputs, session);
}
