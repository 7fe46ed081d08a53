/* SPDX-License-Identifier: Apache-2.0 */

#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/amount.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/compiler.h"
#include "base/environment.h"
#include "base/error.h"
#include "front/option.h"
#include "front/spoor/outputs.h"
#include "output/format.h"
#include "record/launch.h"
#include "record/record.h"
#include "run/track.h"
#include "text/buffer.h"
#include "text/escape.h"
#include "text/find.h"
#include "text/number.h"

enum { PATH_BYTES = 128, PART_BYTES = 64 };

/* Adds the text of a name in braces. */
typedef int add_name(void *data, const char *name, struct buffer *out, struct spoor_error *err);

/* Adds one character. "{{" and "}}" stand for one character, and in --print "\n", "\t" and
 * "\\". Returns the length in `text`. */
static size_t add_character(const char *text, bool is_print, struct buffer *out)
{
    const char *code = !is_print || text[0] != '\\' ? NULL
                       : text[1] == 'n'             ? "\n"
                       : text[1] == 't'             ? "\t"
                       : text[1] == '\\'            ? "\\"
                                                    : NULL;

    if (code) {
        buffer_add_text(out, code);
        return 2;
    }
    buffer_add(out, text, 1);
    return (text[0] == '{' || text[0] == '}') && text[1] == text[0] ? 2 : 1;
}

static int fill_in(const char *text, bool is_print, add_name *add, void *data,
                   struct buffer *out, struct spoor_error *err)
{
    int r = 0;

    while (*text && r == 0) {
        size_t length = strcspn(text + 1, "}"), most = is_print ? PATH_BYTES : PART_BYTES;
        char name[PATH_BYTES] = "";

        if (*text != '{' || text[1] == '{') {
            text += add_character(text, is_print, out);
            continue;
        }
        if (is_print && (text[1 + length] == '\0' || length == 0 || length >= most))
            return error_set(err, EINVAL, "expected {NAME} at '%.20s'; {{ is a brace", text);
        if (text[1 + length] == '\0')
            return error_set(err, EINVAL, "a brace is not closed; {{ is a brace");
        memcpy(name, text + 1, length < most ? length : most - 1);
        r = add(data, name, out, err);
        text += length + 2;
    }
    return r;
}

/* ---- figures of a report ------------------------------------------------ */

/* Finds a member by its dotted path; NULL: there is no such member. Sets *ret_is_open if a
 * parent is null or empty: its members then depend on the run. */
static json_t *find(json_t *node, const char *path, bool *ret_is_open)
{
    while (node && *path) {
        size_t length = strcspn(path, ".");
        char key[PATH_BYTES] = "";

        *ret_is_open = json_is_null(node) || json_is_array(node) ||
                       (json_is_object(node) && json_object_size(node) == 0);
        memcpy(key, path, length); /* shorter than the whole path */
        node = json_is_array(node) ? json_array_get(node, strtoul(key, NULL, 10))
                                   : json_object_get(node, key);
        path += length + (path[length] == '.');
    }
    return node;
}

/* `name` is shorter than PATH_BYTES. */
static json_t *find_name(json_t *report, const char *name, bool *ret_is_open)
{
    json_t *found = find(report, name, ret_is_open);

    if (!found && !*ret_is_open)
        found = find(json_object_get(report, "run"), name, ret_is_open);
    return found && json_object_get(found, "value") ? json_object_get(found, "value") : found;
}

/* Finds the name below a node that is most similar to `word`; `path` is the path of the
 * node. */
static const char *find_nearest(json_t *node, char *path, const char *word, char *best,
                                size_t *distance)
{
    size_t length = strlen(path);
    const char *key;
    json_t *value;

    json_object_foreach(node, key, value)
    {
        struct nearest nearest = { word, NULL, *distance };

        if (length + strlen(key) + 2 > PATH_BYTES)
            continue;
        (void)snprintf(path + length, PATH_BYTES - length, "%s%s", length > 0 ? "." : "",
                       key); /* fits */
        nearest_offer(&nearest, path);
        if (nearest.distance < *distance && nearest_get(&nearest)) {
            *distance = nearest.distance;
            memcpy(best, path, strlen(path) + 1);
        }
        if (json_is_object(value) && !json_object_get(value, "value"))
            (void)find_nearest(value, path, word, best, distance);
    }
    path[length] = '\0';
    return *best ? best : NULL;
}

static int refuse(json_t *report, const char *name, struct spoor_error *err)
{
    char path[PATH_BYTES] = "", best[PATH_BYTES] = "";
    size_t distance = SIZE_MAX;
    const char *near = find_nearest(report, path, name, best, &distance);

    if (!near)
        near = find_nearest(json_object_get(report, "run"), path, name, best, &distance);
    return near ? error_set(err, EINVAL, "unknown name '%s'; did you mean '%s'?", name, near)
                : error_set(err, EINVAL,
                            "unknown name '%s': expected a path in the JSON report, such as "
                            "cpu.total_seconds; 'spoor run -f json -- true' shows them all",
                            name);
}

static void add_value(const json_t *value, struct buffer *out)
{
    AUTO_FREE char *text = NULL;

    if (json_is_string(value)) {
        escape_unsafe(json_string_value(value), out);
    } else if (json_is_real(value)) {
        number_write(json_real_value(value), out);
    } else {
        text = value ? json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;
        buffer_add_text(out, text ? text : "null");
    }
}

struct figures {
    json_t *report;
    bool is_strict; /* a name that is not in the report is an error; otherwise it is "null" */
};

