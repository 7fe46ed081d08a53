/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "example_report.h"
#include "json_check.h"
#include "output/stream.h"
#include "series/figure.h"
#include "unit_test.h"

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

/* Counts the cells of one line by RFC 4180; fails the test if it is malformed. */
static size_t count_cells(const char *line, const char *end)
{
    size_t cells = 1;
    bool is_quoted = false;

    for (; line < end; line++) {
        if (*line == '"')
            is_quoted = !is_quoted;
        else if (*line == ',' && !is_quoted)
            cells++;
        assert_true((unsigned char)*line >= 0x20);
    }
    assert_false(is_quoted);
    return cells;
}

/* Checks that all lines have as many cells as the first. Returns the number of lines. */
static size_t check_lines(const struct buffer *out)
{
    size_t lines = 0;
    size_t cells = 0;
    const char *end;

    assert_int_equal(buffer_error(out), 0);
    for (const char *line = out->text; *line; line = end + 1, lines++) {
        end = strchr(line, '\n');
        assert_non_null(end);
        if (lines == 0)
            cells = count_cells(line, end);
        assert_int_equal(count_cells(line, end), cells);
    }
    return lines;
}

static void write_csv(const struct example *example, bool has_header, struct buffer *out)
{
    example_write(example, SPOOR_CSV, &(struct format_style){ .has_header = has_header }, out);
}

TEST_WITH(the_summary_is_a_header_and_a_row, set_up, tear_down)
{
    struct example *example = *state;
    struct buffer out = { 0 };
    const char *row;

    write_csv(example, true, &out);
    assert_int_equal(check_lines(&out), 2);
    assert_int_equal(count_cells(out.text, strchr(out.text, '\n')),
                     figure_count() + 23 + record_launch_fields.count);
    assert_ptr_equal(strstr(out.text,
                            "run_id,name,tags,command,started_at,elapsed_seconds,exit_code,"
                            "signal,samples,cpu_total_seconds,cpu_user_seconds,"),
                     out.text);
    assert_non_null(strstr(out.text, ",memory_combined_total_rss_bytes,"));
    row = strchr(out.text, '\n') + 1;
    assert_non_null(strstr(out.text, ",events_throttled_seconds,tracker_cpu_seconds,"
                                     "tracker_max_rss_bytes,tracker_late_samples,"
                                     "tracker_detail_reads,tracker_budget_percent,"));
    assert_non_null(strstr(out.text, ",launcher,scheduler,job,step,rank,ranks,"));
    assert_ptr_equal(strstr(row, "0123456789abcdef0123456789abcdef,,team=blue note=a=b,"
                                 "python3 train.py --name 'it'\\''s me',"
                                 "2026-03-14T09:26:53.589Z,5,0,,6,10,9.25,0.75,2,3.5,"),
                     row);
    assert_non_null(strstr(
        row, ",,,0.012,3200000,0,3,0.3,0.007,0,0.003,0.002,0,0,5,0,0,,,,,,,,,,,,,,,,\n"));
    buffer_done(&out);
}

TEST_WITH(rows_of_all_runs_have_the_columns_of_the_header, set_up, tear_down)
{
    static const char *const command[] = { "a,\"b\"\n", "\x1b[2J\xff", NULL };
    struct example *example = *state;
    struct buffer out = { 0 };

    write_csv(example, true, &out);
    example->input.command = command;
    example->input.name = " \"x\",\r\n=1+1";
    example->input.wait_status = 9;
    write_csv(example, false, &out);
    assert_non_null(strstr(out.text, ",\" \"\"x\"\",\\r\\n=1+1\",team=blue note=a=b,"
                                     "\"$'a,\"\"b\"\"\\n' $'\\x1b[2J\\xff'\","));
    assert_non_null(strstr(out.text, ",137,SIGKILL,6,"));
    example_forget(example);
    write_csv(example, false, &out);
    assert_non_null(strstr(out.text, "\n0123456789abcdef0123456789abcdef,,,,,,,,0,,,"));
    assert_int_equal(check_lines(&out), 4);
    buffer_done(&out);
}

static const struct gpu_columns no_gpus;

static struct stream stream_for_path(const char *path)
{
    struct stream stream;

    assert_int_equal(stream_find(path, NULL, NULL, true, &stream, NULL), 0);
    return stream;
}

