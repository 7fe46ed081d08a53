/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config.c - the file of --tconfig: parameters of the Python class, as JSON.
 *
 * A value becomes the text that one would write on the command line, so that both are checked
 * by the same code. null is the default.
 */
#include <errno.h>
#include <jansson.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "front/gpu_tracker/options.h"

enum shape { WORD, NUMBER, TRUTH, LIST, UNUSED, REFUSED };

static const struct parameter {
    const char *name;
    enum shape shape;
    enum gpu_tracker_option option;
} parameters[] = {
    { "sleep_time", NUMBER, GPU_TRACKER_SLEEP_TIME },
    { "ram_unit", WORD, GPU_TRACKER_RAM_UNIT },
    { "gpu_ram_unit", WORD, GPU_TRACKER_GPU_RAM_UNIT },
    { "time_unit", WORD, GPU_TRACKER_TIME_UNIT },
    { "n_expected_cores", NUMBER, GPU_TRACKER_CORES },
    { "gpu_uuids", LIST, GPU_TRACKER_GPU_UUIDS },
    { "disable_logs", TRUTH, GPU_TRACKER_DISABLE_LOGS },
    { "gpu_brand", WORD, GPU_TRACKER_GPU_BRAND },
    { "tracking_file", WORD, GPU_TRACKER_TRACKING_FILE },
    { "overwrite", TRUTH, GPU_TRACKER_OVERWRITE },
    { "spelling", WORD, GPU_TRACKER_SPELLING },
    /* About files and processes that we do not have. */
    { "resource_usage_file", UNUSED, GPU_TRACKER_OPTIONS },
    { "n_join_attempts", UNUSED, GPU_TRACKER_OPTIONS },
    { "join_timeout", UNUSED, GPU_TRACKER_OPTIONS },
    { "process_id", REFUSED, GPU_TRACKER_OPTIONS },
};

static void cleanup_json(json_t **json)
{
    json_decref(*json);
}

static const struct parameter *find_parameter(const char *name)
{
    for (size_t i = 0; i < ARRAY_SIZE(parameters); i++) {
        if (strcmp(parameters[i].name, name) == 0)
            return &parameters[i];
    }
    return NULL;
}

/* ["a", "b"] as "a,b". */
static int join(json_t *list, char **ret, struct spoor_error *err)
{
    size_t length = 0;
    json_t *element;
    char *text;
    size_t i;

    json_array_foreach(list, i, element)
    {
        if (!json_is_string(element))
            return error_set(err, EINVAL, "must be a list of texts");
        length += json_string_length(element) + 1;
    }
    text = calloc(1, length + 1);
    if (!text)
        return error_set(err, ENOMEM, "out of memory");
    length = 0;
    json_array_foreach(list, i, element)
    {
        if (i > 0)
            text[length++] = ',';
        memcpy(text + length, json_string_value(element), json_string_length(element));
        length += json_string_length(element);
    }
    *ret = text;
    return 0;
}

/* The text of a value, to be freed; NULL: the option stays as it is. */
static int read_value(enum shape shape, json_t *value, char **ret, struct spoor_error *err)
{
    *ret = NULL;
    if (json_is_null(value) || shape == UNUSED)
        return 0;
    if (shape == REFUSED)
        return error_set(err, EINVAL, "cannot be set: the command is what is tracked");
    if (shape == LIST && json_is_array(value))
        return join(value, ret, err);
    if ((shape == WORD || shape == LIST) && json_is_string(value))
        *ret = strdup(json_string_value(value));
    else if (shape == NUMBER && json_is_number(value))
        *ret = json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(17));
    else if (shape == TRUTH && json_is_boolean(value)) {
        if (json_is_false(value))
            return 0;
        *ret = strdup("");
    } else {
        static const char *const wanted[] = { [WORD] = "a text",
                                              [NUMBER] = "a number",
                                              [TRUTH] = "true or false",
                                              [LIST] = "a list of texts" };

        return error_set(err, EINVAL, "must be %s", wanted[shape]);
    }
    return *ret ? 0 : error_set(err, ENOMEM, "out of memory");
}

static int apply(struct gpu_tracker_texts *texts, const char *name, json_t *value,
                 struct spoor_error *err)
{
    const struct parameter *parameter = find_parameter(name);
    AUTO_FREE char *text = NULL;
    int r;

    if (!parameter)
        return error_set(err, EINVAL, "there is no such parameter");
    r = read_value(parameter->shape, value, &text, err);
    if (r < 0 || !text || texts->text[parameter->option])
        return r;
    return gpu_tracker_texts_set(texts, parameter->option, text, err);
}

int gpu_tracker_config_read(struct gpu_tracker_texts *texts, const char *path,
                            struct spoor_error *err)
{
    CLEANUP(cleanup_json) json_t *root = NULL;
    json_error_t broken;
    const char *name;
    json_t *value;

    root = json_load_file(path, JSON_REJECT_DUPLICATES, &broken);
    if (!root && broken.line < 0)
        return error_set(err, EINVAL, "%s", broken.text); /* names the file and why */
    if (!root)
        return error_set(err, EINVAL, "%s:%d:%d: %s", path, broken.line, broken.column,
                         broken.text);
    if (!json_is_object(root))
        return error_set(err, EINVAL, "%s: must be an object: {\"sleep_time\": 0.5}", path);
    json_object_foreach(root, name, value)
    {
        int r = apply(texts, name, value, err);

        if (r < 0)
            return error_prefix(err, r, "%s: \"%s\"", path, name);
    }
    return 0;
}
