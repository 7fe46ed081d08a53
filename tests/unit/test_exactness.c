/* SPDX-License-Identifier: Apache-2.0 */

#include "base/clock.h"
#include "base/unknown.h"
#include "job/exactness.h"
#include "unit_test.h"

/* Complete evidence about a job that was started by the tracker and has ended. */
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

static void a_process_outside_the_cgroup_makes_its_count_inexact(void **state)
{
    struct evidence evidence = complete;

    evidence.left_cgroup = true;
    assert_false(is_exact(evidence, COUNTED_BY_CGROUP));
    assert_true(is_exact(evidence, COUNTED_BY_PROCESSES));
    evidence = complete;
    evidence.cgroup_is_gone = true;
    assert_false(is_exact(evidence, COUNTED_BY_CGROUP));
}

static void an_unwaited_process_makes_counts_from_processes_and_clocks_inexact(void **state)
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

/* CPU time shows whether all processes were waited for; I/O does not. */
static void a_parent_that_ignores_sigchld_leaves_io_uncertain(void **state)
{
    struct evidence evidence = complete;

    evidence.may_be_unwaited = true;
    assert_false(is_exact(evidence, COUNTED_BY_PROCESSES));
    assert_true(is_exact(evidence, COUNTED_BY_CPU_CLOCKS));
}

static void counts_of_a_running_process_without_children_are_exact_if_just_read(void **state)
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

static void counts_are_exact_before_the_program_is_executed(void **state)
{
    struct evidence evidence = { .was_spawned = true, .cpu_ns = UNKNOWN };

    assert_true(is_exact(evidence, COUNTED_BY_PROCESSES));
    assert_true(is_exact(evidence, COUNTED_BY_CPU_CLOCKS));
}

/* The exits of ten thousand threads take 0.07 s of CPU time. */
static void many_exits_make_cpu_clocks_inexact(void **state)
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
        cmocka_unit_test(a_process_outside_the_cgroup_makes_its_count_inexact),
        cmocka_unit_test(an_unwaited_process_makes_counts_from_processes_and_clocks_inexact),
        cmocka_unit_test(a_parent_that_ignores_sigchld_leaves_io_uncertain),
        cmocka_unit_test(counts_of_a_running_process_without_children_are_exact_if_just_read),
        cmocka_unit_test(counts_are_exact_before_the_program_is_executed),
        cmocka_unit_test(many_exits_make_cpu_clocks_inexact),
        cmocka_unit_test(lost_events_make_counts_inexact),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
