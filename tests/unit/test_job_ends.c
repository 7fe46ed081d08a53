/* SPDX-License-Identifier: Apache-2.0 */

#include "base/amount.h"
#include "base/clock.h"
#include "fake_job.h"
#include "unit_test.h"

#define SECOND NS_PER_SECOND

/* The kernel adds the usage of a child to the parent that waits for it. */
TEST(a_waited_for_child_is_counted_once)
{
    struct fake_job f;

    fake_job_begin(&f, &(struct fake_process){ .pid = 10, .user_ticks = 10, .children = "11 " },
                   true);
    fake_process_put(&f.fake,
                     &(struct fake_process){ .pid = 11, .parent = 10, .user_ticks = 50 });
    fake_job_look(&f);
    assert_int_equal(fake_job_cpu_ticks(&f), 60);
    fake_process_end(&f.fake, 11);
    fake_process_put(
        &f.fake, &(struct fake_process){ .pid = 10, .user_ticks = 10, .child_user_ticks = 55 });
    fake_job_look(&f);
    assert_int_equal(fake_job_cpu_ticks(&f), 65);
    assert_int_equal(f.reading.process_count, 1);
    assert_int_equal(f.reading.parts.first_ns, SECOND / 10); /* excludes the child */
    fake_job_end(&f);
}

/* The parent counts the child's time in whole ticks, which is less than the child's own
 * clock showed. */
TEST(a_waited_for_child_keeps_the_time_of_its_clock)
{
    struct fake_job f;

    fake_job_begin(&f, &(struct fake_process){ .pid = 10, .user_ticks = 10, .children = "11 " },
                   true);
    fake_process_put(&f.fake,
                     &(struct fake_process){ .pid = 11, .parent = 10, .user_ticks = 50 });
    fake_job_look(&f);
    fake_process_end(&f.fake, 11);
    fake_process_put(
        &f.fake, &(struct fake_process){ .pid = 10, .user_ticks = 30, .child_user_ticks = 49 });
    fake_job_look(&f);
    assert_int_equal(fake_job_cpu_ticks(&f), 80);
    assert_int_equal(f.reading.parts.second_ns, SECOND / 2);
    fake_job_end(&f);
}

TEST(page_faults_of_a_waited_for_child_are_counted_once)
{
    struct fake_process parent = { .pid = 10, .minor_faults = 100, .children = "11 " };
    struct fake_job f;

    fake_job_begin(&f, &parent, true);
    fake_process_put(&f.fake,
                     &(struct fake_process){
                         .pid = 11, .parent = 10, .minor_faults = 40, .major_faults = 3 });
    fake_job_look(&f);
    assert_int_equal(f.reading.usage.counter[USAGE_MINOR_FAULTS], 140);
    assert_int_equal(f.reading.usage.counter[USAGE_MAJOR_FAULTS], 3);
    fake_process_end(&f.fake, 11);
    parent.user_ticks = 1;
    parent.child_minor_faults = 50;
    parent.child_major_faults = 4;
    fake_process_put(&f.fake, &parent);
    fake_job_look(&f);
    assert_int_equal(f.reading.usage.counter[USAGE_MINOR_FAULTS], 150);
    assert_int_equal(f.reading.usage.counter[USAGE_MAJOR_FAULTS], 4);
    /* No file has the context switches of all threads. */
    assert_false(is_known(f.reading.usage.counter[USAGE_VOLUNTARY_SWITCHES]));
    assert_false(is_known(f.reading.usage.counter[USAGE_INVOLUNTARY_SWITCHES]));
    /* The exit record of an attached process contains the counts of its whole life. */
    f.job.process_events.has_peaks = true;
    f.job.process_events.started_tasks = f.job.process_events.recorded_tasks = 1;
    f.job.process_events.recorded.counter[USAGE_VOLUNTARY_SWITCHES] = 5;
    fake_process_end(&f.fake, 10);
    fake_job_look(&f);
    assert_true(f.job.main.has_ended);
    assert_false(is_known(f.reading.usage.counter[USAGE_VOLUNTARY_SWITCHES]));
    fake_job_end(&f);
}

