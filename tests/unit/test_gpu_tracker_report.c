/* SPDX-License-Identifier: Apache-2.0 */
/* Reports against what the predecessor wrote for the same numbers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above */
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "compat/gpu_tracker/report.h"

/* Twelve cores, one GPU, a script whose children do the work. */
static const struct resource_usage workstation = {
    .max_ram = { "gigabytes",
                 63.0882304,
                 2.878910464,
                 { 0.0029777920000000004, 0.00031948800000000004, 0.0026583040000000002 },
                 { 0.8333844480000001, 0.7066091520000001, 0.127152128 },
                 { 0.841486336, 0.713818112, 0.12804505600000002 } },
    .max_gpu_ram = { "gigabytes", 2.048, 0.631, 0.0, 0.277, 0.277 },
    .cpu = { 12,
             12,
             { 306.09999999999997, 25.50833333333333, 161.4272727272727, 13.452272727272724 },
             { 0.0, 0.0, 0.0, 0.0 },
             { 440.2, 36.68333333333333, 128.27272727272728, 10.68939393939394 },
             { 440.2, 36.68333333333333, 128.27272727272728, 10.68939393939394 },
             1,
             15,
             16 },
    .gpu = { 1, 1, { 7.0, 7.0, 0.6363636363636364, 0.6363636363636364 } },
    .compute_time = { "hours", 0.0012816817230648465 },
};

static const char workstation_json[] = "{\n"
                                       " \"max_ram\": {\n"
                                       "  \"unit\": \"gigabytes\",\n"
                                       "  \"system_capacity\": 63.0882304,\n"
                                       "  \"system\": 2.878910464,\n"
                                       "  \"main\": {\n"
                                       "   \"total_rss\": 0.0029777920000000004,\n"
                                       "   \"private_rss\": 0.00031948800000000004,\n"
                                       "   \"shared_rss\": 0.0026583040000000002\n"
                                       "  },\n"
                                       "  \"descendants\": {\n"
                                       "   \"total_rss\": 0.8333844480000001,\n"
                                       "   \"private_rss\": 0.7066091520000001,\n"
                                       "   \"shared_rss\": 0.127152128\n"
                                       "  },\n"
                                       "  \"combined\": {\n"
                                       "   \"total_rss\": 0.841486336,\n"
                                       "   \"private_rss\": 0.713818112,\n"
                                       "   \"shared_rss\": 0.12804505600000002\n"
                                       "  }\n"
                                       " },\n"
                                       " \"max_gpu_ram\": {\n"
                                       "  \"unit\": \"gigabytes\",\n"
                                       "  \"system_capacity\": 2.048,\n"
                                       "  \"system\": 0.631,\n"
                                       "  \"main\": 0.0,\n"
                                       "  \"descendants\": 0.277,\n"
                                       "  \"combined\": 0.277\n"
                                       " },\n"
                                       " \"cpu_utilization\": {\n"
                                       "  \"system_core_count\": 12,\n"
                                       "  \"n_expected_cores\": 12,\n"
                                       "  \"system\": {\n"
                                       "   \"max_sum_percent\": 306.09999999999997,\n"
                                       "   \"max_hardware_percent\": 25.50833333333333,\n"
                                       "   \"mean_sum_percent\": 161.4272727272727,\n"
                                       "   \"mean_hardware_percent\": 13.452272727272724\n"
                                       "  },\n"
                                       "  \"main\": {\n"
                                       "   \"max_sum_percent\": 0.0,\n"
                                       "   \"max_hardware_percent\": 0.0,\n"
                                       "   \"mean_sum_percent\": 0.0,\n"
                                       "   \"mean_hardware_percent\": 0.0\n"
                                       "  },\n"
                                       "  \"descendants\": {\n"
                                       "   \"max_sum_percent\": 440.2,\n"
                                       "   \"max_hardware_percent\": 36.68333333333333,\n"
                                       "   \"mean_sum_percent\": 128.27272727272728,\n"
                                       "   \"mean_hardware_percent\": 10.68939393939394\n"
                                       "  },\n"
                                       "  \"combined\": {\n"
                                       "   \"max_sum_percent\": 440.2,\n"
                                       "   \"max_hardware_percent\": 36.68333333333333,\n"
                                       "   \"mean_sum_percent\": 128.27272727272728,\n"
                                       "   \"mean_hardware_percent\": 10.68939393939394\n"
                                       "  },\n"
                                       "  \"main_n_threads\": 1,\n"
                                       "  \"descendants_n_threads\": 15,\n"
                                       "  \"combined_n_threads\": 16\n"
                                       " },\n"
                                       " \"gpu_utilization\": {\n"
                                       "  \"system_gpu_count\": 1,\n"
                                       "  \"n_expected_gpus\": 1,\n"
                                       "  \"gpu_percentages\": {\n"
                                       "   \"max_sum_percent\": 7.0,\n"
                                       "   \"max_hardware_percent\": 7.0,\n"
                                       "   \"mean_sum_percent\": 0.6363636363636364,\n"
                                       "   \"mean_hardware_percent\": 0.6363636363636364\n"
                                       "  }\n"
                                       " },\n"
                                       " \"compute_time\": {\n"
                                       "  \"unit\": \"hours\",\n"
                                       "  \"time\": 0.0012816817230648465\n"
                                       " }\n"
                                       "}";

