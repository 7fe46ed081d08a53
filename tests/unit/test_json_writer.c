/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "base/amount.h"
#include "json_check.h"
#include "text/json_writer.h"
#include "unit_test.h"

/* Writes the same values in any style and checks the text. */
static void check_style(const struct json_style *style, const char *expected)
{
    struct buffer out = { 0 };
    struct json_writer json = { .out = &out, .style = style };

    json_begin(&json, NULL, '{');
    json_add_number(&json, "a", 5);
    json_add_number(&json, "unknown", nan(""));
    json_begin(&json, "list", '[');
    json_begin(&json, NULL, '{');
    json_add_u64(&json, "count", 3);
    json_end(&json);
    json_add_text(&json, NULL, "say \"x\" \\ \n \b \x01 \x7f \xc3\xa9 \xf0\x9f\x98\x80 \xff");
    json_end(&json);
    json_begin_line(&json, "line", '[');
    json_add_bool(&json, NULL, true);
    json_add_number(&json, NULL, 0.5);
    json_end(&json);
    json_begin(&json, "empty", '{');
    json_end(&json);
    json_begin(&json, "none", '[');
    json_end(&json);
    json_end(&json);
    assert_int_equal(buffer_error(&out), 0);
    assert_string_equal(out.text, expected);
    assert_true(json_is_valid(out.text));
    buffer_done(&out);
}

TEST(the_python_layout_equals_json_dumps)
{
    check_style(&json_python, "{\n"
                              " \"a\": 5.0,\n"
                              " \"unknown\": null,\n"
                              " \"list\": [\n"
                              "  {\n"
                              "   \"count\": 3\n"
                              "  },\n"
                              "  \"say \\\"x\\\" \\\\ \\n \\b \\u0001 \\u007f \\u00e9 "
                              "\\ud83d\\ude00 \\ufffd\"\n"
                              " ],\n"
                              " \"line\": [true, 0.5],\n"
                              " \"empty\": {},\n"
                              " \"none\": []\n"
                              "}");
}

TEST(compact_json_is_one_line_without_blanks)
{
    check_style(&json_compact,
                "{\"a\":5,\"unknown\":null,\"list\":[{\"count\":3},"
                "\"say \\\"x\\\" \\\\ \\n \\u0008 \\u0001 \\u007f \xc3\xa9 \xf0\x9f\x98\x80 "
                "\xef\xbf\xbd\"],\"line\":[true,0.5],\"empty\":{},\"none\":[]}");
}

TEST(a_report_is_indented_by_two_spaces)
{
    static const char expected[] =
        "{\n"
        "  \"a\": 5,\n"
        "  \"unknown\": null,\n"
        "  \"list\": [\n"
        "    {\n"
        "      \"count\": 3\n"
        "    },\n"
        "    \"say \\\"x\\\" \\\\ \\n \\u0008 \\u0001 \\u007f \xc3\xa9 \xf0\x9f\x98\x80 "
        "\xef\xbf\xbd\"\n"
        "  ],\n"
        "  \"line\": [true, 0.5],\n"
        "  \"empty\": {},\n"
        "  \"none\": []\n"
        "}";

    check_style(&json_indented, expected);
    check_style(NULL, expected);
}

TEST(a_document_can_be_written_on_one_line)
{
    struct buffer inner = { 0 };
    struct buffer out = { 0 };
    struct json_writer document = { .out = &inner };
    struct json_writer json = { .out = &out, .style = &json_compact };

    json_begin(&document, NULL, '{');
    json_add_text(&document, "a", "x\ny");
    json_end(&document);
    json_begin(&json, NULL, '[');
    json_add_u64(&json, NULL, UNKNOWN);
    json_add_document(&json, NULL, &inner);
    json_end(&json);
    assert_string_equal(out.text, "[null,{   \"a\": \"x\\ny\" }]");
    assert_true(json_is_valid(out.text));
    buffer_done(&inner);
    buffer_done(&out);
}
