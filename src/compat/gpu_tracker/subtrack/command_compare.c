/* SPDX-License-Identifier: Apache-2.0 */
/* command_compare.c - sub-track compare: which sessions, and their results. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/error.h"
#include "compat/gpu_tracker/program.h"
#include "compat/gpu_tracker/subtrack/commands.h"
#include "compat/gpu_tracker/subtrack/comparison.h"

/* Sessions in the order in which they were named. */
struct plan {
    struct compared *sessions;
    size_t count;
    enum statistic statistic;
};

static void plan_done(struct plan *plan)
{
    for (size_t i = 0; i < plan->count; i++)
        results_done(&plan->sessions[i].results);
    free(plan->sessions);
}

/* The last path that was given to a name counts. */
static void add_sessions(struct plan *plan, const struct text_list *maps)
{
    for (size_t i = 0; i < maps->count; i++) {
        char *name = maps->items[i];
        char *equals = strchr(name, '='); /* there is one: check_map() */
        size_t j = 0;

        *equals = '\0';
        while (j < plan->count && strcmp(plan->sessions[j].name, name) != 0)
            j++;
        plan->sessions[j].name = name;
        plan->sessions[j].path = equals + 1;
        plan->count += j == plan->count;
    }
}

/* Those of the config file, then those of -m. */
static int plan_sessions(const struct subtrack_settings *settings, struct plan *plan,
                         struct spoor_error *err)
{
    plan->sessions =
        calloc(settings->config_maps.count + settings->maps.count + 1, sizeof(*plan->sessions));
    if (!plan->sessions)
        return error_set(err, ENOMEM, "out of memory");
    add_sessions(plan, &settings->config_maps);
    add_sessions(plan, &settings->maps);
    if (plan->count == 0)
        return error_set(err, EINVAL,
                         "A mapping of tracking session name to file path must be provided "
                         "either through the -m option or a config file.");
    return comparison_statistic(settings->statistic ? settings->statistic : "mean",
                                &plan->statistic, err);
}

int subtrack_load(struct compared *session, struct spoor_error *err)
{
    CLEANUP(buffer_done) struct buffer text = { 0 };
    int r = buffer_read_file(&text, session->path, BUFFER_MAX); /* analyze writes no more */

    if (r < 0)
        return error_sys(err, r, "File %s", session->path);
    return results_parse(text.text, text.length, session->path, &session->results, err);
}

static void say(void *data, bool is_error, const char *message)
{
    (void)data;
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

int subtrack_compare(const struct subtrack_settings *settings)
{
    CLEANUP(plan_done) struct plan plan = { 0 };
    enum gpu_tracker_format format;
    struct spoor_error err;

    if (subtrack_format(settings, &format) != 0)
        return 1;
    if (plan_sessions(settings, &plan, &err) < 0)
        return gpu_tracker_error("%s", err.message);
    for (size_t i = 0; i < plan.count; i++) {
        if (subtrack_load(&plan.sessions[i], &err) < 0)
            return gpu_tracker_error("%s", err.message);
    }
    if (comparison_match(plan.sessions, plan.count, say, NULL) < 0)
        return 1;
    return subtrack_write(settings, format, write_comparison, &plan);
}
