/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above */
#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "base/compiler.h"
#include "base/unknown.h"
#include "fake_run.h"
#include "recommend/needs.h"

#define MIB (1048576.0)
#define GIB (1073741824.0)
#define PEAK "memory.combined.total_rss_bytes"

static int set_up(void **state)
{
    static struct record run;

    fake_run_init(&run);
    *state = &run;
    return 0;
}

static int tear_down(void **state)
{
    record_done(*state);
    return 0;
}

static struct needs needs_of(const struct record *run)
{
    struct needs needs;

    needs_init(&needs);
    needs_add(&needs, run);
    return needs;
}

static void assert_says(const struct need *need, const char *text)
{
    if (!strstr(need->why, text))
        fail_msg("not found: %s, but: %s", text, need->why);
}

static bool is_value(const struct need *need, double value)
{
    return fabs(need->value - value) < 1e-6;
}

/* ---- the table of formulas ------------------------------------------------- */

static void memory_is_rounded_up_to_a_step(void **state)
{
    static const struct {
        double mib, step_mib;
    } rows[] = {
        { 0, 128 },     { 1, 128 },     { 128, 128 },     { 128.001, 256 },
        { 256, 256 },   { 257, 512 },   { 512, 512 },     { 513, 1024 },
        { 1024, 1024 }, { 1025, 2048 }, { 2048, 2048 },   { 2048.001, 3072 },
        { 3072, 3072 }, { 3073, 4096 }, { 61440, 61440 }, { 61441, 62464 },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        assert_true(fabs(needs_round_memory(rows[i].mib * MIB) - rows[i].step_mib * MIB) < 1);
    assert_true(isnan(needs_round_memory(nan(""))));
}

static void memory_is_the_peak_times_1_2(void **state)
{
    static const struct {
        double peak_bytes, value_bytes;
    } rows[] = {
        { 50 * GIB, 60 * GIB }, /* the predecessor said 128 MiB */
        { 338 * MIB, 512 * MIB }, { 1 * MIB, 128 * MIB },  { 106.6 * MIB, 128 * MIB },
        { 107 * MIB, 256 * MIB }, { 1707 * MIB, 3 * GIB }, { 2 * GIB, 3 * GIB },
    };
    struct record *run = *state;

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct needs needs;

        fake_run_set(run, PEAK, rows[i].peak_bytes);
        needs = needs_of(run);
        assert_true(is_value(&needs.memory_bytes, rows[i].value_bytes));
        assert_false(needs.memory_bytes.is_guess);
        assert_says(&needs.memory_bytes, ", exact, times 1.2, rounded up to the next step");
    }
}

static void cpus_are_the_mean_rounded_half_to_even(void **state)
{
    static const struct {
        double mean, value;
    } rows[] = { { 0, 1 },   { 0.4, 1 }, { 0.5, 1 }, { 1.49, 1 }, { 1.5, 2 },
                 { 2.5, 2 }, { 3.5, 4 }, { 7.6, 8 }, { 64, 64 } };
    struct record *run = *state;

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct needs needs;

        fake_run_set(run, "cpu.mean_cores", rows[i].mean);
        needs = needs_of(run);
        assert_true(is_value(&needs.cpus, rows[i].value));
    }
}

static void gpus_are_the_most_that_were_busy(void **state)
{
    static const struct {
        double mean, max, vram_bytes, gpus, vram_needed;
    } rows[] = {
        { 0, 0, 0, 0, 0 },
        { 0.01, 0.3, 100 * MIB, 1, 128 * MIB },
        { 0.6, 1.5, 20 * GIB, 2, 24 * GIB },
        { 1.2, 2.5, 30 * GIB, 2, 36 * GIB },
        { 3, 4, 0, 4, 0 },
        { 0, 0, 1 * GIB, 1, 2 * GIB }, /* it holds memory, so it needs a GPU */
    };
    struct record *run = *state;

    fake_run_add_gpu(run, "amd", 1);
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct needs needs;

        fake_run_set(run, "gpu.job_utilization.mean_gpus", rows[i].mean);
        fake_run_set(run, "gpu.job_utilization.max_gpus", rows[i].max);
        fake_run_set(run, "gpu.memory.combined_bytes", rows[i].vram_bytes);
        needs = needs_of(run);
        assert_true(is_value(&needs.gpus, rows[i].gpus));
        assert_true(is_value(&needs.vram_bytes, rows[i].vram_needed));
        assert_string_equal(needs.gpu_vendor, rows[i].gpus > 0 ? "amd" : "");
    }
}

