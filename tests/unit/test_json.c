/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <signal.h>
#include <string.h>

#include "base/compiler.h"
#include "example_report.h"
#include "json_check.h"
#include "output/stream.h"
#include "text/json_writer.h"
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

/* Writes the report of an example and checks that it is JSON. */
static void write_json(const struct example *example, struct buffer *out)
{
    example_write(example, SPOOR_JSON, NULL, out);
    assert_int_equal(buffer_error(out), 0);
    assert_true(json_is_valid(out->text));
    assert_int_equal(out->text[out->length - 1], '\n');
}

static void assert_holds(const struct buffer *out, const char *text)
{
    if (!strstr(out->text, text))
        fail_msg("not found: %s", text);
}

TEST(the_writer_adds_commas_newlines_and_indentation)
{
    struct buffer out = { 0 };
    struct json_writer json = { .out = &out };

    json_begin(&json, NULL, '{');
    json_add_text(&json, "text", "a\"b");
    json_add_text(&json, "none", NULL);
    json_begin(&json, "list", '[');
    json_add_number(&json, NULL, 0.5);
    json_add_u64(&json, NULL, UNKNOWN);
    json_end(&json);
    json_begin_line(&json, "line", '{');
    json_add_bool(&json, "yes", true);
    json_begin(&json, "inner", '[');
    json_add_seconds(&json, NULL, 1500000000);
    json_add_number(&json, NULL, nan(""));
    json_end(&json);
    json_end(&json);
    json_begin(&json, "empty", '{');
    json_end(&json);
    json_add_metric(&json, "cpu", METRIC_JOB_CPU, 250000000);
    json_end(&json);
    assert_string_equal(out.text, "{\n"
                                  "  \"text\": \"a\\\"b\",\n"
                                  "  \"none\": null,\n"
                                  "  \"list\": [\n"
                                  "    0.5,\n"
                                  "    null\n"
                                  "  ],\n"
                                  "  \"line\": {\"yes\": true, \"inner\": [1.5, null]},\n"
                                  "  \"empty\": {},\n"
                                  "  \"cpu\": 0.25\n"
                                  "}");
    assert_true(json_is_valid(out.text));
    buffer_done(&out);
}

TEST_WITH(the_report_describes_the_run_and_its_machine, set_up, tear_down)
{
    struct buffer out = { 0 };

    write_json(*state, &out);
    assert_holds(&out,
                 "{\n"
                 "  \"schema\": \"spoor/1\",\n"
                 "  \"run\": {\n"
                 "    \"id\": \"0123456789abcdef0123456789abcdef\",\n"
                 "    \"name\": null,\n"
                 "    \"tags\": {\n"
                 "      \"team\": \"blue\",\n"
                 "      \"note\": \"a=b\"\n"
                 "    },\n"
                 "    \"command\": [\"python3\", \"train.py\", \"--name\", \"it's me\"],\n"
                 "    \"pid\": 4242,\n"
                 "    \"host\": \"node7\",\n"
                 "    \"user\": \"ada\",\n"
                 "    \"cwd\": \"/home/ada\",\n"
                 "    \"started_at\": \"2026-03-14T09:26:53.589Z\",\n"
                 "    \"ended_at\": \"2026-03-14T09:26:58.589Z\",\n"
                 "    \"elapsed_seconds\": 5,\n"
                 "    \"exit_code\": 0,\n"
                 "    \"signal\": null,\n"
                 "    \"interval_seconds\": 1,\n"
                 "    \"samples\": 6,\n"
                 "    \"spoor_version\": \"" SPOOR_VERSION "\"\n"
                 "  },\n"
                 "  \"host\": {\n"
                 "    \"os\": \"Debian GNU/Linux 12 (bookworm)\",\n"
                 "    \"kernel\": \"6.12.1\",\n"
                 "    \"cpu_model\": \"AMD EPYC 7763 64-Core Processor\",\n"
                 "    \"cpus\": 8,\n"
                 "    \"memory_bytes\": 33600000000,\n"
                 "    \"gpus\": [],\n"
                 "    \"cloud\": {}\n"
                 "  },\n"
                 "  \"limits\": {\n"
                 "    \"cpus\": 4,\n"
                 "    \"cpus_source\": \"affinity\",\n"
                 "    \"memory_bytes\": 2000000000,\n"
                 "    \"memory_source\": \"cgroup.memory.max\",\n"
                 "    \"gpus\": []\n"
                 "  },\n"
                 "  \"cpu\": {\n");
    buffer_done(&out);
}

