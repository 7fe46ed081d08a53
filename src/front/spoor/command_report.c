/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/compiler.h"
#include "base/error.h"
#include "front/spoor/outputs.h"
#include "front/spoor/settings.h"
#include "group/folder.h"
#include "output/chart.h"
#include "output/format.h"
#include "output/output_file.h"
#include "output/save.h"
#include "runs/run_set.h"
#include "text/buffer.h"

/* ---- the command --------------------------------------------------------
 *
 * Without a format or an output file, it writes a page next to the first input file.
 */

/* Replaces the suffix: "runs/a.json" becomes "runs/a.html". */
static int name_page(const char *path, char **ret, struct spoor_error *err)
{
    const char *base = basename(path);
    const char *dot = strrchr(base, '.');
    size_t length;
    struct buffer name = { 0 };

    if (strcmp(path, "-") == 0 || path[0] == '@')
        path = dot = "report";
    length = dot && dot > base ? (size_t)(dot - path) : strlen(path);
    while (length > 1 && path[length - 1] == '/') /* a directory may end in slashes */
        length--;
    buffer_add(&name, path, length);
    buffer_add_text(&name, ".html");
    if (buffer_error(&name) < 0)
        return error_set(err, ENOMEM, "out of memory");
    *ret = name.text;
    return 0;
}

/* Refuses to replace a file that is not such a page: the user did not choose its name. */
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

/* Rejects formats other than text for charts and brief reports. */
static int check_text(const struct settings *settings, struct spoor_error *err)
{
    const char *name = settings->is_brief ? "brief" : "text";
    enum spoor_format format = SPOOR_TEXT;

    if (settings->is_brief && settings->wants_charts)
        return error_set(err, EINVAL, "--text and --brief cannot be combined");
    if (settings->has_format || settings->is_append || settings->print)
        return error_set(err, EINVAL, "--%s and --%s cannot be combined", name,
                         settings->has_format  ? "format"
                         : settings->is_append ? "append"
                                               : "print");
    for (size_t i = 0; i < settings->outputs.count; i++) {
        if (spoor_format_for_path(settings->outputs.items[i], &format) && format != SPOOR_TEXT)
            return error_set(err, EINVAL,
                             "--%s cannot write '%s': name a .txt file, or omit --%s", name,
                             settings->outputs.items[i], name);
    }
    return 0;
}

static int complete_settings(struct settings *settings, const char *path,
                             struct spoor_error *err)
{
    AUTO_FREE char *page = NULL;
    bool is_text = settings->wants_charts || settings->is_brief;
    int r = is_text ? check_text(settings, err) : 0;

    if (settings->outputs.count > 0 || settings->has_format || is_text || settings->print)
        return r;
    settings->names_page = true;
    r = name_page(path, &page, err);
    if (r == 0)
        r = check_own_page(page, err);
    return r < 0 ? r : text_list_add(&settings->outputs, page, err);
}

static int write_texts(const struct run_set *set, const struct output *output, bool is_brief,
                       struct spoor_error *err)
{
    CLEANUP(buffer_done) struct buffer text = { 0 };
    struct format_style style = format_style_for(output->fd, output->flags & SPOOR_COLOR);

    for (size_t i = 0; i < set->count; i++) {
        if (i > 0)
            buffer_add_text(&text, "\n");
        (is_brief ? brief_write : chart_write)(&set->runs[i], &style, &text);
    }
    return save_text(&text, output->fd, output->path, output->save, err);
}

/* Only a JSON report may replace its own input: any other output contains less. */
static int check_inputs(const struct output *output, const struct run_set *set,
                        struct spoor_error *err)
{
    bool is_lossless = output->format == SPOOR_JSON && output->save != SPOOR_APPEND;

