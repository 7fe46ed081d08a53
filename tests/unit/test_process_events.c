/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "base/amount.h"
#include "base/clock.h"
#include "gated_job.h"
#include "job/process_events.h"
#include "job/source_names.h"
#include "unit_test.h"

/* These PIDs are above all possible ones, so no such processes exist. */
enum { MAIN = 5000000, OTHER = 6000000 };

static struct roster roster;

static void begin(struct process_events *events, bool is_machine_wide)
{
    static const struct root none = ROOT_CLOSED;

    *events = (struct process_events){
        .is_exact = true,
        .is_machine_wide = is_machine_wide,
        .started_count = 1,
        .now = { 1, { 1, 0, 1 } },
        .peak = { 1, { 1, 0, 1 } },
        .settled_peak = { 1, { 1, 0, 1 } },
        .root = &none,
        .main_pid = MAIN,
        .connector = PROC_CONNECTOR_CLOSED,
        .taskstats = TASKSTATS_CLOSED,
    };
    events->roster = &roster;
    roster_add(&roster, MAIN)->threads = 1;
}

static void end(struct process_events *events)
{
    process_events_close(events);
    roster_done(&roster);
}

static void forked(struct process_events *events, pid_t parent_pid, pid_t pid)
{
    process_events_note(events, &(struct process_event){ .kind = PROCESS_FORKED,
                                                         .pid = pid,
                                                         .parent_pid = parent_pid });
}

static void exited(struct process_events *events, pid_t pid)
{
    process_events_note(events, &(struct process_event){ .kind = PROCESS_EXITED, .pid = pid });
}

static void thread(struct process_events *events, enum process_event_kind kind, pid_t pid)
{
    process_events_note(events,
                        &(struct process_event){ .kind = kind, .pid = pid, .is_thread = true });
}

TEST(the_peak_number_of_processes_is_kept)
{
    struct process_events events;

    begin(&events, false);
    for (int i = 1; i <= 3; i++)
        forked(&events, MAIN, MAIN + i);
    exited(&events, MAIN + 1);
    exited(&events, MAIN + 2);
    forked(&events, MAIN, MAIN + 4);
    assert_int_equal(events.started_count, 5);
    assert_int_equal(events.now.processes, 3);
    assert_int_equal(events.peak.processes, 4);
    assert_true(events.is_exact);
    end(&events);
}

static void event_at(struct process_events *events, enum process_event_kind kind, pid_t pid,
                     uint64_t time_ns)
{
    process_events_note(events,
                        &(struct process_event){
                            .kind = kind, .pid = pid, .parent_pid = MAIN, .time_ns = time_ns });
}

/* The connector delivers events of different CPUs out of order. */
TEST(a_late_exit_event_lowers_the_peak)
{
    struct process_events events;

    begin(&events, true);
    event_at(&events, PROCESS_FORKED, MAIN + 1, 1000);
    event_at(&events, PROCESS_FORKED, MAIN + 2, 3000);
    assert_int_equal(events.process_peak.count, 3);
    event_at(&events, PROCESS_EXITED, MAIN + 1, 2000);
    assert_int_equal(events.process_peak.count, 2);
    assert_int_equal(events.peak.processes, 3); /* upper bound */
    event_at(&events, PROCESS_FORKED, MAIN + 3, 4000);
    assert_int_equal(events.process_peak.count, 3);
    event_at(&events, PROCESS_EXITED, MAIN + 2, 5000);
    event_at(&events, PROCESS_EXITED, MAIN + 3, NS_PER_SECOND);
    event_at(&events, PROCESS_FORKED, MAIN + 4, NS_PER_SECOND + 1);
    assert_int_equal(events.process_peak.count, 3);
    end(&events);
}

TEST(exit_events_may_arrive_out_of_order)
{
    struct process_events events;

    begin(&events, true);
    event_at(&events, PROCESS_FORKED, MAIN + 1, 1000);
    event_at(&events, PROCESS_FORKED, MAIN + 2, 3000);
    event_at(&events, PROCESS_EXITED, MAIN + 2, 3000 + 5 * NS_PER_MS);
    event_at(&events, PROCESS_EXITED, MAIN + 1, 2000);
    assert_int_equal(events.process_peak.count, 2);
    end(&events);
}