static void time_is_rounded_up_to_minutes(void **state)
{
    static const struct {
        double elapsed, value;
    } rows[] = { { 0, 60 },    { 0.5, 60 },    { 50, 60 },       { 50.1, 120 },
                 { 245, 300 }, { 3600, 4320 }, { 86400, 103680 } };
    struct record *run = *state;

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct needs needs;

        run->elapsed_seconds = rows[i].elapsed;
        needs = needs_of(run);
        assert_true(is_value(&needs.seconds, rows[i].value));
        assert_false(needs.seconds.is_guess);
    }
}

/* ---- what only we know ------------------------------------------------------ */

static void an_upper_bound_is_said_and_not_used(void **state)
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
        needs = needs_of(run);
        assert_true(is_value(&needs.memory_bytes, rows[i].needed));
        assert_says(&needs.memory_bytes, rows[i].text);
    }
}

static void a_run_out_of_memory_is_not_recommended_its_limit(void **state)
{
    static const double limits_mib[] = { 64, 100, 128, 512, 2048, 51200 };
    struct record *run = *state;

    fake_run_set(run, "events.oom_kills", 1);
    run->exit_code = 137;
    for (size_t i = 0; i < ARRAY_SIZE(limits_mib); i++) {
        struct needs needs;

        run->memory_limit_bytes = (uint64_t)(limits_mib[i] * MIB);
        fake_run_set(run, PEAK, 0.99 * limits_mib[i] * MIB);
        needs = needs_of(run);
        assert_true(needs.memory_bytes.is_guess);
        assert_true(needs.memory_bytes.value >= 2 * limits_mib[i] * MIB);
        assert_says(&needs.memory_bytes, "a guess: the run was killed for lack of memory");
    }
}

static void a_run_out_of_memory_counts_though_no_peak_is_known(void **state)
{
    struct record *run = *state;
    struct needs needs;

    fake_run_set(run, "events.oom_kills", 1);
    run->memory_limit_bytes = (uint64_t)GIB;
    needs = needs_of(run);
    assert_true(is_value(&needs.memory_bytes, 2 * GIB));
}

/* The whole machine ran out: the limit of the job has nothing to do with it. */
static void a_machine_out_of_memory_gives_twice_the_peak(void **state)
{
    struct record_warning warning = { "oom", "the job was killed" };
    struct record *run = *state;
    struct needs needs;

    run->warnings = &warning;
    run->warning_count = 1;
    run->memory_limit_bytes = (uint64_t)(100 * GIB);
    fake_run_set(run, "events.oom_kills", 0);
    fake_run_set(run, PEAK, 3 * GIB);
    needs = needs_of(run);
    assert_true(is_value(&needs.memory_bytes, 6 * GIB));
    assert_says(&needs.memory_bytes, "at a peak of 3.22 GB");
    *fake_run_figure(run, "events.oom_kills") = record_unknown_figure("no cgroup");
    needs = needs_of(run);
    assert_true(is_value(&needs.memory_bytes, 200 * GIB));
}

static void a_run_near_its_limit_may_need_more(void **state)
{
    struct record *run = *state;
    struct needs needs;

    run->memory_limit_bytes = (uint64_t)GIB;
    fake_run_set(run, PEAK, 0.96 * GIB);
    needs = needs_of(run);
    assert_true(needs.memory_bytes.is_guess);
    assert_true(is_value(&needs.memory_bytes, 2 * GIB));
    assert_says(&needs.memory_bytes,
                "; the run reached its limit of 1.07 GB: it may need more");
}

static void memory_that_was_swapped_out_counts(void **state)
{
    struct record *run = *state;
    struct needs needs;

    fake_run_set(run, PEAK, 400 * MIB);
    fake_run_set(run, "memory.swap_peak_bytes", 400 * MIB);
    needs = needs_of(run);
    assert_true(is_value(&needs.memory_bytes, 1 * GIB));
    assert_says(&needs.memory_bytes, "peak 419 MB and 419 MB swapped out");
}

static void files_in_memory_count_and_page_cache_does_not(void **state)
{
    struct record *run = *state;
    struct needs needs;

    fake_run_set(run, PEAK, 100 * MIB);
    fake_run_set(run, "memory.anon_peak_bytes", 102 * MIB); /* near enough */
    fake_run_set(run, "memory.page_cache_peak_bytes", 900 * MIB);
    needs = needs_of(run);
    assert_true(is_value(&needs.memory_bytes, 128 * MIB));
    assert_says(&needs.memory_bytes, "page cache, up to 944 MB, is not counted");
    fake_run_set(run, "memory.anon_peak_bytes", 400 * MIB);
    fake_run_set(run, "memory.page_cache_peak_bytes", 1 * MIB);
    needs = needs_of(run);
    assert_true(is_value(&needs.memory_bytes, 512 * MIB));
    assert_says(&needs.memory_bytes, "peak 105 MB and 315 MB of files in memory");
    assert_null(strstr(needs.memory_bytes.why, "cache"));
}