static int add_figure(void *data, const char *name, struct buffer *out, struct spoor_error *err)
{
    const struct figures *figures = data;
    bool is_open = false;
    json_t *value = find_name(figures->report, name, &is_open);

    if (!value && !is_open && figures->is_strict)
        return refuse(figures->report, name, err);
    add_value(value, out);
    return 0;
}

static int fill_in_report(const char *template, const struct buffer *report, bool is_strict,
                          struct buffer *out, struct spoor_error *err)
{
    json_auto_t *root = json_loadb(report->text, report->length, 0, NULL);
    struct figures figures = { root, is_strict };
    int r = root ? fill_in(template, true, add_figure, &figures, out, err)
                 : error_set(err, ENOMEM, "out of memory");

    if (r == 0 && out->length > 0 && out->text[out->length - 1] != '\n')
        buffer_add(out, "\n", 1);
    return r;
}

int print_report(const char *template, const struct buffer *report, struct buffer *out,
                 struct spoor_error *err)
{
    return fill_in_report(template, report, false, out, err);
}

int print_check(const char *template, struct spoor_error *err)
{
    CLEANUP(buffer_done) struct buffer json = { 0 }, out = { 0 };
    const struct spoor_options options = SPOOR_OPTIONS_INIT;
    const struct tracked nothing = { .why = "" };
    struct format_style style = { 0 };
    struct record record;

    if (untracked_record_fill(&nothing, &options, &record) < 0)
        return error_set(err, ENOMEM, "out of memory");
    if (!record.launch) /* these names are known in every run */
        record.launch = launch_copy(&record, &(struct launch){ 0 });
    json_write(&record, &style, &json);
    record_done(&record);
    return fill_in_report(template, &json, true, &out, err);
}

/* ---- parts of a file name ----------------------------------------------- */

/* A value must not add a directory to the path. */
static void add_part_value(const char *value, struct buffer *out)
{
    for (; *value; value++)
        buffer_add(out, *value == '/' ? "_" : value, 1);
}

const char *run_tag(const struct settings *settings, const char *key)
{
    for (size_t i = 0; i < settings->tags.count; i++) {
        const char *tag = settings->tags.items[i];

        if (strncmp(tag, key, strlen(key)) == 0 && tag[strlen(key)] == '=')
            return tag + strlen(key) + 1;
    }
    return NULL;
}

static struct launch get_launch(void)
{
    struct launch launch;

    launch_read(&launch, environment_own);
    return launch;
}

static int add_part(void *data, const char *name, struct buffer *out, struct spoor_error *err)
{
    struct settings *settings = data;
    struct clock_text now = clock_format((double)(clock_now().realtime_ns / NS_PER_SECOND));
    char host[HOST_NAME_MAX + 1] = "", pid[16], date[16], time[16], rank[24];
    bool is_tag = strncmp(name, "tag.", 4) == 0;
    const char *value = is_tag ? run_tag(settings, name + 4) : NULL;
    const struct launch launch = get_launch();
    const struct part {
        const char *name, *value;
    } parts[] = {
        { "name", settings->name },
        { "host", host },
        { "pid", pid },
        { "date", date },
        { "time", time },
        { "id", settings->run_id },
        { "rank", rank },
        /* Few launchers provide the index of a node. */
        { "node", launch.node_name ? launch.node_name : host },
        { "job", launch.job ? launch.job : "0" },
        { "step", launch.step ? launch.step : "0" },
    };
    const struct part *part = FIND_ROW(parts, name, name);

    (void)gethostname(host, sizeof(host) - 1); /* empty if unknown */
    (void)snprintf(pid, sizeof(pid), "%d", (int)(settings->pid ? settings->pid : getpid()));
    /* Parts of "2026-03-14T09:26:53.589Z", without colons. */
    (void)snprintf(date, sizeof(date), "%.10s", now.text);
    (void)snprintf(time, sizeof(time), "%.2s%.2s%.2s", now.text + 11, now.text + 14,
                   now.text + 17);
    (void)snprintf(rank, sizeof(rank), "%llu", (unsigned long long)known_or_0(launch.rank));
    if (strcmp(name, "id") == 0 && !settings->run_id[0])
        record_make_id(settings->run_id);
    value = part ? part->value : value;
    if (value) {
        add_part_value(value, out);
        return 0;
    }
    if (is_tag || strcmp(name, "name") == 0)
        return error_set(err, EINVAL, "{%s}: the run has none; give it with %s", name,
                         is_tag ? "--tag" : "--name");
    return error_set(err, EINVAL,
                     "unknown {%s}: use {name}, {host}, {pid}, {date}, {time}, {id}, {rank}, "
                     "{node}, {job}, {step} or {tag.KEY}; {{ is a brace",
                     name);
}

static int fill_in_path(struct settings *settings, char **path, struct spoor_error *err)
{
    CLEANUP(buffer_done) struct buffer out = { 0 };
    int r;

    if (!strpbrk(*path, "{}"))
        return 0;
    r = fill_in(*path, false, add_part, settings, &out, err);
    if (r == 0 && buffer_error(&out) < 0)
        r = error_set(err, ENOMEM, "out of memory");
    if (r < 0)
        return error_prefix(err, r, "'%s'", *path);
    free(*path);
    *path = out.text;
    out = (struct buffer){ 0 };
    return 0;
}

int file_names_fill_in(struct settings *settings, struct spoor_error *err)
{
    int r = settings->report_path ? fill_in_path(settings, &settings->report_path, err) : 0;

    for (size_t i = 0; r == 0 && i < settings->outputs.count; i++)
        r = fill_in_path(settings, &settings->outputs.items[i], err);
    for (size_t i = 0; r == 0 && i < settings->samples.count; i++)
        r = fill_in_path(settings, &settings->samples.items[i], err);
    return r;
}
