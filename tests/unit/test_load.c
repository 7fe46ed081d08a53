/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/compiler.h"
#include "example_report.h"
#include "example_system.h"
#include "output/format.h"
#include "record/load.h"
#include "unit_test.h"

/* ---- load ------------------------------------------------------------------ */

static int set_up(void **state)
{
    struct example *example = example_new();

    example->input.phase_count = EXAMPLE_PHASES;
    example->input.warning_count = EXAMPLE_WARNINGS;
    *state = example;
    return 0;
}

static int tear_down(void **state)
{
    example_free(*state);
    return 0;
}

/* ---- written reports can be read --------------------------------------------- */

static void load_text(const struct buffer *text, struct record *ret)
{
    struct spoor_error err = { 0 };

    if (record_parse(text->text, text->length, ret, NULL, &err) < 0)
        fail_msg("%s", err.message);
}

/* Loads the JSON of the example; the JSON of the loaded record must be equal. */
static void assert_same_json(const struct example *example)
{
    struct buffer live = { 0 }, again = { 0 };
    struct record record;

    example_write(example, SPOOR_JSON, NULL, &live);
    load_text(&live, &record);
    json_write(&record, NULL, &again);
    assert_int_equal(buffer_error(&again), 0);
    assert_string_equal(live.text, again.text);
    record_done(&record);
    buffer_done(&live);
    buffer_done(&again);
}

/* Text and CSV of the example and of its loaded record must be equal. */
static void assert_same_text(const struct example *example)
{
    static const struct format_style style = { true, false, TEXT_COLUMNS, true };
    struct buffer live = { 0 }, again = { 0 }, json = { 0 };
    struct record record;

    example_write(example, SPOOR_JSON, NULL, &json);
    load_text(&json, &record);
    example_write(example, SPOOR_TEXT, &style, &live);
    example_write(example, SPOOR_CSV, &style, &live);
    text_write(&record, &style, &again);
    csv_write(&record, &style, &again);
    assert_string_equal(live.text, again.text);
    record_done(&record);
    buffer_done(&live);
    buffer_done(&again);
    buffer_done(&json);
}

static void assert_same(const struct example *example)
{
    assert_same_json(example);
    assert_same_text(example);
}

TEST_WITH(a_report_is_the_same_after_loading, set_up, tear_down)
{
    static const int endings[] = { 0, 7 << 8, 9, 11 | 0x80, 34 };
    struct example *example = *state;

    for (size_t i = 0; i < ARRAY_SIZE(endings); i++) {
        example->input.wait_status = endings[i];
        assert_same(example);
    }
    example->input.launch =
        &(struct launch){ "open-mpi", "pbs",  "77[].x\x1b", "1", 3, 16,  0,    UNKNOWN, 2,
                          4,          "n\n3", NULL,         5,   0, "a", NULL, NULL };
    assert_same(example);
    example_forget(example);
    assert_same(example);
}

TEST_WITH(a_machine_is_the_same_after_loading, set_up, tear_down)
{
    example_system(*state);
    assert_same(*state);
}

TEST_WITH(numbers_without_a_short_decimal_form_are_the_same_after_loading, set_up, tear_down)
{
    static const uint64_t times[] = { 1, 33333, 333333333, 1234567890123, 86400000000001 };
    struct example *example = *state;

    for (size_t i = 0; i < ARRAY_SIZE(times); i++) {
        example->summary.ended_ns = times[i];
        example->summary.tally[METRIC_JOB_CPU].last = times[i] / 3;
        example->summary.tally[METRIC_JOB_RSS].max = times[i] * 7919;
        example->input.tracker_cpu_ns = times[i];
        example->input.interval_ns = times[i];
        example->limits.cpus = 1.0 / 3;
        assert_same(example);
    }
    example->limits.memory_bytes = (1ull << 63) - 4096; /* cgroup v1: no limit */
    assert_same(example);
}