TEST_WITH(every_measure_has_a_source, set_up, tear_down)
{
    static const char *const lines[] = {
        "\n    \"total_seconds\": "
        "{\"value\": 10, \"source\": \"perf.task-clock\", \"exact\": true},\n",
        "\n    \"max_cores\": "
        "{\"value\": 3.5, \"source\": \"perf.task-clock\", \"exact\": false},\n",
        "\n      \"total_rss_bytes\": "
        "{\"value\": 210000000, \"source\": \"procfs.status\", \"exact\": true},\n",
        "\n      \"total_rss_bytes\": {\"value\": 1200000000, \"source\": \"procfs.statm\", "
        "\"exact\": false, \"low\": 1200000000, \"high\": 1500000000},\n",
        "\n    \"oom_kills\": {\"value\": null, \"source\": null, \"exact\": false, "
        "\"reason\": \"not in this example\"},\n",
        "\n    \"started\": "
        "{\"value\": 7, \"source\": \"procfs.children\", \"exact\": false},\n",
    };
    struct buffer out = { 0 };

    write_json(*state, &out);
    for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
        assert_holds(&out, lines[i]);
    buffer_done(&out);
}

TEST_WITH(processes_are_listed_and_the_others_summed, set_up, tear_down)
{
    struct buffer out = { 0 };

    write_json(*state, &out);
    assert_holds(
        &out,
        "    \"largest\": [\n"
        "      {\"pid\": 4242, \"parent_pid\": 4200, \"name\": \"python3\", "
        "\"command\": \"python3 train.py --name 'it'\\\\''s me'\", "
        "\"started_seconds\": 0, \"ended_seconds\": null, \"cpu_seconds\": 1, "
        "\"cpu_wait_seconds\": 0.5, "
        "\"peak_rss_bytes\": 210000000, \"read_bytes\": 12000000, \"written_bytes\": 0, "
        "\"gpu_memory_bytes\": 1073741824, \"exit_code\": null, \"signal\": null},\n"
        "      {\"pid\": 4250, \"parent_pid\": null, \"name\": \"a\\\"\\u001b[2J\", "
        "\"command\": \"worker 'a b'\", \"started_seconds\": 0.25, \"ended_seconds\": 4.25, "
        "\"cpu_seconds\": 8, \"cpu_wait_seconds\": null, \"peak_rss_bytes\": null, "
        "\"read_bytes\": null, "
        "\"written_bytes\": null, \"gpu_memory_bytes\": null, \"exit_code\": 137, "
        "\"signal\": \"SIGKILL\"}\n"
        "    ],\n"
        "    \"others\": [\n"
        "      {\"name\": \"sh\", \"count\": 3, \"cpu_seconds\": 0.9, "
        "\"peak_rss_bytes\": 3000000},\n"
        "      {\"name\": null, \"count\": 2, \"cpu_seconds\": 0.1, "
        "\"peak_rss_bytes\": null}\n"
        "    ]\n  },\n");
    buffer_done(&out);
}

TEST_WITH(sections_are_in_the_order_of_the_schema, set_up, tear_down)
{
    static const char *const keys[] = {
        "schema",       "run",      "host",   "limits",  "cpu",
        "memory",       "gpu",      "io",     "network", "energy",
        "processes",    "pressure", "events", "phases",  "recommendation",
        "distribution", "tracker",  "curve",  "warnings"
    };
    struct buffer out = { 0 };
    const char *cursor;

    write_json(*state, &out);
    cursor = out.text;
    for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
        struct buffer key = { 0 };

        buffer_format(&key, "\n  \"%s\": ", keys[i]);
        cursor = strstr(cursor, key.text);
        assert_non_null(cursor);
        buffer_done(&key);
    }
    buffer_done(&out);
}

TEST_WITH(sections_contain_values_besides_measures, set_up, tear_down)
{
    struct buffer out = { 0 };

    write_json(*state, &out);
    assert_holds(&out, "  \"gpu\": {\n    \"count\": 0,\n    \"selected\": [],\n"
                       "    \"memory\": {\n      \"main_bytes\": {");
    assert_holds(&out, "    },\n    \"devices\": []\n  },\n  \"io\": {");
    assert_holds(&out, "    \"scope\": \"host\",\n    \"remotes\": []\n  },\n  \"energy\": {");
    assert_holds(&out, "  \"phases\": [],\n"
                       "  \"recommendation\": {\n"
                       "    \"cpus\": {\"value\": 3, \"guess\": false, \"why\": \"");
    assert_holds(&out, "\"},\n"
                       "    \"choices\": [{\"cpus\": 3, \"seconds\": 60}],\n"
                       "    \"note\": \"The run took less than 10 s.\"\n"
                       "  },\n"
                       "  \"distribution\": {");
    assert_holds(&out, "  \"tracker\": {\n"
                       "    \"cpu_seconds\": 0.012,\n"
                       "    \"max_rss_bytes\": 3200000,\n"
                       "    \"late_samples\": 0,\n"
                       "    \"detail_reads\": 3,\n"
                       "    \"budget_percent\": 0.3,\n"
                       "    \"spent\": {\n"
                       "      \"samples_seconds\": 0.007,\n"
                       "      \"events_seconds\": 0,\n"
                       "      \"glances_seconds\": 0.003,\n"
                       "      \"sharing_seconds\": 0.002,\n"
                       "      \"gpus_seconds\": 0,\n"
                       "      \"network_seconds\": 0\n"
                       "    },\n"
                       "    \"postponed\": {\n"
                       "      \"glances\": 5,\n"
                       "      \"sharing\": 0,\n"
                       "      \"gpus\": 0\n"
                       "    }\n"
                       "  },\n"
                       "  \"curve\": {\n"
                       "    \"samples\": 6,\n"
                       "    \"seconds\": [0, 1, 2, 3, 4, 5],\n"
                       "    \"columns\": {\n"
                       "      \"main_cpu_seconds\": {\n"
                       "        \"kind\": \"rate\",\n"
                       "        \"high\": [null, 0.5, 0.4, 0, 0.05, 0.05]\n"
                       "      },\n"
                       "      \"main_rss_bytes\": {\n"
                       "        \"kind\": \"gauge\",\n");
    assert_holds(&out, "      }\n"
                       "    }\n"
                       "  },\n"
                       "  \"warnings\": []\n"
                       "}\n");
    buffer_done(&out);
}

