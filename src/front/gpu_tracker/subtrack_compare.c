/* SPDX-License-Identifier: Apache-2.0 */
/* subtrack_compare.c - sub-track compare: which sessions, and their results. */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "front/gpu_tracker/log.h"
#include "front/gpu_tracker/subtrack/comparison.h"
#include "front/gpu_tracker/subtrack_report.h"

/* Results of a job are some hundred kilobytes; more than this is something else. */
enum { RESULTS_MAX_BYTES = 256 << 20 };

/* Sessions in the order in which they were named. */
struct plan {
    struct compared *sessions;
    char **names; /* owned */
    char **paths; /* owned */
    size_t count;
    enum statistic statistic;
};

static void plan_done(struct plan *plan)
{
    for (size_t i = 0; i < plan->count; i++) {
        free(plan->names[i]);
        free(plan->paths[i]);
        results_done(&plan->sessions[i].results);
    }
    free(plan->names);
    free(plan->paths);
    free(plan->sessions);
}

/* A name that is there already gets the new path. */
static int add_session(struct plan *plan, const char *name, size_t length, const char *path)
{
    size_t i = 0;

    while (i < plan->count &&
           (strlen(plan->names[i]) != length || memcmp(plan->names[i], name, length) != 0))
        i++;
    if (i == plan->count) {
        plan->names[i] = strndup(name, length);
        plan->count++;
    }
    free(plan->paths[i]);
    plan->paths[i] = strdup(path);
    plan->sessions[i].name = plan->names[i];
    return plan->names[i] && plan->paths[i] ? 0 : -ENOMEM;
}

static int plan_init(struct plan *plan, size_t room)
{
    plan->sessions = calloc(room + 1, sizeof(*plan->sessions));
    plan->names = calloc(room + 1, sizeof(*plan->names));
    plan->paths = calloc(room + 1, sizeof(*plan->paths));
    return plan->sessions && plan->names && plan->paths ? 0 : -ENOMEM;
}

static int plan_config(struct plan *plan, const char *path, json_t *config,
                       struct spoor_error *err)
{
    json_t *map = json_object_get(config, "file_path_map");
    const char *name;
    json_t *file;

    if (map && !json_is_object(map))
        return error_set(err, EINVAL, "File %s: file_path_map must be an object", path);
    json_object_foreach(map, name, file)
    {
        if (!json_is_string(file))
            return error_set(err, EINVAL, "File %s: the path of \"%s\" must be a text", path,
                             name);
        if (add_session(plan, name, strlen(name), json_string_value(file)) < 0)
            return error_set(err, ENOMEM, "out of memory");
    }
    return 0;
}

/* The config file, then the options. */
static int plan_sessions(const struct subtrack_settings *settings, json_t *config,
                         struct plan *plan, struct spoor_error *err)
{
    json_t *statistic = json_object_get(config, "statistic");
    const char *name = json_is_string(statistic) ? json_string_value(statistic) : "mean";
    int r;

    if (plan_init(plan, json_object_size(json_object_get(config, "file_path_map")) +
                            settings->map_count) < 0)
        return error_set(err, ENOMEM, "out of memory");
    r = plan_config(plan, settings->config, config, err);
    if (r < 0)
        return r;
    for (size_t i = 0; i < settings->map_count; i++) {
        size_t length = strcspn(settings->maps[i], "=");

        if (add_session(plan, settings->maps[i], length, settings->maps[i] + length + 1) < 0)
            return error_set(err, ENOMEM, "out of memory");
    }
    if (plan->count == 0)
        return error_set(err, EINVAL,
                         "A mapping of tracking session name to file path must be provided "
                         "either through the -m option or a config file.");
    return comparison_statistic(settings->statistic ? settings->statistic : name,
                                &plan->statistic, err);
}

static int load_results(const char *path, struct results *ret, struct spoor_error *err)
{
    AUTO_FREE char *text = NULL;
    size_t length = 0, capacity = 0, n;
    FILE *in = fopen(path, "re");
    int r = in ? 0 : -errno;

    while (r == 0) {
        char *larger;

        capacity = capacity ? capacity * 2 : 65536;
        larger = capacity <= RESULTS_MAX_BYTES ? realloc(text, capacity) : NULL;
        if (!larger) {
            r = -EFBIG;
            break;
        }
        text = larger;
        n = fread(text + length, 1, capacity - length, in);
        length += n;
        if (length < capacity) {
            r = ferror(in) ? -errno : 0;
            break;
        }
    }
    if (in)
        fclose(in);
    return r < 0 ? error_sys(err, r, "File %s", path)
                 : results_parse(text, length, path, ret, err);
}

static void say(bool is_error, const char *message)
{
    if (is_error)
        (void)gpu_tracker_error("%s", message);
    else
        gpu_tracker_warning("%s", message);
}

static int write_comparison(enum gpu_tracker_format format, const void *data,
                            struct buffer *out)
{
    const struct plan *plan = data;

    return format == GPU_TRACKER_JSON
               ? comparison_write_json(plan->sessions, plan->count, plan->statistic, out)
               : comparison_write_text(plan->sessions, plan->count, plan->statistic, out);
}

static int load_config(const struct subtrack_settings *settings, json_t **ret,
                       struct spoor_error *err)
{
    json_error_t broken;

    *ret = settings->config ? json_load_file(settings->config, 0, &broken) : json_object();
    if (!*ret)
        return error_set(err, EINVAL, "File %s: %s", settings->config, broken.text);
    if (!json_is_object(*ret))
        return error_set(err, EINVAL, "File %s: must be an object", settings->config);
    return 0;
}

int subtrack_compare(const struct subtrack_settings *settings)
{
    json_auto_t *config = NULL;
    CLEANUP(plan_done) struct plan plan = { 0 };
    enum gpu_tracker_format format;
    struct spoor_error err;

    if (subtrack_format(settings, &format) != 0)
        return 1;
    if (load_config(settings, &config, &err) < 0 ||
        plan_sessions(settings, config, &plan, &err) < 0)
        return gpu_tracker_error("%s", err.message);
    for (size_t i = 0; i < plan.count; i++) {
        if (load_results(plan.paths[i], &plan.sessions[i].results, &err) < 0)
            return gpu_tracker_error("%s", err.message);
    }
    if (comparison_match(plan.sessions, plan.count, say) < 0)
        return 1;
    return subtrack_write(settings, format, write_comparison, &plan);
}
