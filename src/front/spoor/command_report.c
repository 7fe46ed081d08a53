/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/compiler.h"
#include "base/error.h"
#include "front/spoor/outputs.h"
#include "front/spoor/program.h"
#include "output/chart.h"
#include "output/format.h"
#include "output/output_file.h"
#include "output/save.h"
#include "record/load.h"
#include "record/samples_load.h"
#include "text/buffer.h"

/* ---- the files ----------------------------------------------------------
 *
 * The files that spoor report reads: JSON reports, samples, and tracking files of
 * gpu-tracker.
 */

struct report_file {
    struct records records;
    bool is_samples; /* they were made from samples */
};

/* Zeroed is empty. */
struct report_files {
    struct report_file *files; /* owned */
    size_t count;
    struct record
        *runs; /* those of reports, then others; the array is owned, its items are not */
    size_t run_count;
};

static void report_files_done(struct report_files *files)
{
    for (size_t i = 0; i < files->count; i++)
        records_done(&files->files[i].records);
    free(files->files);
    free(files->runs);
    *files = (struct report_files){ 0 };
}

enum file_kind { FILE_REPORT, FILE_SAMPLES, FILE_TRACKING };

/* How rows of samples begin: ours, and the objects of resource-tracker-rs, whose keys are sorted. */
static const char *const json_rows[] = { "{\"timestamp\"", "{\"actual_interval_ms\"",
                                         "{\"cpu\"" };

static bool begins_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

/* The kind of a file by its first bytes: names are no guide, and reports and samples may both be JSON. */
static enum file_kind kind_of(const char *path, const char *start)
{
    const char *text = start + strspn(start, " \t\r\n");
    bool is_json = *text == '{' || *text == '[' || path_has_suffix(path, ".json");

    if (begins_with(start, "SQLite format 3") || begins_with(start, "ram_unit,"))
        return FILE_TRACKING;
    if (!is_json)
        return FILE_SAMPLES;
    for (size_t i = 0; i < ARRAY_SIZE(json_rows); i++) {
        if (begins_with(text, json_rows[i]))
            return FILE_SAMPLES;
    }
    return FILE_REPORT;
}

static int load_report(struct line_reader *input, const char *path, struct records *ret,
                       struct spoor_error *err)
{
    CLEANUP(buffer_done) struct buffer text = { 0 };
    const char *start;
    size_t length;

    if (line_reader_peek(input, 0, &start, &length) == 0)
        buffer_add(&text, start, length);
    return records_read(input->fd, path, &text, ret, err);
}

static int load_samples(struct line_reader *input, const char *path, struct records *ret,
                        struct spoor_error *err)
{
    const char *name = strcmp(path, "-") == 0 ? "standard input" : basename(path);
    int r = samples_load(input, name, ret, err);

    return r < 0 ? error_prefix(err, r, "'%s'", path) : 0;
}

static int load_tracking(const char *path, struct records *ret, struct spoor_error *err)
{
    if (strcmp(path, "-") == 0)
        return error_set(err, EINVAL,
                         "a tracking file cannot be read from standard input: name the file");
    return tracking_load(path, basename(path), ret, err);
}

static int load_input(struct line_reader *input, const char *path, struct report_file *ret,
                      struct spoor_error *err)
{
    char start[64] = "";
    const char *text;
    enum file_kind kind;
    size_t length;
    int r = line_reader_peek(input, sizeof(start) - 1, &text, &length);

    if (r < 0)
        return error_sys(err, r, "cannot read '%s'", path);
    memcpy(start, text, length < sizeof(start) ? length : sizeof(start) - 1);
    kind = kind_of(path, start);
    ret->is_samples = kind != FILE_REPORT;
    if (kind == FILE_SAMPLES)
        return load_samples(input, path, &ret->records, err);
    if (kind == FILE_TRACKING)
        return load_tracking(path, &ret->records, err);
    return load_report(input, path, &ret->records, err);
}

static int load_file(const char *path, struct report_file *ret, struct spoor_error *err)
{
    CLEANUP(line_reader_done) struct line_reader input = { .fd = STDIN_FILENO };
    AUTO_CLOSE int opened = -1;

    if (strcmp(path, "-") != 0) {
        opened = input.fd = open(path, O_RDONLY | O_CLOEXEC);
        if (opened < 0)
            return error_sys(err, errno, "cannot read '%s'", path);
    }
    return load_input(&input, path, ret, err);
}

/* ---- samples of a run that has a report ------------------------------------------ */

/* Reports have whole milliseconds. Some rows have no run ID. */
static bool is_same_run(const struct record *a, const struct record *b)
{
    if (a->id && b->id)
        return strcmp(a->id, b->id) == 0;
    return fabs(a->started_at - b->started_at) < 0.0015; /* not if unknown */
}

