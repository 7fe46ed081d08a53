/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "base/amount.h"
#include "base/compiler.h"
#include "needs_of_run.h"
#include "record/group.h"
#include "unit_test.h"

/* ---- the table of formulas ------------------------------------------------- */

TEST(memory_is_rounded_up_to_a_step)
{
    static const struct {
        double mib, step_mib;
    } rows[] = {
        { 0, 128 },     { 1, 128 },     { 128, 128 },     { 128.001, 256 },
        { 256, 256 },   { 257, 512 },   { 512, 512 },     { 513, 1024 },
        { 1024, 1024 }, { 1025, 2048 }, { 2048, 2048 },   { 2048.001, 3072 },
        { 3072, 3072 }, { 3073, 4096 }, { 61440, 61440 }, { 61441, 62464 },
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        assert_true(fabs(needs_round_memory(rows[i].mib * MIB) - rows[i].step_mib * MIB) < 1);
    assert_true(isnan(needs_round_memory(nan(""))));
}

TEST_WITH(recommended_memory_is_the_peak_times_1_2, set_up, tear_down)
{
    static const struct {
        double peak_bytes, value_bytes;
    } rows[] = {
        { 50 * GIB, 60 * GIB }, /* the predecessor recommended 128 MiB */
        { 338 * MIB, 512 * MIB }, { 1 * MIB, 128 * MIB },  { 106.6 * MIB, 128 * MIB },
        { 107 * MIB, 256 * MIB }, { 1707 * MIB, 3 * GIB }, { 2 * GIB, 3 * GIB },
    };
    struct record *run = *state;

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct needs needs;

        fake_run_set(run, PEAK, rows[i].peak_bytes);
        needs = find_needs(run);
        assert_true(is_value(&needs.memory_bytes, rows[i].value_bytes));
        assert_false(needs.memory_bytes.is_guess);
        assert_says(&needs.memory_bytes, ", exact, times 1.2, rounded up to the next step");
    }
}

TEST_WITH(recommended_cpus_are_the_mean_rounded_up, set_up, tear_down)
{
    static const struct {
        double mean, value;
    } rows[] = { { 0, 1 },    { 0.4, 1 }, { 1.02, 1 }, { 1.05, 1 }, { 1.06, 2 },
                 { 1.49, 2 }, { 2.5, 3 }, { 7.6, 8 },  { 64, 64 } };
    struct record *run = *state;

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct needs needs;

        fake_run_set(run, "cpu.mean_cores", rows[i].mean);
        needs = find_needs(run);
        assert_true(is_value(&needs.cpus, rows[i].value));
    }
}

TEST_WITH(recommended_gpus_are_the_maximum_busy_at_once, set_up, tear_down)
{
    static const struct {
        double mean, max, vram_bytes, gpus, vram_needed;
    } rows[] = {
        { 0, 0, 0, 0, 0 },
        { 0.01, 0.3, 100 * MIB, 1, 128 * MIB },
        { 0.6, 1.5, 20 * GIB, 2, 24 * GIB },
        { 1.2, 2.5, 30 * GIB, 2, 36 * GIB }, /* the memory is on one of the GPUs */
        { 3, 4, 0, 4, 0 },
        { 0, 0, 1 * GIB, 1, 2 * GIB }, /* the run used GPU memory, so it needs a GPU */
    };
    struct record *run = *state;

    fake_run_add_gpu(run, "amd", 1);
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct needs needs;

        fake_run_set(run, "gpu.job_utilization.mean_gpus", rows[i].mean);
        fake_run_set(run, "gpu.job_utilization.max_gpus", rows[i].max);
        fake_run_set(run, "gpu.memory.combined_bytes", rows[i].vram_bytes);
        run->gpus[0].measures[RECORD_GPU_JOB_MEMORY].value = rows[i].vram_bytes;
        needs = find_needs(run);
        assert_true(is_value(&needs.gpus, rows[i].gpus));
        assert_true(is_value(&needs.vram_bytes, rows[i].vram_needed));
        assert_string_equal(needs.gpu_vendor, rows[i].gpus > 0 ? "amd" : "");
    }
}

TEST_WITH(all_gpus_that_held_memory_are_needed, set_up, tear_down)
{
    struct record *run = *state;
    struct needs needs;

    for (int i = 0; i < 4; i++)
        fake_run_add_gpu(run, "nvidia", 64.5e9);
    fake_run_set(run, "gpu.job_utilization.mean_gpus", 1.1);
    fake_run_set(run, "gpu.job_utilization.max_gpus", 2.1);
    fake_run_set(run, "gpu.memory.combined_bytes", 258e9);
    needs = find_needs(run);
    assert_true(is_value(&needs.gpus, 4));
    assert_says(&needs.gpus, "2.10 busy at peak, 1.10 on average, 4 with memory of the run");
    run->gpus[1].is_part = run->gpus[2].is_part = true; /* parts of the first GPU */
    needs = find_needs(run);
    assert_true(is_value(&needs.gpus, 3));
    run->gpus[2].measures[RECORD_GPU_JOB_MEMORY].value = 0;
    run->gpus[3].is_selected = false;
    needs = find_needs(run);
    assert_true(is_value(&needs.gpus, 2)); /* as many as were busy */
    assert_says(&needs.gpus, "the peak, rounded");
}

