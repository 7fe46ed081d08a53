/* SPDX-License-Identifier: Apache-2.0 */
/* subtrack_analyze.c - sub-track combine and analyze. */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "cli/gpu_tracker_log.h"
#include "cli/subtrack_report.h"
#include "store/sub_tracking_file.h"
#include "store/table.h"
#include "subtrack/analysis.h"

static int is_visible(const struct dirent *entry)
{
    return strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
}

static int compare_names(const struct dirent **left, const struct dirent **right)
{
    return strcmp((*left)->d_name, (*right)->d_name);
}

static void free_texts(char **texts, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(texts[i]);
    free(texts);
}

/* All files of a folder, sorted. Returns their number, or -errno. */
static int list_folder(const char *folder, char ***ret)
{
    struct dirent **entries = NULL;
    int count = scandir(folder, &entries, is_visible, compare_names);
    size_t length = strlen(folder);
    const char *slash = length > 0 && folder[length - 1] == '/' ? "" : "/";
    char **files;
    int r = count;

    if (count < 0)
        return -errno;
    files = calloc((size_t)count + 1, sizeof(*files));
    for (int i = 0; i < count; i++) {
        if (!files || asprintf(&files[i], "%s%s%s", folder, slash, entries[i]->d_name) < 0) {
            r = -ENOMEM;
            if (files)
                files[i] = NULL;
        }
        free(entries[i]);
    }
    free(entries);
    if (r < 0 || !files) {
        if (files)
            free_texts(files, (size_t)count);
        return -ENOMEM;
    }
    *ret = files;
    return r;
}

static int combine(const char *path, const char *const *files, size_t count)
{
    struct spoor_error err;

    return sub_tracking_combine(path, files, count, &err) < 0
               ? gpu_tracker_error("%s", err.message)
               : 0;
}

int subtrack_combine(const struct subtrack_settings *settings)
{
    char **files = NULL;
    int count, code;

    if (settings->path_count > 1)
        return combine(settings->sub_tracking_file, settings->paths, settings->path_count);
    count = list_folder(settings->paths[0], &files);
    if (count < 0)
        return gpu_tracker_error("a single -p is a folder of files to combine: %s: %s",
                                 settings->paths[0], strerror(-count));
    code = count == 0 ? gpu_tracker_error("there is no file to combine in the folder %s",
                                          settings->paths[0])
                      : combine(settings->sub_tracking_file, (const char *const *)files,
                                (size_t)count);
    free_texts(files, (size_t)count);
    return code;
}

static int write_results(enum subtrack_format format, const void *data, FILE *out)
{
    if (format == SUBTRACK_JSON)
        results_write_json(data, out);
    else
        results_write_text(data, out);
    return 0;
}

static void cleanup_analysis(struct analysis **analysis)
{
    analysis_close(*analysis);
}

static int analyze(const struct subtrack_settings *settings, struct results *ret,
                   struct spoor_error *err)
{
    CLEANUP(cleanup_analysis) struct analysis *analysis = NULL;
    CLEANUP(block_log_done) struct block_log log = { 0 };
    struct tracking_read_facts facts;
    int r = table_check_name(settings->tracking_file, err);

    if (r >= 0)
        r = sub_tracking_read(settings->sub_tracking_file, &log, err);
    if (r >= 0)
        r = analysis_open(&log, &analysis, err);
    if (r >= 0)
        r = tracking_read(settings->tracking_file, &facts, analysis_add, analysis, err);
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
    enum subtrack_format format;
    struct spoor_error err;

    if (subtrack_format(settings, &format) != 0)
        return 1;
    if (analyze(settings, &results, &err) < 0)
        return gpu_tracker_error("%s", err.message);
    return subtrack_write(settings, format, write_results, &results);
}
