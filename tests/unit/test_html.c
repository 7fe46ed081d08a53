/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "example_report.h"
#include "json_check.h"
#include "output/format.h"
#include "unit_test.h"

#define BEGIN "<script id=\"spoor-data\" type=\"application/json\">"
#define TEMPLATE "<p>a</p>\n" REPORT_TEMPLATE_MARKER "\n<p>z</p>\n"

static int set_up(void **state)
{
    *state = example_new();
    return 0;
}

static int tear_down(void **state)
{
    example_free(*state);
    return 0;
}

TEST_WITH(the_marker_in_the_template_is_replaced_by_the_runs, set_up, tear_down)
{
    struct record records[2];
    struct buffer out = { 0 };

    example_fill(*state, &records[0]);
    example_fill(*state, &records[1]);
    html_write_template(TEMPLATE, strlen(TEMPLATE), records, 2, NULL, &out);
    assert_int_equal(buffer_error(&out), 0);
    assert_ptr_equal(strstr(out.text,
                            "<p>a</p>\n" BEGIN "{\"schema\":\"spoor-page/1\",\"runs\":["
                            "{\"schema\":\"spoor/1\",\"run\":{"),
                     out.text);
    assert_non_null(strstr(out.text, "},{\"schema\":\"spoor/1\""));
    assert_string_equal(strstr(out.text, "]}</script>"), "]}</script>\n<p>z</p>\n");
    record_done(&records[0]);
    record_done(&records[1]);
    buffer_done(&out);
}

/* A name may contain any text: only spoor's own end tag closes the element, and the JSON is
 * complete. */
TEST_WITH(text_in_a_report_cannot_close_the_script_element, set_up, tear_down)
{
    struct example *example = *state;
    struct record record;
    struct buffer out = { 0 };
    char *json, *end;

    example->input.name = "</script><script>alert(1)</script><!--";
    example_fill(example, &record);
    html_write_template(TEMPLATE, strlen(TEMPLATE), &record, 1, NULL, &out);
    json = strstr(out.text, BEGIN) + strlen(BEGIN);
    end = strchr(json, '<');
    assert_ptr_equal(end, strstr(json, "</script>"));
    *end = '\0';
    assert_non_null(
        strstr(json, "\"\\u003c/script>\\u003cscript>alert(1)\\u003c/script>\\u003c!--\""));
    assert_true(json_is_valid(json));
    record_done(&record);
    buffer_done(&out);
}

enum { RUNS = 100, COLUMNS = 50, POINTS = 256 };

/* Returns the length of a page with `count` identical runs. */
static size_t page_length(const struct record *record, size_t count)
{
    static struct record records[RUNS];
    struct buffer out = { 0 };
    size_t length;

    for (size_t i = 0; i < count; i++)
        records[i] = *record;
    html_write_template(TEMPLATE, strlen(TEMPLATE), records, count, NULL, &out);
    assert_int_equal(buffer_error(&out), 0);
    length = out.length;
    buffer_done(&out);
    return length;
}

TEST_WITH(pages_with_many_runs_have_fewer_points_per_run, set_up, tear_down)
{
    static double seconds[POINTS];
    static float high[POINTS], low[POINTS], mean[POINTS];
    static struct curve_column columns[COLUMNS];
    struct record record;

    for (size_t i = 0; i < POINTS; i++) {
        seconds[i] = (double)i + 1;
        mean[i] = 0.12345F * (float)(i + 1);
        high[i] = 1.1F * mean[i];
        low[i] = 0.9F * mean[i];
    }
    for (size_t i = 0; i < COLUMNS; i++)
        columns[i] = (struct curve_column){ "job_rss_bytes", false, high, low, mean };
    example_fill(*state, &record);
    record.curve = (struct record_curve){ POINTS, POINTS, seconds, columns, COLUMNS };
    assert_true(page_length(&record, 8) > 7 * page_length(&record, 1));
    assert_true(page_length(&record, RUNS) < RUNS * 3 / 4 * page_length(&record, 1));
    record_done(&record);
}

TEST_WITH(a_template_without_marker_is_refused, set_up, tear_down)
{
    struct record record;
    struct buffer out = { 0 };

    example_fill(*state, &record);
    html_write_template("<p>", 3, &record, 1, NULL, &out);
    assert_int_equal(buffer_error(&out), -EINVAL);
    record_done(&record);
    buffer_done(&out);
}

/* Passes both in builds with and in builds without the page. */
TEST(a_build_without_the_page_returns_an_error)
{
    struct spoor_error err = { 0 };

    if (report_template_length > 0) {
        assert_int_equal(format_check(SPOOR_HTML, &err), 0);
    } else {
        assert_int_equal(format_check(SPOOR_HTML, &err), -ENOSYS);
        assert_non_null(strstr(err.message, "npm"));
    }
}