/* ---- CPUs and time ---------------------------------------------------------- */

/* Sets the curve of a run of 8 h that used this many cores in each hour. */
static void set_curve(struct record *run, float *cores)
{
    enum { HOURS = 8 };
    static double ends[HOURS];
    static struct curve_column column = { .name = "job_cpu_seconds", .is_rate = true };
    double hours = 0;

    column.high = column.low = column.mean = cores;
    run->curve = (struct record_curve){
        .samples = HOURS, .count = HOURS, .seconds = ends, .columns = &column, .column_count = 1
    };
    for (int i = 0; i < HOURS; i++) {
        ends[i] = (i + 1) * 3600;
        hours += (double)cores[i];
    }
    run->elapsed_seconds = ends[HOURS - 1];
    fake_run_set(run, "cpu.mean_cores", hours / HOURS);
    fake_run_set(run, "cpu.total_seconds", hours * 3600);
}

TEST_WITH(fewer_cpus_are_offered_with_more_time, set_up, tear_down)
{
    static struct {
        float cores[8];
        struct need_choice choices[2];
        double cpus;
    } rows[] = {
        { { 1, 1, 1, 1, 1, 1, 1, 1 }, { { 1, 9.6, 0 } }, 1 },
        /* one thread and its helpers: one CPU, and a little more time */
        { { 1.04F, 1.04F, 1.04F, 1.04F, 1.04F, 1.04F, 1.04F, 1.04F }, { { 1, 10, 0 } }, 1 },
        /* 2 CPUs for half of the time: 12 h with one CPU */
        { { 2, 0, 2, 0, 2, 0, 2, 0 }, { { 1, 14.4, 0 }, { 2, 9.6, 0 } }, 2 },
        /* 2 CPUs for an eighth of the time are offered, but not needed */
        { { 1.5F, .1F, .1F, .1F, .1F, .1F, .1F, .1F }, { { 1, 10.2, 0 }, { 2, 9.6, 0 } }, 1 },
        { { 8, 8, 8, 8, 8, 8, 8, 8 }, { { 8, 9.6, 0 } }, 8 },
    };
    struct record *run = *state;

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct needs needs;

        set_curve(run, rows[i].cores);
        needs = find_needs(run);
        assert_true(is_value(&needs.cpus, rows[i].cpus));
        assert_int_equal(needs.choice_count, rows[i].choices[1].cpus > 0 ? 2 : 1);
        for (size_t j = 0; j < needs.choice_count; j++) {
            assert_true(fabs(needs.choices[j].cpus - rows[i].choices[j].cpus) < 1e-6);
            assert_true(fabs(needs.choices[j].seconds - rows[i].choices[j].seconds * 3600) <
                        61);
        }
    }
}

/* ---- the note --------------------------------------------------------------- */

TEST_WITH(a_note_is_added_for_a_misleading_run, set_up, tear_down)
{
    struct record *run = *state;

    assert_string_equal(find_needs(run).note, "");
    fake_run_set(run, "pressure.cpu_seconds", 9.9);
    assert_string_equal(find_needs(run).note, "");
    fake_run_set(run, "pressure.cpu_seconds", 10);
    assert_string_equal(find_needs(run).note,
                        "The run waited for a CPU for a tenth of the time or more: with more "
                        "CPUs, it may take less time.");
    fake_run_figure(run, "pressure.cpu_seconds")->source = "host.procfs.pressure";
    assert_string_equal(find_needs(run).note, "");
    run->elapsed_seconds = 9.9;
    assert_string_equal(find_needs(run).note, "The run took less than 10 s.");
    run->is_attached = true;
    assert_string_equal(find_needs(run).note, "The run was tracked for less than 10 s.");
    run->exit_code = 1;
    assert_string_equal(find_needs(run).note, "The run failed: a complete run may need more.");
    fake_run_set(run, "events.oom_kills", 1);
    assert_string_equal(find_needs(run).note,
                        "The run ran out of memory: the recommended memory is a guess.");
}