static const char workstation_text[] = "Max RAM:\n"
                                       "   Unit: gigabytes\n"
                                       "   System capacity: 63.088\n"
                                       "   System: 2.879\n"
                                       "   Main:\n"
                                       "      Total RSS: 0.003\n"
                                       "      Private RSS: 0.0\n"
                                       "      Shared RSS: 0.003\n"
                                       "   Descendants:\n"
                                       "      Total RSS: 0.833\n"
                                       "      Private RSS: 0.707\n"
                                       "      Shared RSS: 0.127\n"
                                       "   Combined:\n"
                                       "      Total RSS: 0.841\n"
                                       "      Private RSS: 0.714\n"
                                       "      Shared RSS: 0.128\n"
                                       "Max GPU RAM:\n"
                                       "   Unit: gigabytes\n"
                                       "   System capacity: 2.048\n"
                                       "   System: 0.631\n"
                                       "   Main: 0.0\n"
                                       "   Descendants: 0.277\n"
                                       "   Combined: 0.277\n"
                                       "CPU utilization:\n"
                                       "   System core count: 12\n"
                                       "   Number of expected cores: 12\n"
                                       "   System:\n"
                                       "      Max sum percent: 306.1\n"
                                       "      Max hardware percent: 25.508\n"
                                       "      Mean sum percent: 161.427\n"
                                       "      Mean hardware percent: 13.452\n"
                                       "   Main:\n"
                                       "      Max sum percent: 0.0\n"
                                       "      Max hardware percent: 0.0\n"
                                       "      Mean sum percent: 0.0\n"
                                       "      Mean hardware percent: 0.0\n"
                                       "   Descendants:\n"
                                       "      Max sum percent: 440.2\n"
                                       "      Max hardware percent: 36.683\n"
                                       "      Mean sum percent: 128.273\n"
                                       "      Mean hardware percent: 10.689\n"
                                       "   Combined:\n"
                                       "      Max sum percent: 440.2\n"
                                       "      Max hardware percent: 36.683\n"
                                       "      Mean sum percent: 128.273\n"
                                       "      Mean hardware percent: 10.689\n"
                                       "   Main number of threads: 1\n"
                                       "   Descendants number of threads: 15\n"
                                       "   Combined number of threads: 16\n"
                                       "GPU utilization:\n"
                                       "   System GPU count: 1\n"
                                       "   Number of expected GPUs: 1\n"
                                       "   GPU percentages:\n"
                                       "      Max sum percent: 7.0\n"
                                       "      Max hardware percent: 7.0\n"
                                       "      Mean sum percent: 0.636\n"
                                       "      Mean hardware percent: 0.636\n"
                                       "Compute time:\n"
                                       "   Unit: hours\n"
                                       "   Time: 0.001";