static struct record *find_report(struct record *runs, size_t count,
                                  const struct record *samples)
{
    for (size_t i = 0; i < count; i++) {
        if (is_same_run(&runs[i], samples))
            return &runs[i];
    }
    return NULL;
}

static void add_reports(struct report_files *files)
{
    for (size_t i = 0; i < files->count; i++) {
        const struct report_file *file = &files->files[i];

        for (size_t k = 0; !file->is_samples && k < file->records.count; k++)
            files->runs[files->run_count++] = file->records.items[k];
    }
}

static void add_samples(struct report_files *files)
{
    size_t report_count = files->run_count;

    for (size_t i = 0; i < files->count; i++) {
        const struct report_file *file = &files->files[i];

        for (size_t k = 0; file->is_samples && k < file->records.count; k++) {
            const struct record *samples = &file->records.items[k];
            struct record *report = find_report(files->runs, report_count, samples);

            if (report)
                samples_merge(report, samples);
            else
                files->runs[files->run_count++] = *samples;
        }
    }
}

static int collect_runs(struct report_files *files, struct spoor_error *err)
{
    size_t total = 0;

    for (size_t i = 0; i < files->count; i++)
        total += files->files[i].records.count;
    files->runs = calloc(total + 1, sizeof(*files->runs));
    if (!files->runs)
        return error_set(err, ENOMEM, "out of memory");
    add_reports(files);
    add_samples(files);
    return 0;
}

/* Reads all files. If one is a report and another has the samples of the same run, it is one run. Every message names the file. */
static int report_files_load(char **paths, size_t count, struct report_files *ret,
                             struct spoor_error *err)
{
    CLEANUP(report_files_done) struct report_files files = { 0 };
    int r = 0;

    files.files = calloc(count, sizeof(*files.files));
    if (!files.files)
        return error_set(err, ENOMEM, "out of memory");
    for (size_t i = 0; r == 0 && i < count; i++) {
        r = load_file(paths[i], &files.files[i], err);
        files.count += r == 0;
    }
    if (r == 0)
        r = collect_runs(&files, err);
    if (r < 0)
        return r;
    *ret = files;
    files = (struct report_files){ 0 };
    return 0;
}

/* ---- the command --------------------------------------------------------
 *
 * Without a format or a file it makes a page beside the first file.
 */

/* "runs/a.json": "runs/a.html" */
static int name_page(const char *path, char **ret, struct spoor_error *err)
{
    const char *base = basename(path);
    const char *dot = strrchr(base, '.');
    struct buffer name = { 0 };

    if (strcmp(path, "-") == 0)
        path = dot = "report";
    buffer_add(&name, path, dot && dot > base ? (size_t)(dot - path) : strlen(path));
    buffer_add_text(&name, ".html");
    if (buffer_error(&name) < 0)
        return error_set(err, ENOMEM, "out of memory");
    *ret = name.text;
    return 0;
}

/* A name that the user did not give must not cost a file of theirs. */
static int check_own_page(const char *path, struct spoor_error *err)
{
    CLEANUP(buffer_done) struct buffer page = { 0 };
    static const char mark[] = "id=\"spoor-data\"";
    int r = buffer_read_file(&page, path, BUFFER_MAX);

    if (r == -ENOENT || (r == 0 && memmem(page.text, page.length, mark, strlen(mark))))
        return 0;
    return error_set(err, EEXIST, "'%s' exists and is not a page of spoor; name a file with -o",
                     path);
}

/* The page to open in a browser; NULL: none of the outputs is a page in a file. */
static const char *find_page(const struct outputs *outputs)
{
    for (size_t i = 0; i < outputs->count; i++) {
        if (outputs->items[i].format == SPOOR_HTML && outputs->items[i].fd < 0)
            return outputs->items[i].path;
    }
    return NULL;
}

/* Charts are text. */
static int check_charts(const struct settings *settings, struct spoor_error *err)
{
    enum spoor_format format = SPOOR_TEXT;

    if (settings->has_format || settings->is_append || settings->print)
        return error_set(err, EINVAL, "--text and --%s cannot be combined",
                         settings->has_format  ? "format"
                         : settings->is_append ? "append"
                                               : "print");
    for (size_t i = 0; i < settings->outputs.count; i++) {
        if (spoor_format_for_path(settings->outputs.items[i], &format) && format != SPOOR_TEXT)
            return error_set(err, EINVAL,
                             "--text cannot write '%s': name a .txt file, or omit --text",
                             settings->outputs.items[i]);
    }
    return 0;
}

/* The default path of the page. */
static int complete_settings(struct settings *settings, const char *path,
                             struct spoor_error *err)
{
    AUTO_FREE char *page = NULL;
    int r = settings->wants_charts ? check_charts(settings, err) : 0;