static void add_row(struct stream stream, const struct example *example, size_t i,
                    struct buffer *out)
{
    const struct stream_row row = {
        .sample = &example->samples[i],
        .previous = i > 0 ? &example->samples[i - 1] : NULL,
        .gpu = &example->gpu,
        .of_gpus = &no_gpus,
        .run_id = "cafe",
    };

    assert_true(stream_write_row(&stream, &row, out));
}

static void write_stream(struct stream stream, const struct example *example,
                         struct buffer *out)
{
    if (stream.has_header)
        stream_write_header(&stream, &no_gpus, out);
    for (size_t i = 0; i < EXAMPLE_SAMPLES; i++)
        add_row(stream, example, i, out);
    assert_int_equal(buffer_error(out), 0);
}

TEST_WITH(csv_samples_have_the_metric_names_as_header, set_up, tear_down)
{
    struct example *example = *state;
    struct buffer out = { 0 };

    write_stream(stream_for_path("x.csv"), example, &out);
    assert_int_equal(check_lines(&out), 1 + EXAMPLE_SAMPLES);
    assert_ptr_equal(strstr(out.text, "timestamp,elapsed_seconds,run_id,main_cpu_seconds,"
                                      "main_cpu_cores,main_rss_bytes,"),
                     out.text);
    assert_non_null(strstr(out.text, ",job_read_bytes,job_read_bytes_per_second,"));
    /* The first row has no rate yet: its cell is empty. */
    assert_non_null(strstr(out.text, "\n1773480413.589,0,cafe,0,,2000000,1000000,1000000,"));
    assert_non_null(strstr(out.text, "\n1773480414.589,1,cafe,0.5,0.5,100000000,90000000,"));
    buffer_done(&out);
}

TEST_WITH(json_samples_are_objects_on_one_line_each, set_up, tear_down)
{
    struct example *example = *state;
    struct buffer out = { 0 };
    size_t lines = 0;
    char *next;

    write_stream(stream_for_path("x.jsonl"), example, &out);
    assert_non_null(strstr(
        out.text, "{\"timestamp\": 1773480413.589, \"elapsed_seconds\": 0, "
                  "\"run_id\": \"cafe\", \"main_cpu_seconds\": 0, \"main_cpu_cores\": null, "));
    assert_non_null(strstr(out.text, "\"job_cpu_seconds\": 0.5, \"job_cpu_cores\": 0.5, "));
    for (char *line = out.text; *line; line = next + 1, lines++) {
        next = strchr(line, '\n');
        assert_non_null(next);
        *next = '\0';
        assert_true(json_is_valid(line));
    }
    assert_int_equal(lines, EXAMPLE_SAMPLES);
    buffer_done(&out);
}

TEST_WITH(samples_of_the_same_time_give_no_rate, set_up, tear_down)
{
    struct example *example = *state;
    struct buffer out = { 0 };

    example->samples[1].elapsed_ns = 0;
    add_row(stream_for_path("x.csv"), example, 1, &out);
    assert_ptr_equal(strstr(out.text, "1773480414.589,0,cafe,0.5,,100000000,"), out.text);
    buffer_done(&out);
}

TEST_WITH(a_row_reuses_the_memory_of_the_previous_one, set_up, tear_down)
{
    static const char *const paths[] = { "x.csv", "x.jsonl" };
    struct example *example = *state;

    for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
        struct stream stream = stream_for_path(paths[i]);
        struct buffer out = { 0 };
        const char *text;
        size_t capacity;

        add_row(stream, example, 3, &out);
        text = out.text;
        capacity = out.capacity;
        for (int k = 0; k < 1000; k++) {
            buffer_clear(&out);
            add_row(stream, example, 4, &out);
        }
        assert_ptr_equal(out.text, text);
        assert_int_equal(out.capacity, capacity);
        buffer_done(&out);
    }
}

TEST(the_suffix_selects_the_sample_format)
{
    static const char *const others[] = { "",         ".csv",  "csv",  "x.CSV", "x.json",
                                          "x.csv.gz", "x.f64", "/tmp", "x." };
    struct stream stream = stream_for_path("a/b.csv");

    assert_true(stream.has_header);
    stream = stream_for_path("b.c.jsonl");
    assert_false(stream.has_header);
    for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
        struct spoor_error err = { 0 };

        assert_int_equal(stream_find(others[i], NULL, NULL, true, &stream, &err), -EINVAL);
        assert_string_equal(err.message, "the name must end in .csv or .jsonl");
    }
}
