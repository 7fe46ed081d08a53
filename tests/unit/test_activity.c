/* SPDX-License-Identifier: Apache-2.0 */

#include "base/amount.h"
#include "base/clock.h"
#include "job/activity.h"
#include "unit_test.h"

#define SECOND NS_PER_SECOND

/* Decides whether to look, records the look, and returns the decision. */
static enum activity_look look(struct activity *activity, uint64_t cpu_ns, uint64_t now_ns,
                               uint64_t moved_ns)
{
    enum activity_look whom = activity_look_at(activity, cpu_ns, now_ns);

    activity_looked(activity, whom, cpu_ns, now_ns,
                    (struct activity_seen){ .moved_ns = moved_ns, .is_whole = true });
    return whom;
}

TEST(processes_are_not_read_while_none_of_them_runs)
{
    struct activity activity = { 0 };

    assert_int_equal(look(&activity, 7, SECOND, 7), LOOK_AT_ALL);
    assert_int_equal(look(&activity, 7, 2 * SECOND, 0), LOOK_AT_NONE);
    assert_int_equal(look(&activity, 8, 3 * SECOND, 1), LOOK_AT_MOVERS);
    assert_int_equal(look(&activity, 8, 4 * SECOND, 0), LOOK_AT_NONE);
}

TEST(process_clocks_are_read_if_the_job_has_no_total_cpu_time)
{
    struct activity activity = { 0 };

    assert_int_equal(look(&activity, UNKNOWN, SECOND, 0), LOOK_AT_ALL);
    assert_int_equal(look(&activity, UNKNOWN, 2 * SECOND, 0), LOOK_AT_MOVERS);
    assert_int_equal(look(&activity, UNKNOWN, 3 * SECOND, 0), LOOK_AT_MOVERS);
}

TEST(all_processes_are_read_every_ten_seconds)
{
    struct activity activity = { 0 };

    (void)look(&activity, 7, SECOND, 0);
    assert_int_equal(look(&activity, 9, 10 * SECOND, 0),
                     LOOK_AT_MOVERS); /* this look does not count as a reading of all */
    assert_int_equal(look(&activity, 9, 11 * SECOND, 0), LOOK_AT_ALL);
    assert_int_equal(look(&activity, 9, 20 * SECOND, 0), LOOK_AT_NONE);
    assert_int_equal(look(&activity, 9, 21 * SECOND, 0), LOOK_AT_ALL);
}

TEST(processes_skipped_at_one_look_are_read_at_the_next)
{
    struct activity activity = { 0 };

    activity_looked(&activity, LOOK_AT_ALL, 7, SECOND,
                    (struct activity_seen){ .is_whole = false });
    assert_int_equal(look(&activity, 7, 2 * SECOND, 0), LOOK_AT_MOVERS);
    assert_int_equal(look(&activity, 7, 3 * SECOND, 0), LOOK_AT_NONE);
}

/* A process that left the cgroup, or that perf does not count, runs without any change of
 * the counter. */
TEST(a_cpu_counter_that_missed_a_process_is_not_used_again)
{
    struct activity activity = { 0 };

    (void)look(&activity, 7, SECOND, 0);
    assert_int_equal(look(&activity, 7, 11 * SECOND, 19 * NS_PER_MS),
                     LOOK_AT_ALL); /* below 20 ms: the counter may just lag behind */
    assert_int_equal(look(&activity, 7, 12 * SECOND, 0), LOOK_AT_NONE);
    assert_int_equal(look(&activity, 7, 21 * SECOND, 21 * NS_PER_MS), LOOK_AT_ALL);
    assert_int_equal(look(&activity, 7, 22 * SECOND, 0), LOOK_AT_MOVERS);
    assert_int_equal(look(&activity, 7, 23 * SECOND, 0), LOOK_AT_MOVERS);
}

TEST(all_processes_are_read_after_a_reported_change)
{
    struct activity activity = { 0 };

    (void)look(&activity, 7, SECOND, 0);
    activity_forget(&activity);
    assert_int_equal(look(&activity, 7, 2 * SECOND, 0), LOOK_AT_ALL);
    assert_int_equal(look(&activity, 7, 3 * SECOND, 0), LOOK_AT_NONE);
}

#define MS NS_PER_MS
#define MB ((uint64_t)1 << 20)

TEST(a_job_that_hardly_runs_becomes_idle_once)
{
    struct activity activity = { 0 };

    activity_note_cpu(&activity, 1000 * MS, 5 * MS);
    assert_int_equal(activity_state(&activity), JOB_GROWS);    /* the memory is still unknown */
    activity_note_cpu(&activity, 1040 * MS, 5 * MS + MS / 10); /* a 400th of the time */
    assert_false(activity.is_at_rest);
    activity_note_cpu(&activity, 1070 * MS, 5 * MS + MS / 10);
    assert_true(activity.has_come_to_rest);
    assert_int_equal(activity_state(&activity), JOB_RESTS);
    activity_note_cpu(&activity, 1100 * MS, 5 * MS + MS / 10);
    assert_true(activity.is_at_rest);
    assert_false(activity.has_come_to_rest);
    activity_note_cpu(&activity, 1200 * MS, 7 * MS);
    assert_false(activity.is_at_rest);
}

TEST(a_job_with_unknown_cpu_time_is_never_idle)
{
    struct activity activity = { 0 };

    for (uint64_t i = 1; i < 100; i++) {
        activity_note_cpu(&activity, i * SECOND, UNKNOWN);
        assert_false(activity.is_at_rest);
    }
}

TEST(a_job_stops_growing_after_three_readings_without_growth)
{
    struct activity activity = { 0 };

    activity_note_cpu(&activity, SECOND, 1);
    activity_note_memory(&activity, 100 * MB, 2);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(activity_state(&activity), JOB_GROWS);
        activity_note_memory(&activity, 101 * MB, 2); /* grows by less than 1/64 */
    }
    assert_int_equal(activity_state(&activity), JOB_RUNS);
    activity_note_memory(&activity, 102 * MB, 2); /* small steps add up */
    assert_int_equal(activity_state(&activity), JOB_GROWS);
    for (int i = 0; i < 3; i++)
        activity_note_memory(&activity, 102 * MB, 2);
    assert_int_equal(activity_state(&activity), JOB_RUNS);
    activity_note_memory(&activity, 102 * MB, 3); /* a new process */
    assert_int_equal(activity_state(&activity), JOB_GROWS);
    for (int i = 0; i < 3; i++)
        activity_note_memory(&activity, 102 * MB, 3);
    for (int i = 0; i < 100; i++) /* changes below the maximum are not growth */
        activity_note_memory(&activity, i % 2 ? 102 * MB : 50 * MB, i % 2 ? 3 : 1);
    assert_int_equal(activity_state(&activity), JOB_RUNS);
    activity_note_memory(&activity, 50 * MB, 1);
    activity_begin_interval(&activity);
    activity_note_memory(&activity, 60 * MB, 1); /* the highest value of the new interval */
    assert_int_equal(activity_state(&activity), JOB_GROWS);
}
