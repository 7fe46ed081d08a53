/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "fake_run.h"
#include "json_check.h"
#include "output/recommendation.h"
#include "unit_test.h"

#define GIB (1073741824.0)
#define PEAK "memory.combined.total_rss_bytes"

static const struct format_style plain = { .columns = TEXT_COLUMNS };

/* A run of 245 s that used 1.62 CPUs, 338 MB and two GPUs. */
static int set_up(void **state)
{
    static struct record run;

    fake_run_init(&run);
    run.elapsed_seconds = 245;
    fake_run_set(&run, "cpu.mean_cores", 1.62);
    fake_run_set(&run, "cpu.max_cores", 3.9);
    fake_run_set(&run, PEAK, 338e6);
    fake_run_set(&run, "gpu.job_utilization.mean_gpus", 1.25);
    fake_run_set(&run, "gpu.job_utilization.max_gpus", 2);
    fake_run_set(&run, "gpu.memory.combined_bytes", 20 * GIB);
    fake_run_add_gpu(&run, "nvidia", 10 * GIB);
    fake_run_add_gpu(&run, "nvidia", 10 * GIB);
    *state = &run;
    return 0;
}

static int tear_down(void **state)
{
    record_done(*state);
    return 0;
}

static void assert_row(const struct record *run, const char *expected)
{
    struct buffer out = { 0 };
    struct page page = { &out, false, false, TEXT_COLUMNS };

    recommendation_row(run, &page);
    assert_string_equal(out.text ? out.text : "", expected);
    buffer_done(&out);
}

TEST_WITH(recommendation_is_one_row_in_a_report, set_up, tear_down)
{
    struct record *run = *state;

    assert_row(run, "Next run          2 CPUs  512 MiB of memory, 2 GPUs with 24 GiB, 5 min\n"
                    "                          recommended\n");
    run->elapsed_seconds = 7200;
    fake_run_set(run, "cpu.mean_cores", 1);
    fake_run_set(run, "gpu.job_utilization.mean_gpus", 0);
    fake_run_set(run, "gpu.memory.combined_bytes", 0);
    run->gpus[0].measures[RECORD_GPU_JOB_MEMORY].value = 0;
    run->gpus[1].measures[RECORD_GPU_JOB_MEMORY].value = 0;
    assert_row(run, "Next run           1 CPU  512 MiB of memory, 2 h 24 min recommended\n");
}

TEST_WITH(recommendation_row_contains_the_note, set_up, tear_down)
{
    struct record *run = *state;

    run->elapsed_seconds = 9.9;
    assert_row(
        run, "Next run          2 CPUs  512 MiB of memory, 2 GPUs with 24 GiB, 1 min. The run\n"
             "                          took less than 10 s.\n");
    run->elapsed_seconds = 100;
    run->exit_code = 1;
    assert_row(
        run,
        "Next run          2 CPUs  512 MiB of memory, 2 GPUs with 24 GiB. The run failed:\n"
        "                          a complete run may need more.\n");
    run->exit_code = 0;
    fake_run_set(run, "pressure.cpu_seconds", 10);
    assert_row(
        run,
        "Next run          2 CPUs  512 MiB of memory, 2 GPUs with 24 GiB, 2 min. The run\n"
        "                          waited for a CPU for a tenth of the time or more: with\n"
        "                          more CPUs, it may take less time.\n");
}

TEST_WITH(recommendation_row_is_shown_for_a_short_run_out_of_memory, set_up, tear_down)
{
    struct record *run = *state;

    run->elapsed_seconds = 0.1;
    run->exit_code = 137;
    run->memory_limit_bytes = (uint64_t)(4 * GIB);
    run->gpu_count = 0;
    run->whole_gpus = 0;
    fake_run_set(run, "events.oom_kills", 1);
    assert_row(
        run, "Next run          2 CPUs  at least 8 GiB of memory. The run ran out of memory:\n"
             "                          the recommended memory is a guess.\n");
}

