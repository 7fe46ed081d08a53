/* SPDX-License-Identifier: Apache-2.0 */
/* Tests runs that hit a limit, and facts that predecessors do not record. */
#include <math.h>
#include <string.h>

#include "base/amount.h"
#include "base/compiler.h"
#include "needs_of_run.h"
#include "unit_test.h"

/* ---- facts of spoor alone --------------------------------------------------- */

TEST_WITH(an_upper_bound_is_mentioned_but_not_used, set_up, tear_down)
{
    static const struct {
        double value, high, needed;
        const char *text;
    } rows[] = {
        { 400 * MIB, 420 * MIB, 512 * MIB, "peak 419 MB, at most 440 MB, times 1.2" },
        { 400 * MIB, 520 * MIB, 512 * MIB,
          "peak 419 MB, at most 545 MB, times 1.2, rounded up to the next step; a peak between "
          "samples may have been higher than that" },
        { 400 * MIB, 900 * MIB, 512 * MIB, "peak 419 MB, sampled, times 1.2" },
        { 400 * MIB, (double)NAN, 512 * MIB, "peak 419 MB, sampled, times 1.2" },
    };
    struct record *run = *state;

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct needs needs;

        fake_run_set(run, PEAK, rows[i].value);
        fake_run_figure(run, PEAK)->is_exact = false;
        fake_run_figure(run, PEAK)->low = rows[i].value;
        fake_run_figure(run, PEAK)->high = rows[i].high;
        needs = find_needs(run);
        assert_true(is_value(&needs.memory_bytes, rows[i].needed));
        assert_says(&needs.memory_bytes, rows[i].text);
    }
}

TEST_WITH(a_run_out_of_memory_needs_more_than_its_limit, set_up, tear_down)
{
    static const double limits_mib[] = { 64, 100, 128, 512, 2048, 51200 };
    struct record *run = *state;

    fake_run_set(run, "events.oom_kills", 1);
    run->exit_code = 137;
    for (size_t i = 0; i < ARRAY_SIZE(limits_mib); i++) {
        struct needs needs;

        run->memory_limit_bytes = (uint64_t)(limits_mib[i] * MIB);
        fake_run_set(run, PEAK, 0.99 * limits_mib[i] * MIB);
        needs = find_needs(run);
        assert_true(needs.memory_bytes.is_guess);
        assert_true(needs.memory_bytes.value >= 2 * limits_mib[i] * MIB);
        assert_says(&needs.memory_bytes, "a guess: the run was killed for lack of memory");
        assert_says(&needs.memory_bytes, "; twice the limit");
        fake_run_set(run, PEAK,
                     1.1 * limits_mib[i] * MIB); /* some pages are charged to other cgroups */
        needs = find_needs(run);
        assert_true(needs.memory_bytes.value >= 2.2 * limits_mib[i] * MIB);
        assert_says(&needs.memory_bytes, "; twice the peak");
    }
}

TEST_WITH(a_run_out_of_memory_needs_twice_its_limit_if_the_peak_is_unknown, set_up, tear_down)
{
    struct record *run = *state;
    struct needs needs;

    fake_run_set(run, "events.oom_kills", 1);
    run->memory_limit_bytes = (uint64_t)GIB;
    needs = find_needs(run);
    assert_true(is_value(&needs.memory_bytes, 2 * GIB));
}

/* The whole machine ran out of memory, so the limit of the job is irrelevant. */
TEST_WITH(a_machine_out_of_memory_doubles_the_peak, set_up, tear_down)
{
    struct record_warning warning = { "oom", "the job was killed" };
    struct record *run = *state;
    struct needs needs;

    run->warnings = &warning;
    run->warning_count = 1;
    run->memory_limit_bytes = (uint64_t)(100 * GIB);
    fake_run_set(run, "events.oom_kills", 0);
    fake_run_set(run, PEAK, 3 * GIB);
    needs = find_needs(run);
    assert_true(is_value(&needs.memory_bytes, 6 * GIB));
    assert_says(&needs.memory_bytes, "at a peak of 3.22 GB");
    *fake_run_figure(run, "events.oom_kills") = record_unknown_figure("no cgroup");
    needs = find_needs(run);
    assert_true(is_value(&needs.memory_bytes, 200 * GIB));
}

TEST_WITH(a_run_near_its_limit_may_need_more, set_up, tear_down)
{
    struct record *run = *state;
    struct needs needs;

    run->memory_limit_bytes = (uint64_t)GIB;
    fake_run_set(run, PEAK, 0.96 * GIB);
    needs = find_needs(run);
    assert_true(needs.memory_bytes.is_guess);
    assert_true(is_value(&needs.memory_bytes, 2 * GIB));
    assert_says(&needs.memory_bytes,
                "; the run reached its limit of 1.07 GB: it may need more");
    run->memory_limit_source = "cgroup.memory.max";
    fake_run_set(run, "memory.job_peak_bytes", GIB);
    assert_true(find_needs(run).memory_bytes.is_guess);
    /* The rest of the memory is charged to other cgroups. */
    fake_run_set(run, "memory.job_peak_bytes", 0.5 * GIB);
    assert_false(find_needs(run).memory_bytes.is_guess);
}

TEST_WITH(swapped_memory_is_part_of_the_needed_memory, set_up, tear_down)
{
    struct record *run = *state;
    struct needs needs;

    fake_run_set(run, PEAK, 400 * MIB);
    fake_run_set(run, "memory.swap_peak_bytes", 400 * MIB);
    needs = find_needs(run);
    assert_true(is_value(&needs.memory_bytes, 1 * GIB));
    assert_says(&needs.memory_bytes, "peak 419 MB and 419 MB swapped out");
}