static void thread_at(struct process_events *events, enum process_event_kind kind,
                      uint64_t time_ns)
{
    process_events_note(events,
                        &(struct process_event){
                            .kind = kind, .pid = MAIN, .is_thread = true, .time_ns = time_ns });
}

TEST(concurrent_threads_are_counted)
{
    struct process_events events;

    begin(&events, true);
    for (uint64_t i = 1; i <= 500; i++)
        thread_at(&events, PROCESS_FORKED, NS_PER_SECOND + i);
    for (uint64_t i = 1; i <= 500; i++)
        thread_at(&events, PROCESS_EXITED, NS_PER_SECOND + 20 * NS_PER_MS + i);
    assert_int_equal(events.thread_peaks[GROUP_MAIN].count, 501);
    assert_int_equal(events.thread_peaks[GROUP_JOB].count, 501);
    assert_int_equal(events.thread_peaks[GROUP_JOB].confirmed, 501);
    assert_int_equal(events.thread_peaks[GROUP_DESCENDANTS].count, 0);
    end(&events);
}

/* The exit of a joined thread may be reported after the start of the next thread. */
TEST(consecutive_threads_are_not_counted_as_concurrent)
{
    struct process_events events;

    begin(&events, true);
    for (uint64_t i = 1; i <= 10; i++) {
        thread_at(&events, PROCESS_FORKED, 2 * i * NS_PER_MS);
        if (i > 1)
            thread_at(&events, PROCESS_EXITED, (2 * i + 1) * NS_PER_MS);
    }
    assert_true(events.thread_peaks[GROUP_JOB].count <= 2);
    assert_int_equal(events.peak.threads[GROUP_JOB], 3); /* upper bound */
    end(&events);
}

/* On a busy machine, the exits of one wave of threads may be reported long after the next
 * wave has begun. */
TEST(threads_of_consecutive_waves_are_not_counted_as_concurrent)
{
    enum { WAVE = 8, LATE = 3 };
    struct process_events events;
    uint64_t now_ns = NS_PER_SECOND;

    begin(&events, true);
    for (int i = 0; i < WAVE; i++)
        thread_at(&events, PROCESS_FORKED, now_ns);
    now_ns += 20 * NS_PER_MS;
    for (int i = 0; i < WAVE - LATE; i++)
        thread_at(&events, PROCESS_EXITED, now_ns);
    assert_int_equal(events.thread_peaks[GROUP_JOB].count, 1 + WAVE);
    for (int i = 0; i < WAVE; i++)
        thread_at(&events, PROCESS_FORKED, now_ns);
    assert_int_equal(events.thread_peaks[GROUP_JOB].count, 1 + WAVE + LATE);
    now_ns += 200 * NS_PER_MS;
    for (int i = 0; i < LATE; i++)
        thread_at(&events, PROCESS_EXITED, now_ns);
    assert_int_equal(events.thread_peaks[GROUP_JOB].count, 1 + WAVE);
    end(&events);
}

TEST(threads_are_not_counted_as_processes)
{
    struct process_events events;

    begin(&events, false);
    thread(&events, PROCESS_FORKED, MAIN);
    thread(&events, PROCESS_FORKED, MAIN);
    thread(&events, PROCESS_EXITED, MAIN);
    assert_int_equal(events.started_count, 1);
    assert_int_equal(events.now.processes, 1);
    assert_int_equal(events.now.threads[GROUP_MAIN], 2);
    assert_int_equal(events.peak.threads[GROUP_MAIN], 3);
    end(&events);
}

TEST(a_process_ends_with_its_last_thread)
{
    struct process_events events;

    begin(&events, false);
    thread(&events, PROCESS_FORKED, MAIN);
    exited(&events, MAIN); /* one of the two threads exits */
    assert_int_equal(events.now.processes, 1);
    forked(&events, MAIN, MAIN + 1);
    assert_int_equal(events.peak.processes, 2);
    thread(&events, PROCESS_EXITED, MAIN);
    assert_int_equal(events.now.processes, 1);
    assert_true(events.is_exact);
    end(&events);
}

