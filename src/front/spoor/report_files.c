/* SPDX-License-Identifier: Apache-2.0 */
#include "front/spoor/report_files.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/compiler.h"
#include "base/error.h"
#include "output/format.h"
#include "record/load.h"
#include "record/samples_load.h"
#include "text/buffer.h"

enum file_kind { FILE_REPORT, FILE_SAMPLES, FILE_TRACKING };

/* How rows of samples begin: ours, and the objects of resource-tracker-rs, whose keys are sorted. */
static const char *const json_rows[] = { "{\"timestamp\"", "{\"actual_interval_ms\"",
                                         "{\"cpu\"" };

static bool begins_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

/* By how it begins: names say little, and reports and samples may both be JSON. */
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
                report->curve = samples->curve;
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

int report_files_load(char **paths, size_t count, struct report_files *ret,
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

void report_files_done(struct report_files *files)
{
    for (size_t i = 0; i < files->count; i++)
        records_done(&files->files[i].records);
    free(files->files);
    free(files->runs);
    *files = (struct report_files){ 0 };
}
