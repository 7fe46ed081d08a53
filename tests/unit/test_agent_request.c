/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "front/agent.h"
#include "unit_test.h"

static int parse(const char *text, struct agent_request *ret, struct spoor_error *err)
{
    return agent_request_parse(text, strlen(text), ret, err);
}

TEST(request_has_an_id_an_operation_and_arguments)
{
    struct agent_request request;
    struct spoor_error err;

    assert_int_equal(parse("{\"id\": 9223372036854775807, \"op\": \"o\", \"new\": 1, "
                           "\"arguments\": [\"\", \"b\\n\\u00e9\"]}",
                           &request, &err),
                     0);
    assert_true(request.has_id);
    assert_int_equal(request.id, INT64_MAX);
    assert_string_equal(request.op, "o");
    assert_int_equal(request.argument_count, 2);
    assert_string_equal(request.arguments[0], "");
    assert_string_equal(request.arguments[1], "b\n\xc3\xa9");
    agent_request_done(&request);
    assert_null(request.op);
}

TEST(arguments_are_optional)
{
    struct agent_request request;
    struct spoor_error err;

    assert_int_equal(parse("{\"id\":0,\"op\":\"o\"}", &request, &err), 0);
    assert_true(request.has_id);
    assert_int_equal(request.id, 0);
    assert_int_equal(request.argument_count, 0);
    agent_request_done(&request);
}

TEST(damaged_text_is_refused)
{
    static const struct {
        const char *text;
        bool has_id;
        const char *message;
    } damaged[] = {
        { "", false, "invalid request: " },
        { "phase-start x", false, "invalid request: " },
        { "1", false, "invalid request: " },
        { "[]", false, "invalid request: expected a JSON object" },
        { "{\"op\":\"o\"}", false, "invalid request: 'id' must be a whole number" },
        { "{\"id\":1.5,\"op\":\"o\"}", false, "invalid request: 'id' must be a whole number" },
        { "{\"id\":-1,\"op\":\"o\"}", false, "invalid request: 'id' must be a whole number" },
        { "{\"id\":1}", true, "invalid request: 'op' must be a string" },
        { "{\"id\":1,\"op\":null}", true, "invalid request: 'op' must be a string" },
        { "{\"id\":1,\"op\":\"o\",\"arguments\":{}}", true,
          "invalid request: 'arguments' must be a list of strings" },
        { "{\"id\":1,\"op\":\"o\",\"arguments\":[\"a\",[]]}", true,
          "invalid request: 'arguments' must be a list of strings" },
    };

    for (size_t i = 0; i < ARRAY_SIZE(damaged); i++) {
        struct agent_request request;
        struct spoor_error err;

        assert_int_equal(parse(damaged[i].text, &request, &err), -EINVAL);
        assert_int_equal(err.code, EINVAL);
        assert_int_equal(request.has_id, damaged[i].has_id);
        assert_memory_equal(err.message, damaged[i].message, strlen(damaged[i].message));
        agent_request_done(&request);
    }
}

TEST(bytes_after_a_nul_are_not_ignored)
{
    static const char line[] = "{\"id\":1,\"op\":\"o\"}\0{\"id\":2,\"op\":\"o\"}";
    struct agent_request request;
    struct spoor_error err;

    assert_int_equal(agent_request_parse(line, sizeof(line) - 1, &request, &err), -EINVAL);
    agent_request_done(&request);
    assert_int_equal(agent_request_parse(line, strlen(line) + 1, &request, &err), -EINVAL);
    agent_request_done(&request);
    assert_int_equal(agent_request_parse(line, strlen(line), &request, &err), 0);
    agent_request_done(&request);
}

static void *allocate_nothing(UNUSED size_t size)
{
    return NULL;
}

TEST(a_request_is_not_reported_as_invalid_if_memory_runs_out)
{
    struct agent_request request;
    struct spoor_error err;
    int r;

    json_set_alloc_funcs(allocate_nothing, free);
    r = parse("{\"id\":1,\"op\":\"o\"}", &request, &err);
    json_set_alloc_funcs(malloc, free);
    assert_int_equal(r, -ENOMEM);
    agent_request_done(&request);
}