    for (size_t i = 0; i < set->source_count; i++) {
        const char *path = set->sources[i].path;
        const char *input = strcmp(path, "-") == 0 ? "/dev/fd/0" : path;

        if ((set->sources[i].is_lossy || !is_lossless) &&
            output_file_is_same(input, output->path))
            return error_set(err, EINVAL, "--output '%s' is a file to read; name another file",
                             output->path);
    }
    return 0;
}

static int write_outputs(const struct settings *settings, const struct outputs *outputs,
                         const struct run_set *set, struct spoor_error *err)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < outputs->count; i++)
        r = check_inputs(&outputs->items[i], set, err);
    for (size_t i = 0; i < set->count; i++)
        set->runs[i].shown_processes = settings->process_count;
    for (size_t i = 0; r == 0 && i < outputs->count; i++)
        r = settings->wants_charts || settings->is_brief
                ? write_texts(set, &outputs->items[i], settings->is_brief, err)
                : outputs_write_records(&outputs->items[i], set->runs, set->count, err);
    return r;
}

/* Opens a page in a browser. Returns the exit code. */
static int open_page(const char *path)
{
    char opener[] = "xdg-open";
    char *whole = realpath(path, NULL); /* a relative path may begin with '-', like an option */
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

int report_runs(struct settings *settings, char **paths, size_t count)
{
    CLEANUP(outputs_done) struct outputs outputs = { 0 };
    CLEANUP(run_set_done) struct run_set set = { 0 };
    struct spoor_error err = { 0 };
    bool is_quiet = settings->is_quiet;

    if (complete_settings(settings, paths[0], &err) < 0 ||
        outputs_plan_stdout(settings, &outputs, &err) < 0)
        return complain("%s", err.message);
    if (settings->opens_page &&
        (settings->wants_charts || !outputs_file(&outputs, 1u << SPOOR_HTML)))
        return complain("--open requires a page in a file: omit --format and --text, or name a "
                        ".html file with -o");
    if (run_set_load(&set, paths, count, &err) < 0 ||
        write_outputs(settings, &outputs, &set, &err) < 0)
        return complain("%s", err.message);
    if (settings->names_page && !is_quiet)
        program_warn(&spoor_program, "the report is in '%s'", settings->outputs.items[0]);
    return settings->opens_page ? open_page(outputs_file(&outputs, 1u << SPOOR_HTML)) : 0;
}

int command_report(struct settings *settings, char **files, int count)
{
    CLEANUP(text_list_done) struct text_list runs = { 0 };
    struct spoor_error err = { 0 };

    if (settings_select(settings, files, count, &runs, &err) < 0)
        return complain("%s", err.message);
    if (runs.count == 0)
        return complain("missing argument: spoor report [OPTIONS] FILE...");
    return report_runs(settings, runs.items, runs.count);
}

/* ---- merge ---------------------------------------------------------------- */

/* Names the merged files in the folder, as the last rank does, and adds a text report on
 * stdout. */
static int name_merged(struct settings *settings, const char *folder, struct spoor_error *err)
{
    static const char *const names[] = { "merged.json", "merged.html" };
    int r = text_list_add(&settings->outputs, "-", err);

    for (size_t i = 0; r == 0 && i < ARRAY_SIZE(names); i++) {
        if (i == 1 && format_check(SPOOR_HTML, NULL) < 0)
            break; /* this build has no page */
        r = text_list_format(&settings->outputs, err, "%s/%s", folder, names[i]);
    }
    return r;
}

int command_merge(struct settings *settings, char **folder, int count)
{
    struct spoor_error err = { 0 };

    if (count == 0)
        return complain("missing argument: spoor merge [OPTIONS] DIRECTORY");
    if (!group_is_folder(folder[0]))
        return complain("'%s' has no files of ranks: expected the directory of 'spoor run "
                        "--group'",
                        folder[0]);
    if (settings->outputs.count == 0 && !settings->has_format &&
        name_merged(settings, folder[0], &err) < 0)
        return complain("%s", err.message);
    return report_runs(settings, folder, 1);
}