/* The exit event of main may or may not have been read. */
TEST(survivors_of_main_do_not_depend_on_its_exit_event)
{
    struct process_events events;

    begin(&events, false);
    assert_false(process_events_outlive_main(&events));
    forked(&events, MAIN, MAIN + 1);
    assert_true(process_events_outlive_main(&events));
    exited(&events, MAIN);
    assert_true(process_events_outlive_main(&events));
    exited(&events, MAIN + 1);
    assert_false(process_events_outlive_main(&events));
    end(&events);
    begin(&events, false);
    exited(&events, MAIN);
    assert_false(process_events_outlive_main(&events));
    end(&events);
}

TEST(only_descendants_count)
{
    struct process_events events;

    begin(&events, true);
    forked(&events, OTHER, OTHER + 1);
    thread(&events, PROCESS_FORKED, OTHER);
    exited(&events, OTHER);
    forked(&events, MAIN, MAIN + 1);
    exited(&events, MAIN);
    forked(&events, MAIN + 1, MAIN + 2);
    forked(&events, MAIN, MAIN + 3); /* a foreign process has reused the PID */
    assert_int_equal(events.started_count, 3);
    assert_int_equal(events.now.processes, 2);
    assert_true(events.is_exact);
    end(&events);
}

/* The ring reports only processes of the job, so an exit of an unknown process means that a
 * fork event was lost. */
TEST(an_exit_without_a_fork_means_that_events_were_lost)
{
    struct process_events events;

    begin(&events, false);
    exited(&events, MAIN + 1);
    assert_false(events.is_exact);
    assert_int_equal(events.now.processes, 1);
    end(&events);
}

TEST(a_reused_pid_is_another_process)
{
    struct process_events events;

    begin(&events, false);
    for (int i = 0; i < 3; i++) {
        forked(&events, MAIN, MAIN + 1);
        exited(&events, MAIN + 1);
    }
    forked(&events, MAIN, MAIN + 1);
    forked(&events, MAIN, MAIN + 1); /* the exit event of the PID's previous process was lost */
    assert_int_equal(events.started_count, 6);
    assert_int_equal(events.now.processes, 2);
    end(&events);
}

static void add_open(pid_t pid, uint64_t start_ticks)
{
    struct member member = {
        .id.pid = pid,
        .id.start_ticks = start_ticks,
        .files = MEMBER_FILES_CLOSED,
    };

    assert_non_null(roster_add_member(&roster, &member));
}

/* A search may find a process before the event of its fork is read. */
TEST(a_process_found_by_a_search_is_not_added_again)
{
    struct process_event event = { .kind = PROCESS_FORKED,
                                   .pid = MAIN + 1,
                                   .parent_pid = MAIN,
                                   .time_ns = clock_now().monotonic_ns };
    struct process_events events;

    begin(&events, true);
    add_open(MAIN + 1, UINT32_MAX); /* has started later than any event */
    process_events_note(&events, &event);
    assert_non_null(roster_member(&roster, MAIN + 1));
    assert_int_equal(events.started_count, 2);
    process_events_note(&events, &event); /* it is already counted */
    assert_int_equal(events.started_count, 2);
    exited(&events, MAIN + 1);
    event.pid = MAIN + 2;
    add_open(MAIN + 2, 0); /* started long before the event */
    process_events_note(&events, &event);
    assert_null(roster_member(&roster, MAIN + 2));
    assert_int_equal(events.started_count, 3);
    end(&events);
}

/* The start time of a process includes the 100 s during which the machine was suspended
 * earlier; the time of an event does not. */