TEST_WITH(text_explains_each_figure, set_up, tear_down)
{
    struct record *run = *state;
    struct buffer out = { 0 };
    struct needs needs;

    needs_of(run, NEEDS_MARGIN, &needs);
    recommendation_write_text(&needs, &plain, &out);
    assert_string_equal(
        out.text,
        "Recommended for the next run\n"
        "\n"
        "CPUs                   2  1.62 used on average, 3.90 at peak; the mean, rounded\n"
        "                          up\n"
        "Memory           512 MiB  peak 338 MB, exact, times 1.2, rounded up to the next\n"
        "                          step\n"
        "GPUs                   2  2.00 busy at peak, 1.25 on average; the peak, rounded,\n"
        "                          at least 1\n"
        "GPU memory        24 GiB  peak 21.5 GB on all GPUs, exact, times 1.2, rounded up\n"
        "                          to the next step\n"
        "Time               5 min  4 min 05 s, times 1.2, rounded up to whole minutes\n");
    buffer_done(&out);
}

TEST_WITH(choices_of_cpus_and_time_are_listed, set_up, tear_down)
{
    struct record *run = *state;
    struct buffer out = { 0 };
    struct needs needs;

    needs_of(run, NEEDS_MARGIN, &needs);
    needs.choices[1] = needs.choices[0];
    needs.choices[0] = (struct need_choice){ 1, 52200, 43500 };
    needs.choice_count = 2;
    needs.quantile = 0.95;
    recommendation_write_text(&needs, &plain, &out);
    assert_non_null(strstr(out.text, "\nChoices                   1 CPU, 14 h 30 min; 2 CPUs, "
                                     "5 min\n"));
    assert_non_null(strstr(out.text, "\nWould fail             0  of 1 runs, with this request "
                                     "at quantile 0.95\n"));
    buffer_done(&out);
}

TEST_WITH(text_for_many_runs_contains_the_spread, set_up, tear_down)
{
    struct record *run = *state;
    struct buffer out = { 0 };
    struct needs needs, list[2];

    needs_of(run, NEEDS_MARGIN, &list[0]);
    run->exit_code = 1;
    run->elapsed_seconds = 50;
    run->gpu_count = 0;
    run->whole_gpus = 0;
    fake_run_set(run, PEAK, 120e6);
    *fake_run_figure(run, "cpu.mean_cores") = record_unknown_figure("too short");
    needs_of(run, NEEDS_MARGIN, &list[1]);
    assert_int_equal(needs_combine(list, 2, 1, &needs), 0);
    recommendation_write_text(&needs, &plain, &out);
    assert_non_null(strstr(out.text, "next run, judging by 2 runs\n"));
    assert_non_null(strstr(out.text, "Note                      1 of 2 runs failed: a "
                                     "complete run may need more.\n"));
    assert_non_null(strstr(out.text, "up; unknown in 1 of 2 runs\n"));
    assert_non_null(strstr(out.text, "step; 120 MB to 338 MB in 2 runs\n"));
    assert_non_null(strstr(out.text, " to 4 min 05 s in 2 runs\n"));
    buffer_done(&out);
}

TEST_WITH(hostile_reasons_are_escaped, set_up, tear_down)
{
    struct record *run = *state;
    struct buffer out = { 0 };
    struct json_writer json = { .out = &out };
    struct needs needs;

    *fake_run_figure(run, PEAK) = record_unknown_figure("\x1b[2J\n\"x\xff");
    needs_of(run, NEEDS_MARGIN, &needs);
    recommendation_write_text(&needs, &plain, &out);
    assert_non_null(strstr(out.text, "Memory               n/a  \\x1b[2J\\n\"x\\xff\n"));
    buffer_clear(&out);
    json_begin(&json, NULL, '{');
    recommendation_add_json(&json, &needs, RECOMMENDATION_SPREAD);
    json_end(&json);
    assert_true(json_is_valid(out.text));
    assert_non_null(
        strstr(out.text, "\"memory_bytes\": {\"value\": null, \"guess\": false, \"used_min\": "
                         "null, \"used_max\": null, \"known_runs\": 0, \"why\": \"\\u001b[2J"));
    buffer_done(&out);
}
