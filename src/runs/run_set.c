/* SPDX-License-Identifier: Apache-2.0 */
#include "runs/run_set.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/compiler.h"
#include "base/error.h"
#include "base/parse.h"
#include "group/folder.h"
#include "history/import.h"
#include "history/index.h"
#include "output/format.h"
#include "record/row.h"
#include "record/samples_load.h"
#include "text/escape.h"
#include "text/find.h"
#include "text/line_reader.h"
#include "text/text_list.h"

/* ---- one file ----------------------------------------------------------- */

enum file_kind { FILE_REPORT, FILE_SAMPLES, FILE_TRACKING, FILE_ROWS, FILE_IMPORT };

/* The first bytes of a row of samples: ours, or an object of resource-tracker-rs, whose keys
 * are sorted. */
static const char *const json_rows[] = { "{\"timestamp\"", "{\"actual_interval_ms\"",
                                         "{\"cpu\"" };

/* Returns the kind of a file by its first bytes. The name is not enough: reports and samples
 * may both be JSON. */
static enum file_kind kind_of(const char *path, const char *start)
{
    const char *text = start + strspn(start, " \t\r\n");
    bool is_json = *text == '{' || *text == '[' || path_has_suffix(path, ".json");

    if (begins_with(start, "SQLite format 3") || begins_with(start, "ram_unit,"))
        return FILE_TRACKING;
    if (import_is_known(start))
        return FILE_IMPORT;
    if (!is_json)
        return FILE_SAMPLES;
    for (size_t i = 0; i < ARRAY_SIZE(json_rows); i++) {
        if (begins_with(text, json_rows[i]))
            return FILE_SAMPLES;
    }
    return begins_with(text, "{\"id\"") ? FILE_ROWS : FILE_REPORT;
}

/* Loads a report or a file of another program, which must be read as a whole. */
static int load_whole(struct line_reader *input, const char *path, bool is_import,
                      struct records *ret, struct spoor_error *err)
{
    CLEANUP(buffer_done) struct buffer text = { 0 };
    const char *start;
    size_t length;
    int r = line_reader_peek(input, 0, &start, &length);

    if (r == 0)
        buffer_add(&text, start, length);
    if (!is_import)
        return records_read(input->fd, path, &text, ret, err);
    if (r == 0)
        r = buffer_read(&text, input->fd, BUFFER_MAX);
    return r < 0 ? error_sys(err, r, "cannot read '%s'", path)
                 : import_read(&text, path, ret, err);
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

static int load_input(struct line_reader *input, struct run_source *source,
                      struct spoor_error *err)
{
    char start[64] = "";
    const char *text;
    enum file_kind kind;
    size_t length;
    int r = line_reader_peek(input, sizeof(start) - 1, &text, &length);

