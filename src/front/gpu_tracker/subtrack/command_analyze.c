/* SPDX-License-Identifier: Apache-2.0 */
/* command_analyze.c - sub-track combine and analyze. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "front/gpu_tracker/program.h"
#include "front/gpu_tracker/subtrack/analysis.h"
#include "front/gpu_tracker/subtrack/commands.h"
#include "store/sub_tracking_file.h"
#include "store/table.h"

static int is_visible(const struct dirent *entry)
{
    return strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
}

static int compare_names(const struct dirent **left, const struct dirent **right)
{
    return strcmp((*left)->d_name, (*right)->d_name);
}

/* Paths that are ours. Zeroed is empty. */
struct path_list {
    char **paths;
    size_t count;
};

static void path_list_done(struct path_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        free(list->paths[i]);
    free(list->paths);
}

/* Takes the names, and frees them. */
static int add_paths(struct path_list *list, const char *folder, struct dirent **entries,
                     size_t count)
{
    size_t length = strlen(folder);
    const char *slash = length > 0 && folder[length - 1] == '/' ? "" : "/";
    int r = 0;

    list->paths = calloc(count + 1, sizeof(*list->paths));
    for (size_t i = 0; i < count; i++) {
        if (list->paths && r == 0 &&
            asprintf(&list->paths[i], "%s%s%s", folder, slash, entries[i]->d_name) >= 0)
            list->count++;
        else
            r = -ENOMEM;
        free(entries[i]);
    }
    free(entries);
    return r;
}

/* All files of a folder, sorted. 0 or -errno. */
static int list_folder(const char *folder, struct path_list *ret)
{
    struct dirent **entries = NULL;
    int count = scandir(folder, &entries, is_visible, compare_names);

    return count < 0 ? -errno : add_paths(ret, folder, entries, (size_t)count);
}

static int combine(const char *path, char **files, size_t count)
{
    struct spoor_error err;

    return sub_tracking_combine(path, (const char *const *)files, count, &err) < 0
               ? gpu_tracker_error("%s", err.message)
               : 0;
}

int subtrack_combine(const struct subtrack_settings *settings)
{
    CLEANUP(path_list_done) struct path_list files = { 0 };
    const struct text_list *paths = &settings->paths;
    int r;

    if (paths->count > 1)
        return combine(settings->sub_tracking_file, paths->items, paths->count);
    r = list_folder(paths->items[0], &files);
    if (r < 0)
        return gpu_tracker_error(
            "a single -p must name a directory of files to combine: %s: %s", paths->items[0],
            strerror(-r));
    if (files.count == 0)
        return gpu_tracker_error("the directory %s has no files to combine", paths->items[0]);
    return combine(settings->sub_tracking_file, files.paths, files.count);
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