TEST_WITH(time_is_rounded_up_to_minutes, set_up, tear_down)
{
    static const struct {
        double elapsed, value;
    } rows[] = { { 0, 60 },    { 0.5, 60 },    { 50, 60 },       { 50.1, 120 },
                 { 245, 300 }, { 3600, 4320 }, { 86400, 103680 } };
    struct record *run = *state;

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct needs needs;

        run->elapsed_seconds = rows[i].elapsed;
        needs = find_needs(run);
        assert_true(is_value(&needs.seconds, rows[i].value));
        assert_false(needs.seconds.is_guess);
    }
}

/* ---- unknown and impossible values ------------------------------------------ */

TEST_WITH(an_unknown_value_stays_unknown_with_its_reason, set_up, tear_down)
{
    struct record *run = *state;
    struct needs needs;

    run->whole_gpus = UNKNOWN;
    run->elapsed_seconds = (double)NAN;
    needs = find_needs(run);
    for (size_t i = 0; i < NEEDS_FIELDS; i++) {
        const struct need *need = &needs.fields[i];

        assert_true(isnan(need->value) && isnan(need->used_min) && isnan(need->used_max));
        assert_int_equal(need->known_runs, 0);
        if (need != &needs.seconds)
            assert_string_equal(need->why, "not in this example");
    }
}

TEST_WITH(impossible_values_are_unknown, set_up, tear_down)
{
    static const double values[] = { -1, -1e300, 1e300, 0x1p63, (double)INFINITY };
    struct record *run = *state;

    run->whole_gpus = 1;
    for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
        struct needs needs;

        run->elapsed_seconds = values[i];
        fake_run_set(run, PEAK, values[i]);
        fake_run_set(run, "cpu.mean_cores", values[i]);
        fake_run_set(run, "gpu.job_utilization.mean_gpus", values[i]);
        needs = find_needs(run);
        assert_true(isnan(needs.cpus.value) && isnan(needs.memory_bytes.value));
        assert_true(isnan(needs.gpus.value) && isnan(needs.seconds.value));
        assert_string_equal(needs.cpus.why, "the report has an impossible value");
    }
}

TEST_WITH(a_long_reason_is_truncated, set_up, tear_down)
{
    static char reason[2000];
    struct record *run = *state;
    struct needs needs;

    memset(reason, 'x', sizeof(reason) - 1);
    fake_run_figure(run, PEAK)->reason = reason;
    needs = find_needs(run);
    assert_int_equal(strlen(needs.memory_bytes.why), sizeof(needs.memory_bytes.why) - 1);
    fake_run_figure(run, PEAK)->reason = NULL;
    needs = find_needs(run);
    assert_string_equal(needs.memory_bytes.why, "not known");
}

TEST(without_a_job_there_are_no_needs)
{
    struct record machine;
    struct needs needs;

    record_init(&machine);
    needs = find_needs(&machine);
    assert_int_equal(needs.runs, 0);
    assert_string_equal(needs.cpus.why, "no run was given");
}

/* ---- many runs -------------------------------------------------------------- */

TEST_WITH(the_largest_value_of_each_need_is_used, set_up, tear_down)
{
    static const double peaks_mib[] = { 200, 900, 300 };
    struct needs list[ARRAY_SIZE(peaks_mib)];
    struct record *run = *state;
    struct needs needs;

    for (size_t i = 0; i < ARRAY_SIZE(peaks_mib); i++) {
        fake_run_set(run, PEAK, peaks_mib[i] * MIB);
        fake_run_set(run, "cpu.mean_cores", 4 - (double)i);
        run->exit_code = i == 2;
        list[i] = find_needs(run);
    }
    assert_int_equal(needs_combine(list, ARRAY_SIZE(list), 1, &needs), 0);
    assert_int_equal(needs.runs, 3);
    assert_int_equal(needs.failed_runs, 1);
    assert_true(is_value(&needs.memory_bytes, 2048 * MIB));
    assert_true(is_value(&needs.cpus, 4));
    assert_int_equal(needs.memory_bytes.known_runs, 3);
    assert_true(fabs(needs.memory_bytes.used_min - 200 * MIB) < 1);
    assert_true(fabs(needs.memory_bytes.used_max - 900 * MIB) < 1);
    assert_says(&needs.memory_bytes, "peak 944 MB");
}

TEST_WITH(several_short_runs_cause_one_note, set_up, tear_down)
{
    struct record *run = *state;
    struct needs needs, list[2];

    run->elapsed_seconds = 5;
    list[0] = find_needs(run);
    list[1] = list[0];
    assert_int_equal(needs_combine(list, 2, 1, &needs), 0);
    assert_string_equal(needs.note, "2 of 2 runs took less than 10 s.");
    run->is_still_running = true;
    list[1] = find_needs(run);
    assert_int_equal(needs_combine(list, 2, 1, &needs), 0);
    assert_string_equal(needs.note, "2 of 2 runs were tracked for less than 10 s.");
}