TEST(a_process_is_recognized_after_a_suspend)
{
    enum { HOUR = 3600 };
    const uint64_t slept_before_ns = 100 * NS_PER_SECOND;
    struct process_event event = {
        .kind = PROCESS_FORKED,
        .pid = MAIN + 1,
        .parent_pid = MAIN,
        .time_ns = clock_now().monotonic_ns + HOUR * NS_PER_SECOND,
    };
    struct process_events events;

    begin(&events, true);
    events.suspended_ns = slept_before_ns;
    add_open(MAIN + 1, (event.time_ns + slept_before_ns) /
                           (NS_PER_SECOND / (uint64_t)sysconf(_SC_CLK_TCK)));
    process_events_note(&events, &event);
    assert_non_null(roster_member(&roster, MAIN + 1));
    event.pid = MAIN + 2; /* an older process with this PID, started 100 s earlier */
    add_open(MAIN + 2, event.time_ns / (NS_PER_SECOND / (uint64_t)sysconf(_SC_CLK_TCK)));
    process_events_note(&events, &event);
    assert_null(roster_member(&roster, MAIN + 2));
    end(&events);
}

/* After events were lost, a search finds the processes, and later events count again. */
TEST(processes_whose_events_were_lost_are_found_by_a_search)
{
    struct process_events events;
    struct root root;

    assert_int_equal(root_open(NULL, &root), 0);
    begin(&events, true);
    events.root = &root;
    events.source = "a source";
    events.needs_search = true;
    add_open(MAIN + 1, 1);
    process_events_resume(&events);
    assert_true(events.is_complete);
    assert_false(events.needs_search);
    assert_false(events.is_exact);
    assert_int_equal(events.started_count, 2);
    assert_int_equal(events.now.processes, 2);
    process_events_note(&events, &(struct process_event){
                                     .kind = PROCESS_EXITED, .pid = MAIN + 1, .time_ns = 1 });
    process_events_resume(&events); /* must not count the exited process again */
    assert_int_equal(events.now.processes, 1);
    assert_int_equal(events.started_count, 2);
    end(&events);
    root_close(&root);
}

struct announced {
    pid_t pids[8];
    size_t count;
    bool waits; /* each process is announced again */
};

static bool announce(pid_t pid, void *data)
{
    struct announced *announced = data;

    announced->pids[announced->count++] = pid;
    return announced->waits;
}

TEST(long_lived_processes_are_announced_parents_first)
{
    struct announced announced = { .waits = true };
    struct process_events events;

    begin(&events, false);
    for (int i = 0; i < 3; i++)
        process_events_note(&events,
                            &(struct process_event){ .kind = PROCESS_FORKED,
                                                     .pid = MAIN + 9 - i,
                                                     .parent_pid = MAIN + 10 - i,
                                                     .time_ns = 100 * (uint64_t)(i + 1) });
    process_events_announce(&events, 200, announce, &announced);
    assert_int_equal(announced.count, 2);
    assert_int_equal(announced.pids[0], MAIN + 9);
    assert_int_equal(announced.pids[1], MAIN + 8);
    assert_int_equal(events.settled_peak.processes, 1);
    exited(&events, MAIN + 8);
    announced = (struct announced){ 0 };
    for (int i = 0; i < 2; i++) /* the second call must announce no process */
        process_events_announce(&events, UINT64_MAX, announce, &announced);
    assert_int_equal(announced.count, 2);
    assert_int_equal(announced.pids[0], MAIN + 9);
    assert_int_equal(announced.pids[1], MAIN + 7);
    assert_int_equal(events.settled_peak.processes, 4);
    end(&events);
}

TEST(the_job_ends_with_its_last_process)
{
    struct process_events events;

    begin(&events, true);
    events.source = "proc-connector";
    forked(&events, MAIN, MAIN + 1);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(process_events_ended_ns(&events), 0);
        process_events_note(&events, &(struct process_event){ .kind = PROCESS_EXITED,
                                                              .pid = MAIN + (pid_t)i,
                                                              .time_ns = 1000 + i });
    }
    assert_int_equal(process_events_ended_ns(&events), 1001);
    end(&events);
}

