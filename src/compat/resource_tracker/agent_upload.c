/* SPDX-License-Identifier: Apache-2.0 */
#include "compat/resource_tracker/agent_upload.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/parse.h"
#include "compat/resource_tracker/run_description.h"
#include "front/config.h"

static int load(const char *path, json_t **ret, struct spoor_error *err)
{
    CLEANUP(buffer_done) struct buffer text = { 0 };
    json_error_t error;
    int r = buffer_read_file(&text, path, CONFIG_MAX_BYTES);

    if (r < 0)
        return error_sys(err, r, "upload file '%s'", path);
    *ret = json_loadb(text.text, text.length, 0, &error);
    explicit_bzero(text.text, text.length);
    if (!json_is_object(*ret))
        return error_set(err, EINVAL, "upload file '%s': expected a JSON object", path);
    return 0;
}

static int apply_text(const json_t *order, const char *key, struct upload_settings *settings,
                      int (*set)(struct upload_settings *settings, const char *text,
                                 struct spoor_error *err),
                      struct spoor_error *err)
{
    const json_t *value = json_object_get(order, key);

    if (!value || json_is_null(value))
        return 0;
    if (!json_is_string(value))
        return error_set(err, EINVAL, "upload file: '%s' must be a string", key);
    return set(settings, json_string_value(value), err);
}

static int apply(const json_t *order, struct upload_settings *settings, struct spoor_error *err)
{
    const json_t *interval = json_object_get(order, "interval");
    int r = upload_settings_read(environment_own, settings, err);

    if (r == 0)
        r = apply_text(order, "token", settings, upload_settings_set_token, err);
    if (r == 0)
        r = apply_text(order, "api_url", settings, upload_settings_set_url, err);
    if (r == 0 && interval && !json_is_null(interval))
        r = upload_settings_set_interval(settings, json_number_value(interval), err);
    if (r == 0 && *settings->token == '\0')
        r = error_set(err, EINVAL, "there is no token to upload with");
    return r;
}

static int write_metadata(const json_t *order, struct buffer *ret, struct spoor_error *err)
{
    const json_t *metadata = json_object_get(order, "metadata");
    char *text = json_is_object(metadata) ? json_dumps(metadata, JSON_COMPACT) : NULL;

    if (metadata && !json_is_null(metadata) && !text)
        return error_set(err, EINVAL, "upload file: 'metadata' must be an object");
    buffer_add_text(ret, text ? text : "{}");
    free(text);
    return buffer_error(ret);
}

int agent_upload_start(const char *path, struct upload_process *ret, struct spoor_error *err)
{
    json_auto_t *order = NULL;
    CLEANUP(buffer_done) struct buffer metadata = { 0 };
    struct upload_settings settings;
    struct upload_order upload = { .settings = &settings,
                                   .metadata = &metadata,
                                   .has_short_keys = true,
                                   .add_machine = run_description_add_machine };
    int r = load(path, &order, err);

    if (r == 0)
        r = apply(order, &settings, err);
    if (r == 0)
        r = write_metadata(order, &metadata, err);
    if (r == 0)
        r = upload_process_start(&upload, ret, err);
    return r;
}

static void add_result(const struct upload_process *process, const struct upload_result *result,
                       struct json_writer *json)
{
    json_auto_t *summary = json_loadb(result->summary.text ? result->summary.text : "",
                                      result->summary.length, 0, NULL);
    const char *key;
    json_t *value;

    json_begin(json, "upload", '{');
    json_add_bool(json, "is_complete", result->is_complete);
    json_add_text(json, "message", result->is_complete ? NULL : result->err.message);
    json_add_u64(json, "kept_rows", result->kept_rows);
    json_add_u64(json, "dropped_rows", result->dropped_rows);
    json_add_text(json, "folder", result->is_complete ? NULL : process->path);
    json_object_foreach(summary, key, value)
    {
        CLEANUP(buffer_done) struct buffer document = { 0 };
        char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);

        buffer_add_text(&document, text ? text : "null");
        free(text);
        json_add_document(json, key, &document);
    }
    json_end(json);
}

int agent_upload_finish(struct upload_process *process, const char *exit_code,
                        const char *status, struct json_writer *json, struct spoor_error *err)
{
    bool has_failed = strcmp(status, "failed") == 0;
    const char *cursor = exit_code;
    struct upload_result result;
    int64_t code;

    if (parse_i64(&cursor, &code) < 0 || *cursor != '\0' || code < INT32_MIN ||
        code > INT32_MAX)
        return error_set(err, EINVAL, "invalid exit code '%.100s'", exit_code);
    if (!has_failed && strcmp(status, "finished") != 0)
        return error_set(err, EINVAL, "invalid status '%.100s': expected finished or failed",
                         status);
    upload_process_end(process, (int)code, has_failed, &result);
    add_result(process, &result, json);
    buffer_done(&result.summary);
    return 0;
}

void agent_upload_abandon(struct upload_process *process)
{
    struct upload_result result;

    if (process->pid == 0)
        return;
    upload_process_end(process, 1, true, &result);
    buffer_done(&result.summary);
}