TEST_WITH(unknown_values_do_not_change_the_result, set_up, tear_down)
{
    struct record *run = *state;
    struct needs needs, list[3];

    list[0] = find_needs(run);
    fake_run_set(run, PEAK, 200 * MIB);
    list[1] = find_needs(run);
    *fake_run_figure(run, PEAK) = record_unknown_figure("too short");
    list[2] = find_needs(run);
    assert_int_equal(needs_combine(list, 3, 1, &needs), 0);
    assert_true(is_value(&needs.memory_bytes, 256 * MIB));
    assert_int_equal(needs.runs, 3);
    assert_int_equal(needs.memory_bytes.known_runs, 1);
}

TEST_WITH(a_quantile_excludes_the_largest, set_up, tear_down)
{
    enum { COUNT = 20 };
    static struct needs list[COUNT];
    struct record *run = *state;
    struct needs needs;

    for (int i = 0; i < COUNT; i++) {
        fake_run_set(run, PEAK, (i + 1) * GIB);
        fake_run_set(run, "cpu.mean_cores", i == 0 ? 8 : 1);
        run->elapsed_seconds = i == 1 ? 6000 : 600;
        list[i] = find_needs(run);
    }
    assert_int_equal(needs_combine(list, COUNT, 0.95, &needs), 0);
    assert_true(is_value(&needs.memory_bytes, 23 * GIB)); /* 19 GiB times 1.2 */
    assert_true(is_value(&needs.cpus, 1));
    /* on one CPU, the run on 8 CPUs would take 4800 s; the longest run is left out */
    assert_true(is_value(&needs.seconds, 5760));
    assert_says(&needs.seconds, "10 min 00 s, 1 h 20 min with 1 CPU, times 1.2");
    assert_int_equal(needs.would_fail_runs, 1); /* the run of 6000 s; 20 GiB fit into 23 */
    assert_int_equal(needs_combine(list, COUNT, 0.5, &needs), 0);
    assert_true(is_value(&needs.memory_bytes, 12 * GIB));
    assert_int_equal(needs.would_fail_runs, 10); /* 8 need more memory, 2 more time */
    assert_int_equal(needs_combine(list, COUNT, 1, &needs), 0);
    assert_true(is_value(&needs.cpus, 8) && is_value(&needs.seconds, 7200));
    assert_int_equal(needs.would_fail_runs, 0);
}

/* The result does not depend on the order of the runs. */
TEST_WITH(a_larger_successful_run_replaces_a_guess, set_up, tear_down)
{
    struct record *run = *state;

    for (int order = 0; order < 2; order++) {
        struct needs needs, list[3];

        for (int i = 0; i < 2; i++) {
            bool is_killed = i == order;

            fake_run_set(run, "events.oom_kills", is_killed);
            fake_run_set(run, PEAK, is_killed ? 10 * GIB : 11 * GIB);
            run->memory_limit_bytes = (uint64_t)(is_killed ? 10 * GIB : 64 * GIB);
            list[i] = find_needs(run);
        }
        assert_int_equal(needs_combine(list, 2, 1, &needs), 0);
        assert_true(is_value(&needs.memory_bytes, 14 * GIB));
        assert_false(needs.memory_bytes.is_guess);
        assert_string_equal(needs.note, "");
        fake_run_set(run, "events.oom_kills", 1); /* killed at a higher limit */
        run->memory_limit_bytes = (uint64_t)(12 * GIB);
        list[2] = find_needs(run);
        assert_int_equal(needs_combine(list, 3, 1, &needs), 0);
        assert_true(is_value(&needs.memory_bytes, 24 * GIB));
        assert_true(needs.memory_bytes.is_guess);
        assert_string_equal(
            needs.note, "2 of 3 runs ran out of memory: the recommended memory is a guess.");
    }
}

/* The memory of a merged report is the memory of its largest node. */
TEST_WITH(needs_of_a_group_contain_nodes_and_ranks_per_node, set_up, tear_down)
{
    struct record_node nodes[] = { { .ranks = 3 }, { .ranks = 4 }, { .ranks = UNKNOWN } };
    struct record_group group = { .nodes = nodes, .node_count = 3, .nodes_expected = UNKNOWN };
    struct record *run = *state;
    struct needs list[2];
    struct needs needs;

    list[0] = find_needs(run);
    assert_true(list[0].nodes == 0 && list[0].node_ranks == 0);
    run->group = &group;
    list[1] = find_needs(run);
    assert_true(list[1].nodes == 3 && list[1].node_ranks == 4);
    assert_int_equal(needs_combine(list, 2, 1, &needs), 0);
    assert_true(needs.nodes == 3 && needs.node_ranks == 4);
    group.nodes_expected = 5;
    assert_true(find_needs(run).nodes == 5);
    group.nodes_expected = UINT64_MAX / 2;
    assert_true(find_needs(run).nodes == 3);
    run->group = NULL;
}
