/* SPDX-License-Identifier: Apache-2.0 */

#include "base/clock.h"
#include "base/unknown.h"
#include "job/exactness.h"
#include "unit_test.h"

/* A job that we started, that has ended, with complete evidence. */
static const struct evidence complete = {
    .was_spawned = true,
    .has_begun = true,
    .has_ended = true,
    .is_confirmed = true,
    .cpu_ns = NS_PER_SECOND,
    .has_all_records = true,
    .has_all_events = true,
};

static bool is_exact(struct evidence evidence, enum counted_by counted_by)
{
    return count_is_exact(&evidence, counted_by);
}

static void all_counts_except_perf_are_exact_for_a_complete_job(void **state)
{
    assert_true(is_exact(complete, COUNTED_BY_CGROUP));
    assert_true(is_exact(complete, COUNTED_BY_PROCESSES));
    assert_true(is_exact(complete, COUNTED_BY_CPU_CLOCKS));
    assert_true(is_exact(complete, COUNTED_BY_EXIT_RECORDS));
    assert_true(is_exact(complete, COUNTED_BY_EVENTS));
    assert_false(is_exact(complete, COUNTED_BY_PERF));
}

static void a_process_outside_the_cgroup_is_not_in_its_count(void **state)
{
    struct evidence evidence = complete;

    evidence.left_cgroup = true;
    assert_false(is_exact(evidence, COUNTED_BY_CGROUP));
    assert_true(is_exact(evidence, COUNTED_BY_PROCESSES));
    evidence = complete;
    evidence.cgroup_is_gone = true;
    assert_false(is_exact(evidence, COUNTED_BY_CGROUP));
}

static void an_unwaited_process_is_only_in_exit_records(void **state)
{
    struct evidence evidence = complete;

    evidence.has_unwaited = true;
    assert_false(is_exact(evidence, COUNTED_BY_PROCESSES));
    assert_false(is_exact(evidence, COUNTED_BY_CPU_CLOCKS));
    assert_true(is_exact(evidence, COUNTED_BY_EXIT_RECORDS));
    assert_true(is_exact(evidence, COUNTED_BY_CGROUP));
    evidence.has_all_records = false;
    assert_false(is_exact(evidence, COUNTED_BY_EXIT_RECORDS));
}

/* The CPU time of all processes shows whether it was waited for: their I/O does not. */
static void a_parent_that_ignores_sigchld_leaves_io_uncertain(void **state)
{
    struct evidence evidence = complete;

    evidence.may_be_unwaited = true;
    assert_false(is_exact(evidence, COUNTED_BY_PROCESSES));
    assert_true(is_exact(evidence, COUNTED_BY_CPU_CLOCKS));
}

static void a_running_job_is_exact_if_alone_and_just_read(void **state)
{
    struct evidence evidence = complete;

    evidence.has_ended = false;
    assert_false(is_exact(evidence, COUNTED_BY_PROCESSES));
    assert_false(is_exact(evidence, COUNTED_BY_EXIT_RECORDS));
    evidence.is_alone = true;
    assert_false(is_exact(evidence, COUNTED_BY_PROCESSES));
    evidence.is_fresh = true;
    assert_true(is_exact(evidence, COUNTED_BY_PROCESSES));
    evidence.was_spawned = false;
    assert_false(is_exact(evidence, COUNTED_BY_PROCESSES));
}

static void before_its_program_runs_nothing_is_missing(void **state)
{
    struct evidence evidence = { .was_spawned = true, .cpu_ns = UNKNOWN };

    assert_true(is_exact(evidence, COUNTED_BY_PROCESSES));
    assert_true(is_exact(evidence, COUNTED_BY_CPU_CLOCKS));
}

/* Ten thousand threads take 0.07 s to exit. */
static void exits_of_threads_are_not_in_the_counts_of_processes(void **state)
{
    struct evidence evidence = complete;

    evidence.exited_count = 100;
    assert_true(is_exact(evidence, COUNTED_BY_CPU_CLOCKS));
    evidence.exited_count = 10000;
    assert_false(is_exact(evidence, COUNTED_BY_CPU_CLOCKS));
    assert_true(is_exact(evidence, COUNTED_BY_PROCESSES));
    assert_true(is_exact(evidence, COUNTED_BY_CGROUP));
}

static void lost_events_make_counts_inexact(void **state)
{
    struct evidence evidence = complete;

    evidence.has_all_events = false;
    assert_false(is_exact(evidence, COUNTED_BY_EVENTS));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_counts_except_perf_are_exact_for_a_complete_job),
        cmocka_unit_test(a_process_outside_the_cgroup_is_not_in_its_count),
        cmocka_unit_test(an_unwaited_process_is_only_in_exit_records),
        cmocka_unit_test(a_parent_that_ignores_sigchld_leaves_io_uncertain),
        cmocka_unit_test(a_running_job_is_exact_if_alone_and_just_read),
        cmocka_unit_test(before_its_program_runs_nothing_is_missing),
        cmocka_unit_test(exits_of_threads_are_not_in_the_counts_of_processes),
        cmocka_unit_test(lost_events_make_counts_inexact),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
