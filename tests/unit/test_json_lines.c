/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above */
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "front/gpu_tracker/subtrack/json_lines.h"

static void the_layout_is_that_of_python(void **state)
{
    char *text = NULL;
    size_t length = 0;
    struct json_lines json = { .out = open_memstream(&text, &length) };

    (void)state;
    assert_non_null(json.out);
    json_open(&json, NULL, '{');
    json_put_float(&json, "a", 5);
    json_put_float(&json, "unknown", nan(""));
    json_open(&json, "list", '[');
    json_open(&json, NULL, '{');
    json_put_count(&json, "count", 3);
    json_close(&json);
    json_put_text(&json, NULL, "say \"x\" \\ \n \x01 \xc3\xa9 \xf0\x9f\x98\x80 \xff");
    json_close(&json);
    json_open(&json, "empty", '{');
    json_close(&json);
    json_open(&json, "none", '[');
    json_close(&json);
    json_close(&json);
    fclose(json.out);
    assert_string_equal(text, "{\n"
                              " \"a\": 5.0,\n"
                              " \"unknown\": null,\n"
                              " \"list\": [\n"
                              "  {\n"
                              "   \"count\": 3\n"
                              "  },\n"
                              "  \"say \\\"x\\\" \\\\ \\n \\u0001 \\u00e9 "
                              "\\ud83d\\ude00 \\ufffd\"\n"
                              " ],\n"
                              " \"empty\": {},\n"
                              " \"none\": []\n"
                              "}");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_layout_is_that_of_python),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
