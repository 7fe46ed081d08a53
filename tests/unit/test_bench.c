/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "base/compiler.h"
#include "example_report.h"
#include "runs/bench.h"
#include "series/figure.h"
#include "unit_test.h"

enum { RUNS = 12 };

/* Six runs of "a", which takes one second, alternate with six runs of "b", which takes two. The
 * machine has 4 CPUs and runs nothing else. */
struct runs {
    struct example *example;
    struct record records[RUNS];
    struct run_set set;
    struct bench_summary summary;
};

static void set_figure(struct record *record, const char *path, double value)
{
    record->figures[figure_index(path)] =
        (struct spoor_figure){ .value = value, .is_exact = true };
}

static int set_up(void **state)
{
    static struct runs runs;

    runs = (struct runs){ .example = example_new() };
    for (size_t i = 0; i < RUNS; i++) {
        struct record *record = &runs.records[i];

        example_fill(runs.example, record);
        record->name = i % 2 ? "b" : "a";
        record->elapsed_seconds = (i % 2 ? 2 : 1) * (1 + 0.001 * (double)i);
        record->exit_code = 0;
        record->signal = NULL;
        record->cpus = 4;
        record->warning_count = 0;
        record->gpu_count = 0;
        record->tracker_cpu_seconds = 0;
        set_figure(record, "cpu.total_seconds", record->elapsed_seconds);
        set_figure(record, "cpu.system.mean_cores", 1);
        set_figure(record, "memory.combined.total_rss_bytes", 1e6);
    }
    runs.set = (struct run_set){ .runs = runs.records, .count = RUNS };
    *state = &runs;
    return 0;
}

static int tear_down(void **state)
{
    struct runs *runs = *state;

    bench_summary_done(&runs->summary);
    for (size_t i = 0; i < RUNS; i++)
        record_done(&runs->records[i]);
    example_free(runs->example);
    return 0;
}

static struct bench_summary *summarize(struct runs *runs)
{
    struct spoor_error err;

    assert_int_equal(bench_summarize(&runs->set, false, &runs->summary, &err), 0);
    return &runs->summary;
}

TEST_WITH(the_best_command_has_the_lowest_median, set_up, tear_down)
{
    const struct bench_summary *summary = summarize(*state);
    const struct bench_cell *b = &summary->cells[1];

    assert_int_equal(summary->groups.count, 2);
    assert_int_equal(summary->best[0], 0); /* time */
    assert_true(b->to_best.is_significant);
    assert_true(b->to_best.low < 2.01 && b->to_best.high > 1.99);
    assert_true(fabs(b->statistics.median - 2.012) < 1e-9);
    assert_false(
        summary->cells[2 * summary->groups.count + 1].to_best.is_significant); /* memory */
    assert_int_equal(summary->warnings.count, 0);
}

TEST_WITH(a_figure_that_is_always_0_is_left_out, set_up, tear_down)
{
    struct runs *runs = *state;

    for (size_t i = 0; i < RUNS; i++)
        set_figure(&runs->records[i], "memory.combined.total_rss_bytes", 0);
    assert_true(summarize(runs)->best[2] == SIZE_MAX);
}

TEST_WITH(each_disturbance_is_reported, set_up, tear_down)
{
    static struct record_warning throttled = { "throttled", "" }, swapped = { "swapped", "" };
    static const char *causes[] = { "thermal", NULL };
    struct record_gpu gpu = { .throttled = causes };
    static const char *const expected[] = {
        "1 of 6 runs of 'a' failed; their figures are left out",
        "the CPU quota throttled 1 of 12 runs",
        "memory was swapped out in 2 of 12 runs",
        "a GPU reduced its clock in 1 of 12 runs",
        "the machine was busy: other processes used 1.00 of 4 CPUs",
    };
    struct runs *runs = *state;
    const struct bench_summary *summary;

    runs->records[0].exit_code = 1;
    runs->records[1].warnings = &throttled;
    runs->records[2].warnings = runs->records[3].warnings = &swapped;
    runs->records[1].warning_count = runs->records[2].warning_count =
        runs->records[3].warning_count = 1;
    runs->records[4].gpus = &gpu;
    runs->records[4].gpu_count = 1;
    for (size_t i = 0; i < RUNS; i++)
        set_figure(&runs->records[i], "cpu.system.mean_cores", 2);
    summary = summarize(runs);
    assert_int_equal(summary->warnings.count, ARRAY_SIZE(expected));
    for (size_t i = 0; i < ARRAY_SIZE(expected); i++)
        assert_string_equal(summary->warnings.items[i], expected[i]);
    assert_int_equal(summary->failed_count, 1);
    assert_int_equal(summary->cells[0].statistics.count, 5);
}

TEST_WITH(an_outlier_is_reported, set_up, tear_down)
{
    struct runs *runs = *state;
    const struct bench_summary *summary;

    runs->records[10].elapsed_seconds = 3;
    set_figure(&runs->records[10], "cpu.total_seconds", 3);
    summary = summarize(runs);
    assert_int_equal(summary->warnings.count, 1);
    assert_non_null(strstr(summary->warnings.items[0], "outliers: 1 of 6 times of 'a'"));
}
