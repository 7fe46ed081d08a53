/* SPDX-License-Identifier: Apache-2.0 */
#include "front/spoor/print.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/compiler.h"
#include "base/error.h"
#include "front/option.h"
#include "front/spoor/outputs.h"
#include "output/format.h"
#include "record/launch.h"
#include "run/track.h"
#include "text/escape.h"
#include "text/number.h"

enum { PATH_BYTES = 128 };

/* ---- names -------------------------------------------------------------- */

/* Returns NULL if there is no such member. Sets *ret_is_open if its parent depends on the
 * run: it is null or empty. */
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

/* Offers all names below a node; `path` is its own. */
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

/* ---- templates ---------------------------------------------------------- */

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

/* Adds one character, or one of "{{", "}}", "\n", "\t", "\\". Returns its length in `text`. */
static size_t add_character(const char *text, struct buffer *out)
{
    const char *code = text[0] != '\\'   ? NULL
                       : text[1] == 'n'  ? "\n"
                       : text[1] == 't'  ? "\t"
                       : text[1] == '\\' ? "\\"
                                         : NULL;

    if (code) {
        buffer_add_text(out, code);
        return 2;
    }
    buffer_add(out, text, 1);
    return (text[0] == '{' || text[0] == '}') && text[1] == text[0] ? 2 : 1;
}

/* `is_strict`: a name that is not in the report is an error; otherwise it is "null". */
static int fill_in(const char *template, json_t *report, bool is_strict, struct buffer *out,
                   struct spoor_error *err)
{
    while (*template) {
        size_t length = strcspn(template + 1, "}");
        char name[PATH_BYTES] = "";
        bool is_open = false;
        json_t *value;

        if (*template != '{' || template[1] == '{') {
            template += add_character(template, out);
            continue;
        }
        if (template[1 + length] == '\0' || length == 0 || length >= sizeof(name))
            return error_set(err, EINVAL, "expected {NAME} at '%.20s'; {{ is a brace",
                             template);
        memcpy(name, template + 1, length);
        value = find_name(report, name, &is_open);
        if (!value && !is_open && is_strict)
            return refuse(report, name, err);
        add_value(value, out);
        template += length + 2;
    }
    if (out->length > 0 && out->text[out->length - 1] != '\n')
        buffer_add(out, "\n", 1);
    return 0;
}

static int fill_in_report(const char *template, const struct buffer *report, bool is_strict,
                          struct buffer *out, struct spoor_error *err)
{
    json_auto_t *root = json_loadb(report->text, report->length, 0, NULL);

    if (!root)
        return error_set(err, ENOMEM, "out of memory");
    return fill_in(template, root, is_strict, out, err);
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