/* perf reports an exit when a process calls exec on a set-uid program. */
TEST(an_exit_event_of_a_living_process_makes_counts_inexact)
{
    struct process_event event = { .kind = PROCESS_EXITED };
    struct gated_job job;
    struct process_events events;
    struct root root;

    assert_int_equal(root_open(NULL, &root), 0);
    gated_job_start(&job, do_nothing);
    begin(&events, false);
    events.source = "perf.fork-ring";
    events.root = &root;
    forked(&events, MAIN, job.pid);
    event.pid = job.pid;
    event.time_ns = clock_now().monotonic_ns;
    process_events_note(&events, &event);
    assert_false(events.is_exact);
    assert_true(events.was_incomplete);
    event.pid = MAIN;
    process_events_note(&events, &event);
    assert_int_equal(events.now.processes, 0);
    assert_int_equal(process_events_ended_ns(&events), 0); /* unknown: a process is alive */
    gated_job_begin(&job);
    gated_job_end(&job);
    end(&events);
    root_close(&root);
}

static void *end_thread(void *data)
{
    return data;
}

static int run_many_threads(void)
{
    for (int i = 0; i < 6000; i++) {
        pthread_t thread;

        if (pthread_create(&thread, NULL, end_thread, NULL) != 0 ||
            pthread_join(thread, NULL) != 0)
            return 1;
    }
    return 0;
}

/* Exit records of so many threads would cost more than all other events. */
TEST(records_of_very_many_threads_are_not_requested)
{
    struct gated_job job;
    struct process_events events;
    struct root root;
    bool has_ended;

    assert_int_equal(root_open(NULL, &root), 0);
    gated_job_start(&job, run_many_threads);
    process_events_open(&events, &root, &roster, job.pid, SOURCE_RING);
    gated_job_begin(&job);
    do {
        has_ended = gated_job_has_ended(&job);
        process_events_drain(&events, true);
    } while (!has_ended);
    gated_job_end(&job);
    if (events.has_peaks) {
        assert_true(events.taskstats.skips_threads);
        assert_true(events.recorded_tasks < events.started_tasks);
        assert_false(process_events_has_all_records(&events));
        assert_true(is_known(events.peak_bytes[GROUP_MAIN])); /* the last thread is recorded */
    } else {
        print_message("no exit records\n");
    }
    end(&events);
    root_close(&root);
}

TEST(without_a_source_counts_are_unknown)
{
    struct process_events events;
    struct root root;

    assert_int_equal(root_open(NULL, &root), 0);
    process_events_open(&events, &root, &roster, getpid(), SOURCE_RING | SOURCE_CONNECTOR);
    assert_null(events.source);
    assert_false(events.is_exact);
    assert_false(events.has_peaks);
    assert_false(is_known(events.started_count));
    process_events_drain(&events, false);
    end(&events);
    end(&events);
    root_close(&root);
}

TEST(an_agent_and_its_intermediate_process_are_excluded)
{
    struct process_events events;

    begin(&events, false);
    events.source = "a source";
    forked(&events, MAIN, MAIN + 1);
    forked(&events, MAIN + 1, MAIN + 2);
    exited(&events, MAIN + 1);
    process_events_disown(&events, MAIN + 2);
    process_events_disown(&events, MAIN + 2); /* a second call changes nothing */
    process_events_disown(&events, OTHER);    /* no such process */
    assert_int_equal(events.started_count, 1);
    assert_int_equal(events.now.processes, 1);
    assert_int_equal(events.peak.processes, 1);
    assert_int_equal(events.peak.threads[GROUP_JOB], 1);
    thread(&events, PROCESS_FORKED, MAIN + 2);
    thread(&events, PROCESS_EXITED, MAIN + 2);
    exited(&events, MAIN + 2);
    assert_int_equal(events.now.processes, 1);
    assert_true(events.is_exact); /* an exit without a start is ignored */
    forked(&events, MAIN, MAIN + 2);
    assert_int_equal(events.now.processes, 2); /* the PID was reused */
    end(&events);
}

TEST(a_child_of_an_agent_is_not_counted)
{
    struct process_events events;

    begin(&events, true);
    events.source = "a source";
    forked(&events, MAIN, MAIN + 1);
    process_events_disown(&events, MAIN + 1);
    forked(&events, MAIN + 1, MAIN + 2);
    assert_int_equal(events.started_count, 1);
    assert_int_equal(events.now.processes, 1);
    exited(&events, MAIN + 2);
    exited(&events, MAIN + 1);
    assert_int_equal(events.now.processes, 1);
    assert_true(events.is_exact);
    end(&events);
}
