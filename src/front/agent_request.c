/* SPDX-License-Identifier: Apache-2.0 */
#include "front/agent_request.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>

#include "base/error.h"

static int read_id(const json_t *value, struct agent_request *ret, struct spoor_error *err)
{
    if (!json_is_integer(value) || json_integer_value(value) < 0)
        return error_set(err, EINVAL, "invalid request: 'id' must be a whole number");
    ret->id = (uint64_t)json_integer_value(value);
    ret->has_id = true;
    return 0;
}

static int read_arguments(const json_t *value, struct agent_request *ret,
                          struct spoor_error *err)
{
    size_t count = json_array_size(value); /* 0 if it is not an array */

    if (value && !json_is_array(value))
        return error_set(err, EINVAL, "invalid request: 'arguments' must be a list of strings");
    ret->arguments = calloc(count + 1, sizeof(*ret->arguments));
    if (!ret->arguments)
        return error_set(err, ENOMEM, "out of memory");
    for (size_t i = 0; i < count; i++) {
        ret->arguments[i] = json_string_value(json_array_get(value, i));
        if (!ret->arguments[i])
            return error_set(err, EINVAL,
                             "invalid request: 'arguments' must be a list of strings");
    }
    ret->argument_count = count;
    return 0;
}

int agent_request_parse(const char *line, size_t length, struct agent_request *ret,
                        struct spoor_error *err)
{
    json_error_t error;
    int r;

    *ret = (struct agent_request){ .document = json_loadb(line, length, 0, &error) };
    if (!ret->document && error.text[0] == '\0') /* jansson has none for it */
        return error_set(err, ENOMEM, "out of memory");
    if (!ret->document)
        return error_set(err, EINVAL, "invalid request: %s", error.text);
    if (!json_is_object(ret->document))
        return error_set(err, EINVAL, "invalid request: expected a JSON object");
    r = read_id(json_object_get(ret->document, "id"), ret, err);
    if (r < 0)
        return r;
    ret->op = json_string_value(json_object_get(ret->document, "op"));
    if (!ret->op)
        return error_set(err, EINVAL, "invalid request: 'op' must be a string");
    return read_arguments(json_object_get(ret->document, "arguments"), ret, err);
}

void agent_request_done(struct agent_request *request)
{
    free(request->arguments);
    json_decref(request->document);
    *request = (struct agent_request){ 0 };
}