/* To be freed. */
static char *written(const struct resource_usage *usage, struct report_style style)
{
    struct buffer out = { 0 };

    report_write(usage, style, &out);
    assert_int_equal(buffer_error(&out), 0);
    return out.text;
}

static void check(const struct resource_usage *usage, struct report_style style,
                  const char *expected)
{
    char *text = written(usage, style);

    assert_string_equal(text, expected);
    free(text);
}

static void json_is_the_predecessors_to_the_letter(void **state)
{
    (void)state;
    check(&workstation, (struct report_style){ GPU_TRACKER_JSON, false }, workstation_json);
}

static void text_is_the_predecessors_to_the_letter(void **state)
{
    (void)state;
    check(&workstation, (struct report_style){ GPU_TRACKER_TEXT, false }, workstation_text);
}

static void older_spelling_is_in_every_key_and_label(void **state)
{
    static const enum gpu_tracker_format formats[] = { GPU_TRACKER_TEXT, GPU_TRACKER_JSON };
    static const char *const expected[] = { workstation_text, workstation_json };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(formats); i++) {
        char *text = written(&workstation, (struct report_style){ formats[i], true });
        char *found = text;

        assert_null(strstr(text, "escendants"));
        while ((found = strstr(found, "escendents")) != NULL)
            found[6] = 'a';
        assert_string_equal(text, expected[i]);
        free(text);
    }
}

/* The line of a value, in text and in JSON. */
static void check_number(double value, const char *text_line, const char *json_line)
{
    struct resource_usage usage = workstation;
    char *text;

    usage.compute_time.time = value;
    text = written(&usage, (struct report_style){ GPU_TRACKER_TEXT, false });
    assert_string_equal(strstr(text, "   Time: "), text_line);
    free(text);
    text = written(&usage, (struct report_style){ GPU_TRACKER_JSON, false });
    assert_string_equal(strstr(text, "\"time\": "), json_line);
    free(text);
}

static void numbers_are_pythons(void **state)
{
    (void)state;
    check_number(0, "   Time: 0.0", "\"time\": 0.0\n }\n}");
    check_number(0.0004, "   Time: 0.0", "\"time\": 0.0004\n }\n}");
    check_number(0.0005, "   Time: 0.001", "\"time\": 0.0005\n }\n}");
    check_number(2.5, "   Time: 2.5", "\"time\": 2.5\n }\n}");
    check_number(31e9, "   Time: 31000000000.0", "\"time\": 31000000000.0\n }\n}");
    check_number(67.2541234, "   Time: 67.254", "\"time\": 67.2541234\n }\n}");
    check_number(1e-7, "   Time: 0.0", "\"time\": 1e-07\n }\n}");
    check_number(0.1 + 0.2, "   Time: 0.3", "\"time\": 0.30000000000000004\n }\n}");
    check_number(1e16, "   Time: 1e+16", "\"time\": 1e+16\n }\n}");
}

/* Nothing was measured, nothing is there: the shape stays. */
static void all_zeros_keep_the_shape(void **state)
{
    struct resource_usage usage = { .max_ram.unit = "bytes",
                                    .max_gpu_ram.unit = "bytes",
                                    .compute_time.unit = "days" };
    char *text = written(&usage, (struct report_style){ GPU_TRACKER_TEXT, false });
    size_t lines = 1;

    (void)state;
    for (const char *c = text; *c; c++)
        lines += *c == '\n';
    assert_int_equal(lines, 60);
    assert_non_null(strstr(text, "   System GPU count: 0\n"));
    assert_non_null(strstr(text, "Main number of threads: 0\n"));
    assert_non_null(strstr(text, "      Total RSS: 0.0\n"));
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(json_is_the_predecessors_to_the_letter),
        cmocka_unit_test(text_is_the_predecessors_to_the_letter),
        cmocka_unit_test(older_spelling_is_in_every_key_and_label),
        cmocka_unit_test(numbers_are_pythons),
        cmocka_unit_test(all_zeros_keep_the_shape),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