static void a_throttled_run_gets_more_cpus_than_its_quota(void **state)
{
    static const struct {
        double mean, limit, threads, throttled, value;
        bool is_guess;
    } rows[] = {
        { 2, 2, 8, 60, 4, true }, /* twice the quota */
        { 2, 2, 3, 60, 3, true }, /* no more than its threads */
        { 2, 2, (double)NAN, 60, 4, true },
        { 0.5, 0.5, 1, 60, 1, true }, /* a quota of half a CPU */
        { 0.3, 2, 8, 5, 1, false },   /* bursts */
        { 1, 2, 2, 60, 1, false },    /* it has no more threads than CPUs */
        { 2, (double)NAN, 8, 60, 2, false },
    };
    struct record *run = *state;

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct needs needs;

        run->cpus_limit = rows[i].limit;
        fake_run_set(run, "cpu.mean_cores", rows[i].mean);
        fake_run_set(run, "cpu.threads.combined", rows[i].threads);
        fake_run_set(run, "events.throttled_seconds", rows[i].throttled);
        needs = needs_of(run);
        assert_true(is_value(&needs.cpus, rows[i].value));
        assert_int_equal(needs.cpus.is_guess, rows[i].is_guess);
    }
}

static void a_run_that_used_all_cpus_may_use_more(void **state)
{
    struct record *run = *state;
    struct needs needs;

    run->cpus_limit = 4;
    fake_run_set(run, "cpu.mean_cores", 3.9);
    fake_run_set(run, "cpu.threads.combined", 9);
    needs = needs_of(run);
    assert_true(is_value(&needs.cpus, 4));
    assert_says(&needs.cpus, "more may make it faster");
    fake_run_set(run, "cpu.threads.combined", 4);
    needs = needs_of(run);
    assert_null(strstr(needs.cpus.why, "faster"));
}

static void gpus_of_unknown_use_are_counted_by_memory(void **state)
{
    struct record *run = *state;
    struct needs needs;

    fake_run_add_gpu(run, "nvidia", 1 * GIB);
    fake_run_add_gpu(run, "nvidia", 0);
    fake_run_add_gpu(run, "nvidia", 1 * GIB);
    fake_run_set(run, "gpu.memory.combined_bytes", 2 * GIB);
    needs = needs_of(run);
    assert_true(is_value(&needs.gpus, 2));
    assert_true(needs.gpus.is_guess);
}

static void time_of_an_incomplete_run_is_a_guess(void **state)
{
    struct record *run = *state;
    struct needs needs;

    run->exit_code = 1;
    needs = needs_of(run);
    assert_true(is_value(&needs.seconds, 120) && needs.seconds.is_guess);
    assert_says(&needs.seconds, "the run failed: a complete one may take longer");
    assert_int_equal(needs.failed_runs, 1);
    run->exit_code = UNKNOWN;
    needs = needs_of(run);
    assert_true(needs.seconds.is_guess);
    assert_says(&needs.seconds, "the run may have started before it was tracked");
    assert_int_equal(needs.failed_runs, 0);
    run->is_still_running = true;
    needs = needs_of(run);
    assert_says(&needs.seconds, "the run went on after that");
}

/* ---- unknown and impossible values ------------------------------------------ */

static void what_is_unknown_stays_unknown_with_its_reason(void **state)
{
    struct record *run = *state;
    struct needs needs;

    run->whole_gpus = UNKNOWN;
    run->elapsed_seconds = (double)NAN;
    needs = needs_of(run);
    for (size_t i = 0; i < NEEDS_FIELDS; i++) {
        const struct need *need = needs_get(&needs, i);

        assert_true(isnan(need->value) && isnan(need->used_min) && isnan(need->used_max));
        assert_int_equal(need->known_runs, 0);
        if (need != &needs.seconds)
            assert_string_equal(need->why, "not in this example");
    }
}

static void impossible_values_are_unknown(void **state)
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
        needs = needs_of(run);
        assert_true(isnan(needs.cpus.value) && isnan(needs.memory_bytes.value));
        assert_true(isnan(needs.gpus.value) && isnan(needs.seconds.value));
        assert_string_equal(needs.cpus.why, "the report has an impossible value");
    }
}

static void a_long_reason_is_cut(void **state)
{
    static char reason[2000];
    struct record *run = *state;
    struct needs needs;

    memset(reason, 'x', sizeof(reason) - 1);
    fake_run_figure(run, PEAK)->reason = reason;
    needs = needs_of(run);
    assert_int_equal(strlen(needs.memory_bytes.why), sizeof(needs.memory_bytes.why) - 1);
    fake_run_figure(run, PEAK)->reason = NULL;
    needs = needs_of(run);
    assert_string_equal(needs.memory_bytes.why, "not known");
}

