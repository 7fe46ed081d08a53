/* SPDX-License-Identifier: Apache-2.0 */
/*
 * outputs.h - the destinations of reports: planned and checked before the job starts.
 *
 * The summary goes to stderr, unless --quiet is given. The report goes to the files of -o;
 * without one, a report in another format than text replaces the summary on stderr. The page of
 * --report comes in addition. With --print, the template replaces the text in the files of -o
 * or, if none is text, the summary.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>

#include "front/spoor/settings.h"
#include "output/format.h"
#include "record/launch.h"
#include "record/record.h"
#include "run/track.h"
#include "spoor/spoor.h"
#include "text/buffer.h"

/* A run that is one rank of a job. Its report is added to the folder of the group
 * (group/folder.h). */
struct rank_group {
    char folder[PATH_MAX]; /* empty: the run is in no group */
    struct launch launch;
    bool is_quiet;
};

/* Adds the begin record of a run to the group of --group or, for one of several ranks, to
 * the default group. A failure is a warning: the run goes on without a group. Sets the ID of
 * the run. */
void rank_group_begin(struct settings *settings, char **command, struct rank_group *ret);

/* One report to write, to a descriptor or a file. */
struct output {
    enum spoor_format format;
    unsigned flags;    /* flags for spoor_session_write() */
    int fd;            /* -1: the output is a file */
    bool owns_fd;      /* the descriptor is of a device or a pipe, open until the end */
    const char *path;  /* path of the file, or name of the descriptor in messages */
    const char *print; /* the template of --print; NULL: the whole report */
    enum spoor_save save;
};

struct outputs {
    struct output items[SETTINGS_OUTPUTS_MAX + 2]; /* the files, the page and the summary */
    size_t count;
    enum spoor_save save;
    size_t process_count;            /* number of processes listed in a text report */
    const struct text_list *streams; /* the files of samples, numbered as in the session */
    bool saves_run;                  /* save the run to the history after the reports */
    const struct rank_group *group;  /* NULL: the run is in no group */
};

/* Plans the outputs. The settings must outlive them. Fails if a report could not be written
 * in the end; the message suggests a fix. */
int outputs_plan(const struct settings *settings, struct outputs *ret, struct spoor_error *err);
/* Like outputs_plan(), for a command whose report is its only output: the report goes to stdout
 * if no file is named. */
int outputs_plan_stdout(struct settings *settings, struct outputs *ret,
                        struct spoor_error *err);
void outputs_done(struct outputs *outputs);

/* Returns the path of the first file that is written in one of the formats (their bits); NULL:
 * there is none. */
const char *outputs_file(const struct outputs *outputs, unsigned formats);

/* Returns the descriptor of the stream if the only other output is the summary: when the reader
 * of the stream closes it, nothing is left to do. -1: there is no such stream. */
int outputs_reader_fd(const struct settings *settings);

/* Writes the report of one of the items. */
int outputs_write_one(const struct outputs *outputs, size_t index, spoor_session *session,
                      struct spoor_error *err);

/* Writes every report. Each failure is a line on stderr; a report that was not written
 * anywhere goes to stderr, too. Rows of a stream that could not be written are a line there
 * as well, if no text report shows the warning. */
void outputs_write(const struct outputs *outputs, spoor_session *session);

/* Like outputs_write(), for a job that ran untracked; writes nothing to stderr, which already
 * has a message. Files are written even so: a report of an earlier run, left in place, would
 * seem to describe this run. */
void outputs_write_untracked(const struct outputs *outputs, const struct record *record);

/* Called after the reports are written: checks limits (--max) and runs the command of --on-exit
 * (after_run.c). Prints a line on stderr for each broken limit and each failure. Returns false
 * if a limit was broken. Does nothing if the settings have neither. The session must be
 * stopped. */
bool after_run(const struct settings *settings, const struct outputs *outputs,
               spoor_session *session);

/* Like after_run(), for a run that already has a record, such as an untracked run. */
bool after_run_of(const struct settings *settings, const struct outputs *outputs,
                  const struct record *run);

/* For a command whose output is not a report: calls write() for each of its outputs, -o or stdout, and writes its
 * text there. `formats` has a bit for each format that it can write; `what` names the text in a message, NULL: the
 * file. Returns the exit code. */
