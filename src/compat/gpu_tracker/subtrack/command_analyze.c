/* SPDX-License-Identifier: Apache-2.0 */
/* command_analyze.c - sub-track combine and analyze. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "compat/gpu_tracker/program.h"
#include "compat/gpu_tracker/subtrack/analysis.h"
#include "compat/gpu_tracker/subtrack/commands.h"
#include "compat/tracking/sub_tracking_file.h"
#include "compat/tracking/table.h"

/* SQLite keeps files beside a database that is in use, or was when its process was killed. */
static int is_wanted(const struct dirent *entry)
{
    static const char *const companions[] = { ".sqlite-journal", ".sqlite-wal", ".sqlite-shm" };
    const char *dot = strrchr(entry->d_name, '.');

    for (size_t i = 0; i < ARRAY_SIZE(companions); i++) {
        if (dot && strcmp(dot, companions[i]) == 0)
            return 0;
    }
    return strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
}

static int compare_names(const struct dirent **left, const struct dirent **right)
{
    return strcmp((*left)->d_name, (*right)->d_name);
}

/* Takes the names, and frees them. */
static int add_paths(struct text_list *list, const char *folder, struct dirent **entries,
                     size_t count)
{
    size_t length = strlen(folder);
    const char *slash = length > 0 && folder[length - 1] == '/' ? "" : "/";
    int r = 0;

    list->items = calloc(count + 1, sizeof(*list->items));
    for (size_t i = 0; i < count; i++) {
        if (list->items && r == 0 &&
            asprintf(&list->items[i], "%s%s%s", folder, slash, entries[i]->d_name) >= 0)
            list->count++;
        else
            r = -ENOMEM;
        free(entries[i]);
    }
    free(entries);
    return r;
}

/* All files of a folder, sorted. 0 or -errno. */
static int list_folder(const char *folder, struct text_list *ret)
{
    struct dirent **entries = NULL;
    int count = scandir(folder, &entries, is_wanted, compare_names);

    return count < 0 ? -errno : add_paths(ret, folder, entries, (size_t)count);
}

int subtrack_combine(const struct subtrack_settings *settings)
{
    CLEANUP(text_list_done) struct text_list found = { 0 };
    const struct text_list *files = &settings->paths;
    struct spoor_error err;
    int r;

    if (files->count == 1) {
        const char *folder = files->items[0];

        files = &found;
        r = list_folder(folder, &found);
        if (r < 0)
            return gpu_tracker_error(
                "a single -p must name a directory of files to combine: %s: %s", folder,
                strerror(-r));
        if (found.count == 0)
            return gpu_tracker_error("the directory %s has no files to combine", folder);
    }
    if (sub_tracking_combine(settings->sub_tracking_file, (const char *const *)files->items,
                             files->count, &err) < 0)
        return gpu_tracker_error("%s", err.message);
    return 0;
}

static int write_results(enum gpu_tracker_format format, const void *data, struct buffer *out)
{
    if (format == GPU_TRACKER_JSON)
        results_write_json(data, out);
    else
        results_write_text(data, out);
    return 0;
}

static void cleanup_analysis(struct analysis **analysis)
{
    analysis_close(*analysis);
}

int subtrack_results(const char *tracking_file, const char *sub_tracking_file,
                     struct results *ret, struct spoor_error *err)
{
    CLEANUP(cleanup_analysis) struct analysis *analysis = NULL;
    CLEANUP(block_log_done) struct block_log log = { 0 };
    struct tracking_read_facts facts;
    int r = table_check_name(tracking_file, err);

    if (r >= 0 && sub_tracking_file)
        r = sub_tracking_read(sub_tracking_file, &log, err);
    if (r >= 0)
        r = analysis_open(&log, &analysis, err);
    if (r >= 0)
        r = tracking_read(tracking_file, &facts, analysis_add, analysis, err);
    if (r < 0)
        return r;
    r = analysis_get(analysis, ret);
    if (r < 0)
        return error_set(err, r, "out of memory");
    ret->facts = facts;
    return 0;
}

int subtrack_analyze(const struct subtrack_settings *settings)
{
    CLEANUP(results_done) struct results results = { 0 };
    enum gpu_tracker_format format;
    struct spoor_error err;

    if (subtrack_format(settings, &format) != 0)
        return 1;
    if (subtrack_results(settings->tracking_file, settings->sub_tracking_file, &results, &err) <
        0)
        return gpu_tracker_error("%s", err.message);
    return subtrack_write(settings, format, write_results, &results);
}