    if (settings->outputs.count > 0 || settings->has_format || settings->wants_charts ||
        settings->print)
        return r;
    settings->names_page = true;
    r = name_page(path, &page, err);
    if (r == 0)
        r = check_own_page(page, err);
    return r < 0 ? r : text_list_add(&settings->outputs, page, err);
}

static int write_charts(const struct report_files *files, const struct output *output,
                        struct spoor_error *err)
{
    CLEANUP(buffer_done) struct buffer text = { 0 };
    struct format_style style = format_style_for(output->fd, output->flags & SPOOR_COLOR);

    for (size_t i = 0; i < files->run_count; i++) {
        if (i > 0)
            buffer_add_text(&text, "\n");
        chart_write(&files->runs[i], &style, &text);
    }
    return save_text(&text, output->fd, output->path, output->save, err);
}

static int write_runs(const struct settings *settings, const struct report_files *files,
                      const struct output *output, struct spoor_error *err)
{
    if (settings->wants_charts)
        return write_charts(files, output, err);
    if (output->print)
        return outputs_print_records(output, files->runs, files->run_count, err);
    if (output->fd >= 0)
        return save_to_descriptor(files->runs, files->run_count, output->format,
                                  output->flags & SPOOR_COLOR, output->fd, err);
    return save_to_file(files->runs, files->run_count, output->format, output->path,
                        output->save, err);
}

/* Only a JSON report may be written in its own place: any other output holds less than its input. */
static int check_inputs(const struct output *output, char **paths,
                        const struct report_files *files, struct spoor_error *err)
{
    bool is_lossless = output->format == SPOOR_JSON && output->save != SPOOR_APPEND;

    for (size_t i = 0; i < files->count; i++) {
        const char *input = strcmp(paths[i], "-") == 0 ? "/dev/fd/0" : paths[i];

        if ((files->files[i].is_samples || !is_lossless) &&
            output_file_is_same(input, output->path))
            return error_set(err, EINVAL, "--output '%s' is a file to read; name another file",
                             output->path);
    }
    return 0;
}

static int write_outputs(const struct settings *settings, const struct outputs *outputs,
                         char **paths, const struct report_files *files,
                         struct spoor_error *err)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < outputs->count; i++)
        r = check_inputs(&outputs->items[i], paths, files, err);
    for (size_t i = 0; i < files->run_count; i++)
        files->runs[i].shown_processes = settings->process_count;
    for (size_t i = 0; r == 0 && i < outputs->count; i++)
        r = write_runs(settings, files, &outputs->items[i], err);
    return r;
}

/* Returns the exit code. */
static int open_page(const char *path)
{
    char opener[] = "xdg-open";
    char *whole = realpath(path, NULL); /* one that begins with '-' would be an option */
    char *arguments[] = { opener, whole, NULL };
    int status = 0;
    bool is_open;
    pid_t pid;

    is_open = whole && posix_spawnp(&pid, opener, NULL, NULL, arguments, environ) == 0 &&
              waitpid(pid, &status, 0) == pid && status == 0;
    free(whole);
    if (!is_open)
        return complain("cannot open a browser (xdg-open failed); the page is '%s'", path);
    return 0;
}

static int report(struct settings *settings, char **paths, size_t count)
{
    CLEANUP(outputs_done) struct outputs outputs = { 0 };
    CLEANUP(report_files_done) struct report_files files = { 0 };
    struct spoor_error err = { 0 };
    bool is_quiet = settings->is_quiet;

    if (complete_settings(settings, paths[0], &err) < 0 ||
        outputs_plan_stdout(settings, &outputs, &err) < 0)
        return complain("%s", err.message);
    if (settings->opens_page && (settings->wants_charts || !find_page(&outputs)))
        return complain("--open requires a page in a file: omit --format and --text, or name a "
                        ".html file with -o");
    if (report_files_load(paths, count, &files, &err) < 0 ||
        write_outputs(settings, &outputs, paths, &files, &err) < 0)
        return complain("%s", err.message);
    if (settings->names_page && !is_quiet)
        program_warn(&spoor_program, "the report is in '%s'", settings->outputs.items[0]);
    return settings->opens_page ? open_page(find_page(&outputs)) : 0;
}

int command_report(const struct command *command, int argc, char **argv)
{
    CLEANUP(settings_done) struct settings settings;
    struct arguments arguments;
    int code = settings_begin(&settings, &arguments, command, argc, argv);

    if (code >= 0)
        return code;
    if (arguments.operand_count == 0)
        return complain("missing argument: spoor report [OPTIONS] FILE...");
    return report(&settings, argv + arguments.first_operand, (size_t)arguments.operand_count);
}