/* A child of vfork() that has not called exec has a page fault now and then. */
TEST(a_child_without_its_own_memory_is_not_counted_as_a_descendant)
{
    struct fake_process parent = { .pid = 10, .resident_pages = 9, .child_minor_faults = 1 };
    struct fake_job f;

    fake_job_begin(&f, &parent, true);
    f.job.is_spawned = true; /* started by PID 1, the tracker */
    f.job.tracker_pid = 1;
    parent.child_minor_faults = 7;
    fake_process_put(&f.fake, &parent);
    fake_job_look(&f);
    assert_false(f.job.ledger.has_waited);
    assert_int_equal(f.reading.memory.of[GROUP_DESCENDANTS].total_bytes, 0);
    parent.user_ticks = 1;
    parent.child_minor_faults = 12;
    fake_process_put(&f.fake, &parent);
    fake_job_look(&f);
    assert_true(f.job.ledger.has_waited);
    assert_false(is_known(f.reading.memory.of[GROUP_DESCENDANTS].total_bytes));
    fake_job_end(&f);
}

/* The kernel adds the child's counts to the parent before it removes the child. This look
 * happens in between. */
TEST(a_process_being_reaped_is_counted_once)
{
    struct fake_process parent = { .pid = 10, .user_ticks = 10, .children = "11 " };
    struct fake_process child = {
        .pid = 11, .parent = 10, .user_ticks = 50, .written_chars = 1000, .resident_pages = 9
    };
    struct fake_job f;

    fake_job_begin(&f, &parent, true);
    fake_process_put(&f.fake, &child);
    fake_job_look(&f);
    child.state = 'Z';
    child.resident_pages = 0;
    fake_process_put(&f.fake, &child);
    fake_job_look(&f);
    assert_int_equal(fake_job_cpu_ticks(&f), 60);
    assert_int_equal(f.reading.usage.counter[USAGE_WRITTEN_CHARS], 1000);
    child.state = 'X';
    parent.child_user_ticks = 50;
    parent.written_chars = 1000;
    fake_process_put(&f.fake, &child);
    fake_process_put(&f.fake, &parent);
    f.now_ns += 100 * SECOND; /* makes every file due */
    fake_job_look(&f);
    assert_int_equal(fake_job_cpu_ticks(&f), 60);
    assert_int_equal(f.reading.usage.counter[USAGE_WRITTEN_CHARS], 1000);
    assert_int_equal(f.reading.process_count, 1);
    fake_job_end(&f);
}

/* A glance accounts for the exits of the zombie and of its parent, which had waited for it. */
TEST(a_zombie_reaped_with_its_parent_is_counted_once)
{
    struct fake_process parent = { .pid = 10, .children = "11 " };
    struct fake_job f;

    fake_job_begin(&f, &parent, true);
    f.job.uses_clocks = false;
    fake_process_put(&f.fake,
                     &(struct fake_process){ .pid = 11, .parent = 10, .children = "12 " });
    fake_process_put(
        &f.fake,
        &(struct fake_process){ .pid = 12, .parent = 11, .state = 'Z', .written_chars = 1000 });
    fake_job_look(&f);
    assert_int_equal(f.reading.usage.counter[USAGE_WRITTEN_CHARS], 1000);
    fake_process_end(&f.fake, 11);
    fake_process_end(&f.fake, 12);
    parent.children = "";
    parent.written_chars = 1000;
    fake_process_put(&f.fake, &parent);
    job_glance(&f.job, f.now_ns + SECOND);
    f.now_ns += 100 * SECOND; /* makes every file due */
    fake_job_look(&f);
    assert_int_equal(f.reading.usage.counter[USAGE_WRITTEN_CHARS], 1000);
    fake_job_end(&f);
}

