/* SPDX-License-Identifier: Apache-2.0 */

#include "base/amount.h"
#include "base/clock.h"
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

TEST(all_counts_except_perf_are_exact_for_a_complete_job)
{
    assert_true(is_exact(complete, COUNTED_BY_CGROUP));
    assert_true(is_exact(complete, COUNTED_BY_PROCESSES));
    assert_true(is_exact(complete, COUNTED_BY_CPU_CLOCKS));
    assert_true(is_exact(complete, COUNTED_BY_EXIT_RECORDS));
    assert_true(is_exact(complete, COUNTED_BY_EVENTS));
    assert_false(is_exact(complete, COUNTED_BY_PERF));
}

TEST(a_process_outside_the_cgroup_makes_its_count_inexact)
{
    struct evidence evidence = complete;

    evidence.left_cgroup = true;
    assert_false(is_exact(evidence, COUNTED_BY_CGROUP));
    assert_true(is_exact(evidence, COUNTED_BY_PROCESSES));
    evidence = complete;
    evidence.cgroup_is_gone = true;
    assert_false(is_exact(evidence, COUNTED_BY_CGROUP));
}

TEST(an_unwaited_process_makes_counts_from_processes_and_clocks_inexact)
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
TEST(a_parent_that_ignores_sigchld_leaves_io_uncertain)
{
    struct evidence evidence = complete;

    evidence.may_be_unwaited = true;
    assert_false(is_exact(evidence, COUNTED_BY_PROCESSES));
    assert_true(is_exact(evidence, COUNTED_BY_CPU_CLOCKS));
}

TEST(counts_of_a_running_process_without_children_are_exact_if_just_read)
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

TEST(counts_are_exact_before_the_program_is_executed)
{
    struct evidence evidence = { .was_spawned = true, .cpu_ns = UNKNOWN };

    assert_true(is_exact(evidence, COUNTED_BY_PROCESSES));
    assert_true(is_exact(evidence, COUNTED_BY_CPU_CLOCKS));
}

/* The exits of ten thousand threads take 0.07 s of CPU time. */
TEST(many_exits_make_cpu_clocks_inexact)
{
    struct evidence evidence = complete;

    evidence.exits_ns = 1000000;
    assert_true(is_exact(evidence, COUNTED_BY_CPU_CLOCKS));
    evidence.exits_ns = 100000000;
    assert_false(is_exact(evidence, COUNTED_BY_CPU_CLOCKS));
    assert_true(is_exact(evidence, COUNTED_BY_PROCESSES));
    assert_true(is_exact(evidence, COUNTED_BY_CGROUP));
}

TEST(lost_events_make_counts_inexact)
{
    struct evidence evidence = complete;

    evidence.has_all_events = false;
    assert_false(is_exact(evidence, COUNTED_BY_EVENTS));
}