enum {
    FORMATS_TEXT_JSON = 1u << SPOOR_TEXT | 1u << SPOOR_JSON,
    FORMATS_TABLE = FORMATS_TEXT_JSON | 1u << SPOOR_CSV | 1u << SPOOR_MARKDOWN,
    FORMATS_ALL = FORMATS_TABLE | 1u << SPOOR_HTML,
};
typedef int output_write(void *data, const struct output *output,
                         const struct format_style *style, struct buffer *out,
                         struct spoor_error *err);
int outputs_print(struct settings *settings, unsigned formats, const char *what,
                  output_write *write, void *data);

/* Writes stored reports or, with a template of --print, some figures of each report. */
int outputs_write_records(const struct output *output, const struct record *records,
                          size_t count, struct spoor_error *err);

/* Fills in the report of a job that ran untracked: all figures are unknown. The caller calls
 * record_done(). */
int untracked_record_fill(const struct tracked *tracked, const struct spoor_options *options,
                          struct record *ret);

/* Writes stored runs as 'spoor report' does (command_report.c). Returns the exit code. */
int report_runs(struct settings *settings, char **paths, size_t count);

/* Returns the median time of the newest successful runs of a name (command_history.c); NaN:
 * unknown. */
double history_usual_seconds(const char *folder, const char *name);

/* Returns whether text on this descriptor should have color. */
bool outputs_has_color(enum color color, int fd);

/* ---- figures for scripts: --print '{elapsed_seconds} {cpu.total_seconds}\n' ----
 *
 * A name is a path of the JSON report; "run." may be omitted. The name of a measure stands for its
 * value. "\n", "\t" and "\\" are escape sequences, {{ is a brace. The last line ends with a newline. */

/* Checks a template. -EINVAL with a message: no report has this name, or the syntax is wrong.
 * Names of tags, GPUs and other lists depend on the run and are not checked. */
int print_check(const char *template, struct spoor_error *err);

/* Fills in the figures of a JSON report. Unknown figures are "null". */
int print_report(const char *template, const struct buffer *report, struct buffer *out,
                 struct spoor_error *err);

/* ---- names of output files with the run in them: "{name}-{date}-{id}.json" ----
 *
 *     {name} {host} {pid} {date} {time} {id} {rank} {node} {job} {step} {tag.KEY} */

/* Fills in the names of all output files. A slash in a value becomes "_". {id} sets
 * settings->run_id; {pid} is the attached process, or spoor itself; {rank}, {job} and {step}
 * come from the launcher, or are 0; {node} is the launcher's name of the machine, or the
 * host name; times are the current time in UTC. -EINVAL: a name in braces does not exist, or
 * its value is unknown. */
int file_names_fill_in(struct settings *settings, struct spoor_error *err);

/* Returns the value of --tag KEY=VALUE; NULL: there is none. */
const char *run_tag(const struct settings *settings, const char *key);

/* ---- samples for monitoring systems, while a run lasts (export.c) -------------
 *
 * --listen and --metrics get the latest sample, with the highest levels since the previous sample
 * they got. A separate process writes the file (base/writer_process.h), so that a file system that
 * hangs blocks nothing. Pushed samples go through a stream to a spool, from which another process
 * sends them (services/upload).
 */

struct exporter;

/* Check the value of an option. */
int export_check_label(const char *value, struct spoor_error *err);
int export_check_push(const char *value, struct spoor_error *err);
int export_check_otlp(const char *value, struct spoor_error *err);

bool export_is_requested(const struct settings *settings);

/* Opens everything that may fail, and sets its callback in the options, after a live view has set its own.
 * There must be no other threads that allocate memory. *ret is NULL if nothing is to be exported. */
int exporter_open(struct settings *settings, struct spoor_options *options,
                  struct exporter **ret, struct spoor_error *err);

/* Called when the job runs. Accepts NULL, like all functions below. */
void exporter_start(struct exporter *exporter);

/* Called after the session has stopped: ends the thread, writes the last sample, and starts to
 * push the remaining samples. */
void exporter_stop(struct exporter *exporter);

/* Waits until the remaining samples are pushed, at most 200 ms after exporter_stop(). */
void exporter_end(struct exporter *exporter);

/* Must be called after the session is closed. Sets the pointer to NULL. */
void exporter_close(struct exporter **handle);