TEST(an_unwaited_child_is_still_counted)
{
    struct fake_job f;

    fake_job_begin(
        &f, &(struct fake_process){ .pid = 10, .ignores_children = true, .children = "11 " },
        true);
    fake_process_put(&f.fake,
                     &(struct fake_process){
                         .pid = 11, .parent = 10, .user_ticks = 50, .written_chars = 1000 });
    fake_job_look(&f);
    fake_process_end(&f.fake, 11);
    fake_process_put(&f.fake, &(struct fake_process){
                                  .pid = 10, .ignores_children = true, .user_ticks = 1 });
    fake_job_look(&f);
    assert_int_equal(fake_job_cpu_ticks(&f), 51);
    assert_int_equal(f.reading.usage.counter[USAGE_WRITTEN_CHARS], 1000);
    assert_true(f.job.ledger.saw_unwaited);
    fake_job_end(&f);
}

static void begin_with_two_children(struct fake_job *f)
{
    fake_job_begin(f, &(struct fake_process){ .pid = 10, .children = "11 12 " }, true);
    for (int pid = 11; pid <= 12; pid++)
        fake_process_put(&f->fake,
                         &(struct fake_process){
                             .pid = pid, .parent = 10, .user_ticks = 50, .minor_faults = 500 });
    fake_job_look(f);
}

/* The parent has waited for its children and then called exec, which makes it look as if it
 * had not. */
static void put_waited(struct fake_job *f)
{
    fake_process_put(&f->fake, &(struct fake_process){ .pid = 10,
                                                       .ignores_children = true,
                                                       .child_user_ticks = 100,
                                                       .child_minor_faults = 1000 });
}

static void end_with_two_children(struct fake_job *f)
{
    fake_process_end(&f->fake, 11);
    fake_process_end(&f->fake, 12);
    fake_job_look(f);
    assert_int_equal(fake_job_cpu_ticks(f), 100);
    assert_false(f->job.ledger.saw_unwaited);
    fake_job_end(f);
}

/* Glances read the page faults of the parent, but find exits only later. */
TEST(a_waited_for_child_seen_by_a_glance_is_counted_once)
{
    struct fake_job f;

    begin_with_two_children(&f);
    put_waited(&f);
    (void)member_read_faults(roster_member(&f.job.roster, 10), f.job.root);
    job_account_exits(&f.job);
    end_with_two_children(&f);
}

/* The second child is reaped after it was read, while spoor accounts for the exit of the
 * first. */
TEST(children_that_exit_during_a_reading_are_counted_once)
{
    struct fake_job f;

    begin_with_two_children(&f);
    put_waited(&f);
    roster_member(&f.job.roster, 11)->account.has_left = true;
    job_account_exits(&f.job);
    end_with_two_children(&f);
}

/* Parent and child exit between two looks, and the parent's last figures do not include the
 * child's. */
TEST(a_parent_and_child_that_exit_together_are_both_counted)
{
    struct fake_job f;

    fake_job_begin(&f, &(struct fake_process){ .pid = 10, .children = "11 " }, true);
    fake_process_put(
        &f.fake,
        &(struct fake_process){ .pid = 11, .parent = 10, .user_ticks = 20, .children = "12 " });
    fake_process_put(&f.fake,
                     &(struct fake_process){ .pid = 12, .parent = 11, .user_ticks = 30 });
    fake_job_look(&f);
    fake_process_end(&f.fake, 11);
    fake_process_end(&f.fake, 12);
    fake_process_put(&f.fake, &(struct fake_process){ .pid = 10, .ignores_children = true });
    fake_job_look(&f);
    assert_int_equal(fake_job_cpu_ticks(&f), 50);
    fake_job_end(&f);
}