/* In JSON, bytes that are not UTF-8 become U+FFFD; loading does not change these. */
TEST_WITH(hostile_text_is_the_same_after_loading, set_up, tear_down)
{
    static const char *const bytes[] = { "\xff\xc0\xaf", "a\xe2\x82", NULL };
    static const char *const command[] = { "a\"b",
                                           "\x1b[2J",
                                           "",
                                           "\n\r\t\\/\x7f",
                                           "\xe2\x80\xae",
                                           "\xf0\x9f\x98\x80\xf3\xa0\x80\x81",
                                           NULL };
    static const char *const tags[] = { "a\"\n=x", "novalue", "=", "k=1", "k=\x1b", NULL };
    struct example *example = *state;

    example->input.command = command;
    example->input.tags = tags;
    example->input.name = "\"}], \xe2\x80\xae";
    assert_same(example);
    example->input.command = bytes;
    example->input.tags = bytes;
    example->input.cwd = bytes[0];
    (void)snprintf(example->phases[0].name, sizeof(example->phases[0].name), "%s", bytes[1]);
    assert_same_json(example);
}

TEST_WITH(sparklines_are_the_same_after_loading, set_up, tear_down)
{
    static const struct format_style style = { false, true, TEXT_COLUMNS, true };
    struct buffer live = { 0 }, again = { 0 }, json = { 0 };
    struct record record;

    example_write(*state, SPOOR_JSON, NULL, &json);
    load_text(&json, &record);
    example_write(*state, SPOOR_TEXT, &style, &live);
    text_write(&record, &style, &again);
    assert_non_null(strstr(live.text, "▁"));
    assert_string_equal(live.text, again.text);
    record_done(&record);
    buffer_done(&live);
    buffer_done(&again);
    buffer_done(&json);
}

/* ---- GPUs ----------------------------------------------------------------- */

static const struct gpu_sources sources = { "nvml.processes", "nvml.samples", "nvml.busy",
                                            "nvml",           false,          NULL };

static const struct gpu_unit units[] = {
    { .device = { "GPU-\xff", "NVIDIA H200", "0000:3b:00.0", 150000000000, false, 0, false,
                  false, "" },
      .place = { 0, -1 },
      .vendor = "nvidia",
      .sources = &sources,
      .is_selected = true },
    { .device = { "MIG-1", "", "", 17000000000, true, 1, false, false, "" },
      .place = { 0, 1 },
      .vendor = "nvidia",
      .sources = &sources,
      .is_selected = true },
    { .device = { "", "Radeon \x1b", "0000:5b:00.0", UNKNOWN, false, 0, false, false, "" },
      .place = { 1, -1 },
      .vendor = "amd",
      .sources = &sources },
};

TEST_WITH(gpus_are_the_same_after_loading, set_up, tear_down)
{
    static struct gpu_device_view devices[ARRAY_SIZE(units)];
    struct example *example = *state;

    for (size_t i = 0; i < ARRAY_SIZE(units); i++)
        gpu_device_view_init(&devices[i], units[i].sources);
    devices[0].figures[GPU_MEMORY].peak = 3000000000;
    devices[0].figures[GPU_JOB_MEMORY].peak = 2999999999;
    devices[0].figures[GPU_UTILIZATION].mean = 333333;
    devices[0].figures[GPU_UTILIZATION].peak = 1000000;
    devices[0].figures[GPU_JOB_UTILIZATION].mean = 1;
    devices[0].figures[GPU_ENERGY].peak = 123456789;
    devices[0].figures[GPU_POWER].peak = 699123;
    devices[0].figures[GPU_TEMPERATURE].peak = 64;
    devices[0].throttle_reasons = GPU_THROTTLE_POWER | GPU_THROTTLE_THERMAL;
    devices[0].figures[GPU_JOB_UTILIZATION].measure.origin.source = "attributed";
    devices[1].figures[GPU_JOB_MEMORY].peak = 0;
    devices[1].throttle_reasons = 0;
    devices[1].figures[GPU_UTILIZATION].measure.origin.reason = "MIG devices do not report it";
    example->gpu = (struct gpu_view){
        .state = GPU_READY, .units = units, .count = ARRAY_SIZE(units), .devices = devices
    };
    assert_same_json(example);
    devices[0].figures[GPU_JOB_MEMORY].peak = 0;
    assert_same(example); /* the job used no GPU, so the text names the models */
    devices[0].figures[GPU_JOB_MEMORY].peak = UNKNOWN;
    assert_same(example);
    example->gpu = (struct gpu_view){ .state = GPU_PENDING };
    assert_same(example);
    example->gpu.reason = "the GPU driver does not answer";
    example->origins[METRIC_JOB_GPU_MEMORY].reason = example->gpu.reason;
    example_label(example);
    assert_same(example);
}