TEST_WITH(phases_have_the_same_sections, set_up, tear_down)
{
    struct example *example = *state;
    struct buffer out = { 0 };

    example->input.phase_count = EXAMPLE_PHASES;
    write_json(example, &out);
    assert_holds(&out, "  \"phases\": [\n"
                       "    {\n"
                       "      \"name\": \"load\",\n"
                       "      \"started_at\": \"2026-03-14T09:26:53.589Z\",\n"
                       "      \"elapsed_seconds\": 2,\n"
                       "      \"cpu\": {\n"
                       "        \"total_seconds\": {\"value\": 3.5, ");
    assert_holds(&out, "\"name\": \"train\\u001b[2J, \\\"quick\\\"\",\n");
    assert_holds(&out, "\"name\": \"phase 9\",\n      \"started_at\": null,\n"
                       "      \"elapsed_seconds\": null,\n");
    buffer_done(&out);
}

TEST_WITH(the_end_of_a_run_has_an_exit_code_and_a_signal_name, set_up, tear_down)
{
    const struct {
        int wait_status;
        const char *text;
    } rows[] = {
        { 7 << 8, "\"exit_code\": 7,\n    \"signal\": null,\n" },
        { 255 << 8, "\"exit_code\": 255,\n    \"signal\": null,\n" },
        { SIGKILL, "\"exit_code\": 137,\n    \"signal\": \"SIGKILL\",\n" },
        { SIGSEGV | 0x80, "\"exit_code\": 139,\n    \"signal\": \"SIGSEGV\",\n" },
        { SIGRTMIN + 3, "\"signal\": \"SIGRTMIN+3\",\n" },
    };
    struct example *example = *state;

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct buffer out = { 0 };

        example->input.wait_status = rows[i].wait_status;
        write_json(example, &out);
        assert_holds(&out, rows[i].text);
        buffer_done(&out);
    }
}

TEST_WITH(unknown_values_are_null, set_up, tear_down)
{
    struct example *example = *state;
    struct buffer out = { 0 };

    example_forget(example);
    write_json(example, &out);
    assert_holds(&out, "\"exit_code\": null,\n    \"signal\": null,\n");
    assert_holds(&out, "\"command\": [],\n");
    assert_holds(&out, "\"tags\": {},\n");
    assert_holds(&out, "\"started_at\": null,\n");
    assert_holds(&out, "\"elapsed_seconds\": null,\n");
    assert_holds(&out, "\"cpus\": null,\n    \"memory_bytes\": null,\n    \"gpus\"");
    assert_holds(&out, "\"cpu_seconds\": null,\n    \"max_rss_bytes\": null,\n");
    assert_null(strstr(out.text, "nan"));
    buffer_done(&out);
}

TEST_WITH(hostile_text_is_escaped, set_up, tear_down)
{
    static const char *const command[] = { "a\"b", "\x1b[2J", "\xff\xc0\xaf", "", "\n", NULL };
    static const char *const tags[] = { "a\"\n=x", "novalue", "=", "k=1", "kk=0", "k=2", NULL };
    struct example *example = *state;
    struct buffer out = { 0 };

    example->input.command = command;
    example->input.tags = tags;
    example->input.name = "\"}], \xe2\x80\xae";
    example->input.warning_count = EXAMPLE_WARNINGS;
    write_json(example, &out);
    assert_holds(&out, "\"command\": [\"a\\\"b\", \"\\u001b[2J\", "
                       "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\", \"\", \"\\n\"],\n");
    assert_holds(&out, "\"a\\\"\\n\": \"x\",\n      \"novalue\": \"\",\n      \"\": \"\",\n"
                       "      \"kk\": \"0\",\n      \"k\": \"2\"\n"); /* the last k is used */
    assert_holds(&out, "\"name\": \"\\\"}], \\u202e\",\n");
    assert_holds(&out, "{\"code\": \"lost\", \"message\": \"row\\n\\u001b[31m\\\"two\\\"\"}\n");
    buffer_done(&out);
}