    if (r < 0)
        return error_sys(err, r, "cannot read '%s'", source->path);
    memcpy(start, text, length < sizeof(start) ? length : sizeof(start) - 1);
    kind = kind_of(source->path, start);
    source->is_lossy = kind != FILE_REPORT && kind != FILE_ROWS;
    if (kind == FILE_ROWS)
        return rows_load(input, source->path, &source->records, err);
    if (kind == FILE_SAMPLES)
        return load_samples(input, source->path, &source->records, err);
    if (kind == FILE_TRACKING)
        return load_tracking(source->path, &source->records, err);
    return load_whole(input, source->path, kind == FILE_IMPORT, &source->records, err);
}

static int load_file(struct run_source *source, struct spoor_error *err)
{
    CLEANUP(line_reader_done) struct line_reader input = { .fd = STDIN_FILENO };
    AUTO_CLOSE int opened = -1;

    if (strcmp(source->path, "-") != 0) {
        opened = input.fd = open(source->path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
        if (opened < 0)
            return error_sys(err, errno, "cannot read '%s'", source->path);
    }
    return load_input(&input, source, err);
}

/* ---- samples of a run that has a report --------------------------------- */

/* Compares IDs or, since some rows have none, start times, which reports round to
 * milliseconds. */
static bool is_same_run(const struct record *a, const struct record *b)
{
    if (a->id && b->id)
        return strcmp(a->id, b->id) == 0;
    return fabs(a->started_at - b->started_at) < 0.0015; /* false if unknown */
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

/* Adds the runs of the reports, or the runs of samples that belong to none of the reports. */
static void add_runs(struct run_set *set, bool is_lossy)
{
    size_t report_count = set->count;

    for (size_t i = 0; i < set->source_count; i++) {
        const struct run_source *source = &set->sources[i];

        for (size_t k = 0; source->is_lossy == is_lossy && k < source->records.count; k++) {
            const struct record *run = &source->records.items[k];
            struct record *report = is_lossy ? find_report(set->runs, report_count, run) : NULL;

            if (report)
                samples_merge(report, run);
            else
                set->runs[set->count++] = *run;
        }
    }
}

/* Lists the runs of all sources; runs with reports come first. */
static int collect_runs(struct run_set *set, struct spoor_error *err)
{
    size_t total = 0;

    for (size_t i = 0; i < set->source_count; i++)
        total += set->sources[i].records.count;
    free(set->runs);
    set->count = 0;
    set->runs = calloc(total + 1, sizeof(*set->runs));
    if (!set->runs)
        return error_set(err, ENOMEM, "out of memory");
    add_runs(set, false);
    add_runs(set, true);
    return 0;
}

/* ---- selectors ---------------------------------------------------------- */

static int load_history(struct run_source *source, struct spoor_error *err)
{
    int r = history_find(source->path + 1, &source->records, err);

    return r < 0 ? error_prefix(err, r, "'%s'", source->path) : 0;
}

/* Loads the run whose ID begins with the selector. -ENOTUNIQ: there are several. */
static int load_id(struct run_source *source, struct spoor_error *err)
{
    char filter[64];
    int r;

    (void)snprintf(filter, sizeof(filter), "id=%.32s", source->path);
    r = history_find(filter, &source->records, err);
    if (r == 0 && source->records.count > 1) {
        r = error_set(err, ENOTUNIQ, "%zu runs of the history have an ID that begins so",
                      source->records.count);
        records_done(&source->records);
    }
    return r < 0 ? error_prefix(err, r, "'%s'", source->path) : 0;
}

static int load_group(struct run_source *source, struct spoor_error *err)
{
    struct record *record = calloc(1, sizeof(*record));
    int r = record ? group_load(source->path, record, err)
                   : error_set(err, ENOMEM, "out of memory");

    if (r < 0)
        free(record);
    else
        source->records = (struct records){ record, 1 };
    source->is_lossy = true;
    return r;
}

static int add_source(struct run_set *set, const char *path,
                      int (*load)(struct run_source *source, struct spoor_error *err),
                      struct spoor_error *err)
{
    struct run_source *source =
        reallocarray(set->sources, set->source_count + 1, sizeof(*source));
    int r;

    if (!source)
        return error_set(err, ENOMEM, "out of memory");
    set->sources = source;
    source += set->source_count;
    *source = (struct run_source){ .path = strdup(path) };
    r = source->path ? load(source, err) : error_set(err, ENOMEM, "out of memory");
    if (r < 0)
        free(source->path);
    else
        set->source_count++;
    return r;
}

static int is_report_name(const struct dirent *entry)
{
    return entry->d_name[0] != '.' && (path_has_suffix(entry->d_name, ".json") ||
                                       path_has_suffix(entry->d_name, ".jsonl"));
}

static int add_folder(struct run_set *set, const char *folder, struct spoor_error *err)
{
    CLEANUP(text_list_done) struct text_list paths = { 0 };
    int r = text_list_folder(&paths, folder, is_report_name);

    if (r < 0)
        return error_sys(err, r, "cannot read '%s'", folder);
    if (paths.count == 0)
        return error_set(err, ENOENT, "'%s' has no reports (*.json, *.jsonl)", folder);
    for (size_t i = 0; r == 0 && i < paths.count; i++)
        r = add_source(set, paths.items[i], load_file, err);
    return r;
}

bool run_set_is_id(const char *selector)
{
    enum { DIGITS_MIN = 6 };
    size_t length = strlen(selector);

    return length >= DIGITS_MIN && length < RUN_ID_SIZE &&
           selector[strspn(selector, "0123456789abcdef")] == '\0';
}

static int add_selector(struct run_set *set, const char *selector, struct spoor_error *err)
{
    struct stat status;
    bool exists = stat(selector, &status) == 0;

    if (strcmp(selector, "-") != 0 && exists && S_ISDIR(status.st_mode))
        return group_is_folder(selector) ? add_source(set, selector, load_group, err)
                                         : add_folder(set, selector, err);
    if (!exists && selector[0] == '@')
        return add_source(set, selector, load_history, err);
    return add_source(set, selector, !exists && run_set_is_id(selector) ? load_id : load_file,
                      err);
}

int run_set_load(struct run_set *set, char **selectors, size_t count, struct spoor_error *err)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < count; i++)
        r = add_selector(set, selectors[i], err);
    return r < 0 ? r : collect_runs(set, err);
}

void run_set_done(struct run_set *set)
{
    for (size_t i = 0; i < set->source_count; i++) {
        records_done(&set->sources[i].records);
        free(set->sources[i].path);
    }
    free(set->sources);
    free(set->runs);
    *set = (struct run_set){ 0 };
}

size_t run_values(const struct record *const *runs, size_t count,
                  const struct run_figure *figure, double *ret)
{
    size_t known = 0;

    for (size_t i = 0; i < count; i++) {
        double value = run_figure_get(figure, runs[i]).value;

        if (!isnan(value))
            ret[known++] = value;
    }
    return known;
}

/* ---- groups ------------------------------------------------------------- */

static void add_machine(const struct record *record, struct buffer *out)
{
    escape_unsafe(record->cpu_model ? record->cpu_model : "unknown CPU", out);
    for (size_t i = 0; i < record->gpu_count; i++) {
        if (!record->gpus[i].is_selected)
            continue;
        buffer_add_text(out, ", ");
        escape_unsafe(record->gpus[i].name ? record->gpus[i].name : "GPU", out);
    }
}

static void add_tag(const struct record_tags *tags, const char *key, struct buffer *out)
{
    const struct record_tag *tag = FIND_IN_LIST(tags->items, tags->count, key, key);

    escape_unsafe(tag ? tag->value : "", out);
}

int run_property(const struct record *record, const char *property, struct buffer *out,
                 struct spoor_error *err)
{
    static const char tag[] = "tag.";
    bool is_name = strcmp(property, "name") == 0;