/* ---- other files ---------------------------------------------------------- */

static void refuse(const char *text, const char *expected)
{
    struct record untouched = { .pid = 4711 };
    struct spoor_error err = { 0 };

    assert_int_equal(record_parse(text, strlen(text), &untouched, NULL, &err), -EBADMSG);
    assert_int_equal(err.code, EBADMSG);
    assert_int_equal(untouched.pid, 4711);
    if (!strstr(err.message, expected))
        fail_msg("'%s' in: %s", expected, err.message);
}

TEST(errors_describe_the_problem)
{
#define RUN "{\"schema\": \"spoor/1\", \"run\": "
    static const struct {
        const char *text, *message;
    } rows[] = {
        { "", "not valid JSON (line 1, column 0); expected a report written by 'spoor run -f" },
        { "{\"schema\": \"spoor/1\", ", "not valid JSON (line 1, column 22)" },
        { "{\"a\": \"\\u0000\"}", "not valid JSON" },
        { "[]", "no schema; expected a report" },
        { "{}", "no schema; expected a report" },
        { "{\"schema\": 1}", "no schema" },
        { "{\"schema\": \"spoor/2\"}",
          "schema 'spoor/2' is not supported; this version reads" },
        { "{\"schema\": \"spoor/1\", \"hostname\": \"x\"}",
          "not the report of a run; expected" },
        { RUN "{\"pid\": \"1\"}}", "run.pid: expected a whole number that is not negative" },
        { RUN "{\"pid\": -1}}", "run.pid: expected a whole number" },
        { RUN "{\"id\": 1}}", "run.id: expected a string" },
        { RUN "{\"command\": \"x\"}}", "run.command: expected an array of strings" },
        { RUN "{\"command\": [1]}}", "run.command: expected a string" },
        { RUN "{\"tags\": []}}", "run.tags: expected an object" },
        { RUN "{\"tags\": {\"a\": 1}}}", "run.tags: expected a string" },
        { RUN "{\"started_at\": \"now\"}}", "run.started_at: expected a date as 2026-" },
        { RUN "{\"elapsed_seconds\": []}}", "run.elapsed_seconds: expected a number" },
        { RUN "{\"core_dumped\": 1}}", "run.core_dumped: expected true or false" },
        { RUN "{}, \"host\": 5}", "host: expected an object" },
        { RUN "{}, \"cpu\": {\"main\": [1]}}", "cpu.main: expected an object" },
        { RUN "{}, \"cpu\": {\"total_seconds\": 5}}", "cpu.total_seconds: expected an object" },
        { RUN "{}, \"cpu\": {\"total_seconds\": {\"value\": \"5\"}}}",
          "cpu.total_seconds.value: expected a number" },
        { RUN "{}, \"phases\": {}}", "phases: expected an array of at most 4096 objects" },
        { RUN "{}, \"phases\": [{}, 7]}", "phases[1]: expected an object" },
        { RUN "{}, \"phases\": [{\"cpu\": {\"total_seconds\": {\"exact\": 0}}}]}",
          "phases[0].cpu.total_seconds.exact: expected true or false" },
        { RUN "{}, \"gpu\": {\"devices\": [{\"index\": 3}]}}",
          "gpu.devices[0].index: expected a GPU of host.gpus" },
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        refuse(rows[i].text, rows[i].message);
}

TEST(missing_keys_are_unknown_and_new_keys_ignored)
{
    static const char text[] =
        RUN "{\"id\": \"x\", \"later\": {\"a\": [1]}}, \"cpu\": null, \"more\": [[]], "
            "\"memory\": {\"combined\": {\"total_rss_bytes\": {\"value\": 5, \"new\": 1}}}}";
    static const struct format_style style = { false, true, TEXT_COLUMNS, true };
    struct spoor_error err = { 0 };
    struct buffer out = { 0 };
    struct record record;

    assert_int_equal(record_parse(text, strlen(text), &record, NULL, &err), 0);
    assert_string_equal(record.id, "x");
    assert_null(record.name);
    assert_null(record.command);
    assert_int_equal(record.pid, UNKNOWN);
    assert_string_equal(record_find(record.figures, "cpu.total_seconds").reason,
                        "not in this report");
    assert_true(record_find(record.figures, "memory.combined.total_rss_bytes").value > 4.9);
    /* All formats can be written. */
    text_write(&record, &style, &out);
    csv_write(&record, &style, &out);
    json_write(&record, &style, &out);
    assert_int_equal(buffer_error(&out), 0);
    assert_non_null(strstr(out.text, "process n/a\nexit code unknown\n"));
    assert_non_null(strstr(out.text, "\nnot exact    peak memory\n"));
    buffer_done(&out);
    record_done(&record);
}

/* Loads a text. If it is accepted, writing the record must succeed. */
static void try(const char *text, size_t length)
{
    static const struct format_style style = { false, true, TEXT_COLUMNS, true };
    struct spoor_error err = { 0 };
    struct buffer out = { 0 };
    struct record record;
    int r = record_parse(text, length, &record, NULL, &err);

    assert_true(r == 0 || r == -EBADMSG);
    assert_true(r == 0 || err.message[0]);
    if (r == 0) {
        text_write(&record, &style, &out);
        csv_write(&record, &style, &out);
        json_write(&record, &style, &out);
        assert_int_equal(buffer_error(&out), 0);
        buffer_done(&out);
        record_done(&record);
    }
}

static void try_tree(const json_t *root)
{
    char *text = json_dumps(root, JSON_COMPACT);

    assert_non_null(text);
    try(text, strlen(text));
    free(text);
}

static bool use_one(unsigned *left)
{
    return *left > 0 && (*left)-- > 0;
}

/* Replaces each value of the tree by other values: by all of them in `make test-full`,
 * otherwise by two of them in turn. Since all figures have the same form, descends into only
 * `*figures` of them. */
static void swap_values(json_t *root, json_t *at, unsigned *figures)
{
    static size_t turn;
    const size_t step = getenv("TEST_FULL") ? 1 : 4;
    static const char *const others[] = { "null", "-1",   "1e300",  "9223372036854775807",
                                          "true", "\"\"", "[[{}]]", "{\"value\":{}}" };
    const char *key;
    json_t *member;
    void *next;

    json_object_foreach_safe(at, next, key, member)
    {
        json_incref(member);
        for (size_t i = turn++ % step; i < ARRAY_SIZE(others); i += step) {
            json_object_set_new(at, key, json_loads(others[i], JSON_DECODE_ANY, NULL));
            try_tree(root);
        }
        json_object_set_new(at, key, member);
        if (!json_object_get(member, "value") || use_one(figures))
            swap_values(root, member, figures);
    }
    for (size_t i = 0; i < json_array_size(at); i++)
        swap_values(root, json_array_get(at, i), figures);
}

TEST_WITH(wrong_types_are_harmless, set_up, tear_down)
{
    struct example *example = *state;
    struct buffer text = { 0 };
    unsigned figures = 3;
    json_t *root;

    example_system(example); /* adds a section */
    example->input.phase_count = 1;
    example->gpu = (struct gpu_view){ .state = GPU_READY, .units = units, .count = 2 };
    example_write(example, SPOOR_JSON, NULL, &text);
    root = json_loads(text.text, 0, NULL);
    assert_non_null(root);
    swap_values(root, root, &figures);
    json_decref(root);
    buffer_done(&text);
}

TEST_WITH(a_truncated_report_is_refused, set_up, tear_down)
{
    const size_t step = getenv("TEST_FULL") ? 7 : 23;
    struct example *example = *state;
    struct buffer text = { 0 };

    example->input.phase_count = 0;
    example_write(example, SPOOR_JSON, NULL, &text);
    for (size_t length = 0; length < text.length - 2; length += step) {
        struct spoor_error err;
        struct record record;

        assert_int_equal(record_parse(text.text, length, &record, NULL, &err), -EBADMSG);
    }
    for (size_t i = 0; i < text.length; i += step + 4) {
        char byte = text.text[i];

        text.text[i] = i % 2 ? '\0' : '\xff'; /* a NUL, or a byte that is not UTF-8 */
        try(text.text, text.length);
        text.text[i] = byte;
    }
    buffer_done(&text);
}

static void add_many(struct buffer *text, const char *piece, size_t count)
{
    for (size_t i = 0; i < count; i++)
        buffer_add_text(text, piece);
}

TEST(nesting_depth_and_length_of_reports_are_limited)
{
    static const char *const arrays[] = { "\"phases\": [", "\"host\": {\"gpus\": [",
                                          "\"warnings\": [" };
    struct buffer text = { 0 };

    add_many(&text, "[", 1000000);
    refuse(text.text, "not valid JSON");
    buffer_clear(&text);
    add_many(&text, "{\"a\":", 1000000);
    refuse(text.text, "not valid JSON");
    for (size_t i = 0; i < ARRAY_SIZE(arrays); i++) {
        buffer_clear(&text);
        buffer_format(&text, RUN "{}, %s", arrays[i]);
        add_many(&text, "{},", 100000);
        buffer_format(&text, "{}]%s}", strchr(arrays[i], '{') ? "}" : "");
        refuse(text.text, "expected an array of at most 4096 objects");
    }
    buffer_done(&text);
}

static int read_file(const char *path, struct spoor_error *err)
{
    CLEANUP(buffer_done) struct buffer text = { 0 };
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct records records;
    int r;

    assert_true(fd >= 0);
    r = records_read(fd, path, &text, &records, err);
    close(fd);
    return r;
}

TEST(errors_name_the_file_that_cannot_be_read)
{
    struct spoor_error err = { 0 };

    assert_int_equal(read_file("/", &err), -EISDIR);
    assert_string_equal(err.message, "cannot read '/': Is a directory");
    assert_int_equal(read_file("/dev/zero", &err), -EFBIG);
    assert_string_equal(err.message, "'/dev/zero' is larger than 64 MiB; expected a report "
                                     "written by 'spoor run -f json'");
    assert_int_equal(read_file("/dev/null", &err), -EBADMSG);
    assert_ptr_equal(strstr(err.message, "'/dev/null': not valid JSON"), err.message);
}

/* ---- load context ---------------------------------------------------------- */

#define REPORT "{\"schema\": \"spoor/1\", \"run\": {}, \"context\": "

/* Loads a report and writes it again. Returns the text that starts at the context, or NULL. */
static const char *context_again(const char *report, struct buffer *out)
{
    struct spoor_error err = { 0 };
    struct record record;

    buffer_clear(out);
    if (record_parse(report, strlen(report), &record, NULL, &err) < 0)
        fail_msg("%s", err.message);
    json_write(&record, NULL, out);
    record_done(&record);
    assert_int_equal(buffer_error(out), 0);
    return strstr(out->text, "\"context\"");
}

TEST(context_is_kept_unchanged)
{
    static const char context[] = "\"context\": {\"b\":[1,2.5,null,{\"x\":\"</script>\\n\"}],"
                                  "\"a\":\"\xc3\xa9\"}\n}\n";
    struct buffer once = { 0 }, twice = { 0 };

    assert_string_equal(context_again(REPORT
                                      "{\"b\": [1, 2.5, null, {\"x\": \"</script>\\n\"}], "
                                      "\"a\": \"\\u00e9\"}}",
                                      &once),
                        context);
    assert_string_equal(context_again(once.text, &twice), context);
    assert_string_equal(once.text, twice.text);
    buffer_done(&once);
    buffer_done(&twice);
}

TEST(a_value_that_is_not_an_object_is_ignored)
{
    static const char *const reports[] = { REPORT "null}", REPORT "[1]}", REPORT "\"x\"}",
                                           "{\"schema\": \"spoor/1\", \"run\": {}}" };
    struct buffer out = { 0 };

    for (size_t i = 0; i < sizeof(reports) / sizeof(*reports); i++)
        assert_null(context_again(reports[i], &out));
    buffer_done(&out);
}

/* ---- load curve ------------------------------------------------------------ */

static int load(const char *text, struct record *record, struct spoor_error *err)
{
    json_t *root = json_loads(text, JSON_DECODE_ANY, NULL);
    int r;

    assert_non_null(root);
    record_init(record);
    r = load_curve(record, root, err);
    json_decref(root);
    return r;
}

TEST(omitted_low_values_of_a_curve_equal_the_high_ones)
{
    struct record record;

    assert_int_equal(load("{\"samples\":7,\"seconds\":[1,2.5],\"columns\":{\"later_metric\":"
                          "{\"kind\":\"rate\",\"high\":[null,4],\"mean\":[null,2],\"new\":1}}}",
                          &record, NULL),
                     0);
    assert_int_equal(record.curve.samples, 7);
    assert_int_equal(record.curve.count, 2);
    assert_true(record.curve.columns[0].is_rate);
    assert_true(isnan(record.curve.columns[0].low[0]));
    assert_true(fabsf(record.curve.columns[0].low[1] - 4) < 1e-6f);
    assert_true(fabsf(record.curve.columns[0].mean[1] - 2) < 1e-6f);
    record_done(&record);
    assert_int_equal(load("null", &record, NULL), 0);
    assert_int_equal(record.curve.count, 0);
    record_done(&record);
}

TEST(an_invalid_curve_is_refused)
{
#define COLUMN(text) "{\"samples\":1,\"seconds\":[1],\"columns\":{\"a\":" text "}}"
    static const struct {
        const char *text, *message;
    } cases[] = {
        { "3", "curve.columns" },
        { "{\"samples\":1,\"seconds\":[1],\"columns\":[]}", "curve.columns" },
        { "{\"samples\":-1,\"seconds\":[1],\"columns\":{}}", "curve.samples" },
        { "{\"samples\":1,\"seconds\":3,\"columns\":{}}", "curve.seconds" },
        { "{\"samples\":1,\"seconds\":[2,1],\"columns\":{}}", "never decrease" },
        { "{\"samples\":1,\"seconds\":[\"1\"],\"columns\":{}}", "curve.seconds" },
        { COLUMN("1"), "curve.columns.a.kind" },
        { COLUMN("{\"kind\":\"x\",\"high\":[1]}"), "curve.columns.a.kind" },
        { COLUMN("{\"kind\":\"rate\"}"), "curve.columns.a.high" },
        { COLUMN("{\"kind\":\"rate\",\"high\":[1,2]}"), "array of 1 numbers" },
        { COLUMN("{\"kind\":\"rate\",\"high\":[true]}"), "array of 1 numbers" },
        { COLUMN("{\"kind\":\"rate\",\"high\":[1],\"low\":[null]}"), "the same nulls" },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct spoor_error err = { 0 };
        struct record record;

        assert_int_equal(load(cases[i].text, &record, &err), -EBADMSG);
        assert_non_null(strstr(err.message, cases[i].message));
        record_done(&record);
    }
}