TEST_WITH(needed_memory_includes_shared_memory_files_but_not_page_cache, set_up, tear_down)
{
    struct record *run = *state;
    struct needs needs;

    fake_run_set(run, PEAK, 100 * MIB);
    fake_run_set(run, "memory.anon_peak_bytes", 102 * MIB); /* close enough to the peak */
    fake_run_set(run, "memory.page_cache_peak_bytes", 900 * MIB);
    needs = find_needs(run);
    assert_true(is_value(&needs.memory_bytes, 128 * MIB));
    assert_says(&needs.memory_bytes, "page cache, up to 944 MB, is not counted");
    fake_run_set(run, "memory.anon_peak_bytes", 400 * MIB);
    fake_run_set(run, "memory.page_cache_peak_bytes", 1 * MIB);
    needs = find_needs(run);
    assert_true(is_value(&needs.memory_bytes, 512 * MIB));
    assert_says(&needs.memory_bytes, "peak 105 MB and 315 MB of files in memory");
    assert_null(strstr(needs.memory_bytes.why, "cache"));
}

TEST_WITH(a_full_cgroup_that_reads_files_again_may_need_more, set_up, tear_down)
{
    struct record *run = *state;
    struct needs needs;

    fake_run_set(run, PEAK, 100 * MIB);
    fake_run_set(run, "memory.job_peak_bytes", 1 * GIB);
    fake_run_set(run, "memory.refaulted_bytes", 12e9);
    fake_run_set(run, "io.read_bytes", 13e9);
    needs = find_needs(run);
    assert_null(strstr(needs.memory_bytes.why, "re-read")); /* there is no limit */
    run->memory_limit_bytes = (uint64_t)GIB;
    run->memory_limit_source = "cgroup.memory.max";
    needs = find_needs(run);
    assert_says(&needs.memory_bytes, "the run re-read 12.0 GB that did not fit in memory");
    fake_run_set(run, "io.read_bytes", 200e9); /* 12 GB are a small part of this */
    needs = find_needs(run);
    assert_null(strstr(needs.memory_bytes.why, "re-read"));
}

TEST_WITH(a_throttled_run_gets_more_cpus_than_its_quota, set_up, tear_down)
{
    static const struct {
        double mean, limit, threads, throttled, value;
        bool is_guess;
    } rows[] = {
        { 2, 2, 8, 60, 4, true }, /* twice the quota */
        { 2, 2, 3, 60, 3, true }, /* no more CPUs than threads */
        { 2, 2, (double)NAN, 60, 4, true },
        { 0.5, 0.5, 1, 60, 1, true }, /* a quota of half a CPU */
        { 0.3, 2, 8, 5, 1, false },   /* throttled only in bursts */
        { 1, 2, 2, 60, 1, false },    /* no more threads than CPUs */
        { 2, (double)NAN, 8, 60, 2, false },
    };
    struct record *run = *state;

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct needs needs;

        run->cpus_limit = rows[i].limit;
        fake_run_set(run, "cpu.mean_cores", rows[i].mean);
        fake_run_set(run, "cpu.threads.combined", rows[i].threads);
        fake_run_set(run, "events.throttled_seconds", rows[i].throttled);
        needs = find_needs(run);
        assert_true(is_value(&needs.cpus, rows[i].value));
        assert_int_equal(needs.cpus.is_guess, rows[i].is_guess);
    }
}

TEST_WITH(a_run_that_used_all_cpus_may_need_more, set_up, tear_down)
{
    struct record *run = *state;
    struct needs needs;

    run->cpus_limit = 4;
    fake_run_set(run, "cpu.mean_cores", 3.9);
    fake_run_set(run, "cpu.threads.combined", 9);
    needs = find_needs(run);
    assert_true(is_value(&needs.cpus, 4));
    assert_says(&needs.cpus, "more may make it faster");
    fake_run_set(run, "cpu.threads.combined", 4);
    needs = find_needs(run);
    assert_null(strstr(needs.cpus.why, "faster"));
}

TEST_WITH(gpus_with_unknown_utilization_are_counted_by_memory, set_up, tear_down)
{
    struct record *run = *state;
    struct needs needs;

    fake_run_add_gpu(run, "nvidia", 1 * GIB);
    fake_run_add_gpu(run, "nvidia", 0);
    fake_run_add_gpu(run, "nvidia", 1 * GIB);
    fake_run_set(run, "gpu.memory.combined_bytes", 2 * GIB);
    needs = find_needs(run);
    assert_true(is_value(&needs.gpus, 2));
    assert_true(needs.gpus.is_guess);
}

TEST_WITH(time_of_an_incomplete_run_is_a_guess, set_up, tear_down)
{
    struct record *run = *state;
    struct needs needs;

    run->exit_code = 1;
    needs = find_needs(run);
    assert_true(is_value(&needs.seconds, 120) && needs.seconds.is_guess);
    assert_says(&needs.seconds, "the run failed: a complete one may take longer");
    assert_int_equal(needs.failed_runs, 1);
    run->exit_code = UNKNOWN;
    needs = find_needs(run);
    assert_true(needs.seconds.is_guess);
    assert_says(&needs.seconds, "how the run ended is unknown");
    assert_int_equal(needs.failed_runs, 0);
    run->exit_code = 0;
    run->is_attached = true;
    needs = find_needs(run);
    assert_true(needs.seconds.is_guess);
    assert_says(&needs.seconds, "the run had started before that");
    run->exit_code = UNKNOWN;
    run->is_still_running = true;
    needs = find_needs(run);
    assert_says(&needs.seconds, "the run went on after that");
}