    buffer_add_text(out, "");
    if (is_name && record->name)
        escape_unsafe(record->name, out);
    else if (is_name || strcmp(property, "command") == 0)
        escape_command(record->command, out);
    else if (strcmp(property, "host") == 0)
        escape_unsafe(record->host ? record->host : "", out);
    else if (strcmp(property, "machine") == 0)
        add_machine(record, out);
    else if (begins_with(property, tag) && property[strlen(tag)])
        add_tag(&record->tags, property + strlen(tag), out);
    else
        return error_set(err, EINVAL,
                         "unknown property '%s': use name, command, host, machine or tag.KEY",
                         property);
    return 0;
}

/* A new group has room for every run of the set. */
static struct run_group *add_group(struct run_groups *groups, const char *label, size_t room)
{
    struct run_group *items = reallocarray(groups->items, groups->count + 1, sizeof(*items));
    struct run_group *group;

    if (!items)
        return NULL;
    groups->items = items;
    group = &items[groups->count];
    *group = (struct run_group){ strdup(label), calloc(room, sizeof(struct record *)), 0 };
    groups->count++;
    return group->label && group->runs ? group : NULL;
}

int run_groups_make(const struct run_set *set, const char *property, struct run_groups *ret,
                    struct spoor_error *err)
{
    CLEANUP(run_groups_done) struct run_groups groups = { 0 };

    for (size_t i = 0; i < set->count; i++) {
        CLEANUP(buffer_done) struct buffer label = { 0 };
        struct run_group *group;

        if (run_property(&set->runs[i], property, &label, err) < 0)
            return -EINVAL;
        if (buffer_error(&label) < 0)
            return error_set(err, ENOMEM, "out of memory");
        group = FIND_IN_LIST(groups.items, groups.count, label, label.text);
        if (!group)
            group = add_group(&groups, label.text, set->count - i);
        if (!group)
            return error_set(err, ENOMEM, "out of memory");
        group->runs[group->count++] = &set->runs[i];
    }
    *ret = groups;
    groups = (struct run_groups){ 0 };
    return 0;
}

void run_groups_done(struct run_groups *groups)
{
    for (size_t i = 0; i < groups->count; i++) {
        free(groups->items[i].label);
        free(groups->items[i].runs);
    }
    free(groups->items);
    *groups = (struct run_groups){ 0 };
}