static void no_job_says_nothing(void **state)
{
    struct record machine;
    struct needs needs;

    (void)state;
    record_init(&machine);
    needs = needs_of(&machine);
    assert_int_equal(needs.runs, 0);
    assert_string_equal(needs.cpus.why, "no run was given");
}

/* ---- many runs -------------------------------------------------------------- */

static void the_run_that_used_most_decides(void **state)
{
    static const double peaks_mib[] = { 200, 900, 300 };
    struct record *run = *state;
    struct needs needs;

    needs_init(&needs);
    for (size_t i = 0; i < ARRAY_SIZE(peaks_mib); i++) {
        fake_run_set(run, PEAK, peaks_mib[i] * MIB);
        fake_run_set(run, "cpu.mean_cores", 4 - (double)i);
        run->exit_code = i == 2;
        needs_add(&needs, run);
    }
    assert_int_equal(needs.runs, 3);
    assert_int_equal(needs.failed_runs, 1);
    assert_true(is_value(&needs.memory_bytes, 2048 * MIB));
    assert_true(is_value(&needs.cpus, 4));
    assert_int_equal(needs.memory_bytes.known_runs, 3);
    assert_true(fabs(needs.memory_bytes.used_min - 200 * MIB) < 1);
    assert_true(fabs(needs.memory_bytes.used_max - 900 * MIB) < 1);
    assert_says(&needs.memory_bytes, "peak 944 MB");
}

static void a_run_that_does_not_know_changes_nothing(void **state)
{
    struct record *run = *state;
    struct needs needs;

    needs_init(&needs);
    needs_add(&needs, run);
    fake_run_set(run, PEAK, 200 * MIB);
    needs_add(&needs, run);
    *fake_run_figure(run, PEAK) = record_unknown_figure("too short");
    needs_add(&needs, run);
    assert_true(is_value(&needs.memory_bytes, 256 * MIB));
    assert_int_equal(needs.runs, 3);
    assert_int_equal(needs.memory_bytes.known_runs, 1);
}

/* In either order. */
static void a_guess_yields_to_a_run_that_used_more(void **state)
{
    struct record *run = *state;

    for (int order = 0; order < 2; order++) {
        struct needs needs;

        needs_init(&needs);
        for (int i = 0; i < 2; i++) {
            bool is_killed = i == order;

            fake_run_set(run, "events.oom_kills", is_killed);
            fake_run_set(run, PEAK, is_killed ? 10 * GIB : 11 * GIB);
            run->memory_limit_bytes = (uint64_t)(is_killed ? 10 * GIB : 64 * GIB);
            needs_add(&needs, run);
        }
        assert_true(is_value(&needs.memory_bytes, 14 * GIB));
        assert_false(needs.memory_bytes.is_guess);
        fake_run_set(run, "events.oom_kills", 1); /* one that had still more */
        run->memory_limit_bytes = (uint64_t)(12 * GIB);
        needs_add(&needs, run);
        assert_true(is_value(&needs.memory_bytes, 24 * GIB));
        assert_true(needs.memory_bytes.is_guess);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_is_rounded_up_to_a_step),
        cmocka_unit_test_setup_teardown(memory_is_the_peak_times_1_2, set_up, tear_down),
        cmocka_unit_test_setup_teardown(cpus_are_the_mean_rounded_half_to_even, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(gpus_are_the_most_that_were_busy, set_up, tear_down),
        cmocka_unit_test_setup_teardown(time_is_rounded_up_to_minutes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_upper_bound_is_said_and_not_used, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_run_out_of_memory_is_not_recommended_its_limit,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_run_out_of_memory_counts_though_no_peak_is_known,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_machine_out_of_memory_gives_twice_the_peak, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_run_near_its_limit_may_need_more, set_up, tear_down),
        cmocka_unit_test_setup_teardown(memory_that_was_swapped_out_counts, set_up, tear_down),
        cmocka_unit_test_setup_teardown(files_in_memory_count_and_page_cache_does_not, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_throttled_run_gets_more_cpus_than_its_quota, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_run_that_used_all_cpus_may_use_more, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(gpus_of_unknown_use_are_counted_by_memory, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(time_of_an_incomplete_run_is_a_guess, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(what_is_unknown_stays_unknown_with_its_reason, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(impossible_values_are_unknown, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_long_reason_is_cut, set_up, tear_down),
        cmocka_unit_test(no_job_says_nothing),
        cmocka_unit_test_setup_teardown(the_run_that_used_most_decides, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_run_that_does_not_know_changes_nothing, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_guess_yields_to_a_run_that_used_more, set_up,
                                        tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