TEST(totals_never_fall)
{
    struct fake_job f;

    fake_job_begin(&f, &(struct fake_process){ .pid = 10, .user_ticks = 10, .children = "11 " },
                   true);
    fake_process_put(&f.fake,
                     &(struct fake_process){ .pid = 11, .parent = 10, .user_ticks = 50 });
    fake_job_look(&f);
    fake_process_end(&f.fake, 11); /* the child is reaped after the parent was read */
    fake_job_look(&f);
    assert_int_equal(fake_job_cpu_ticks(&f), 60);
    fake_job_end(&f);
}

TEST(an_orphan_stays_a_member_of_the_job)
{
    struct fake_job f;

    fake_job_begin(&f, &(struct fake_process){ .pid = 10, .children = "11 " }, true);
    fake_process_put(&f.fake, &(struct fake_process){ .pid = 11, .parent = 10 });
    fake_job_look(&f);
    fake_process_put(&f.fake, &(struct fake_process){ .pid = 10 });
    fake_process_put(&f.fake,
                     &(struct fake_process){ .pid = 11, .parent = 1, .user_ticks = 7 });
    fake_job_look(&f);
    assert_int_equal(f.reading.process_count, 2);
    assert_int_equal(fake_job_cpu_ticks(&f), 7);
    fake_job_end(&f);
}

TEST(a_reused_pid_is_another_process)
{
    struct fake_job f;

    fake_job_begin(&f, &(struct fake_process){ .pid = 10, .children = "11 " }, true);
    fake_process_put(&f.fake,
                     &(struct fake_process){ .pid = 11, .parent = 10, .user_ticks = 5 });
    fake_job_look(&f);
    fake_process_put(&f.fake, &(struct fake_process){ .pid = 10, .child_user_ticks = 5 });
    fake_process_put(
        &f.fake,
        &(struct fake_process){ .pid = 11, .parent = 1, .user_ticks = 900, .start_ticks = 77 });
    fake_job_look(&f);
    assert_int_equal(f.reading.process_count, 1);
    assert_int_equal(fake_job_cpu_ticks(&f), 5);
    fake_job_end(&f);
}

TEST(peaks_are_kept_after_their_process_has_exited)
{
    struct fake_job f;

    fake_job_begin(
        &f, &(struct fake_process){ .pid = 10, .resident_pages = 100, .children = "11 " },
        true);
    fake_process_put(&f.fake,
                     &(struct fake_process){ .pid = 11, .parent = 10, .resident_pages = 5000 });
    fake_job_look(&f);
    assert_int_equal(f.reading.memory.of[GROUP_JOB].total_bytes, 5100 * 4096);
    fake_process_end(&f.fake, 11);
    fake_process_put(&f.fake, &(struct fake_process){ .pid = 10, .resident_pages = 100 });
    fake_job_look(&f);
    assert_int_equal(f.reading.rss_peak_bytes[GROUP_DESCENDANTS], 5000 * 4096);
    assert_int_equal(f.reading.memory.of[GROUP_DESCENDANTS].total_bytes, 0);
    assert_false(is_known(
        f.reading.rss_bound_bytes[GROUP_JOB])); /* known only for jobs that spoor started */
    fake_job_end(&f);
}

/* After a PID was reused, two processes may each appear to be the other's parent. */
TEST(a_cycle_of_parents_does_not_loop_forever)
{
    struct fake_job f;

    fake_job_begin(&f, &(struct fake_process){ .pid = 10, .children = "11 12 " }, true);
    fake_process_put(&f.fake,
                     &(struct fake_process){ .pid = 11, .parent = 12, .user_ticks = 20 });
    fake_process_put(&f.fake,
                     &(struct fake_process){ .pid = 12, .parent = 11, .user_ticks = 30 });
    fake_job_look(&f);
    fake_process_end(&f.fake, 11);
    fake_process_end(&f.fake, 12);
    fake_process_put(&f.fake, &(struct fake_process){ .pid = 10 });
    fake_job_look(&f);
    assert_int_equal(fake_job_cpu_ticks(&f), 50);
    assert_int_equal(f.reading.process_count, 1);
    fake_job_end(&f);
}
