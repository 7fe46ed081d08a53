/* SPDX-License-Identifier: Apache-2.0 */
/* Tests events and exit records of exited processes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/amount.h"
#include "base/clock.h"
#include "job/process_events.h"
#include "unit_test.h"

#define MS NS_PER_MS

enum { MAIN = 5000000, CHILD }; /* above all possible PIDs */

struct fixture {
    struct process_events events;
    struct roster roster;
};

static int set_up(void **state)
{
    static const struct root none = ROOT_CLOSED;
    struct fixture *f = calloc(1, sizeof(*f));

    assert_non_null(f);
    f->events = (struct process_events){
        .is_exact = true,
        .is_machine_wide = true,
        .started_count = 1,
        .root = &none,
        .main_pid = MAIN,
        .connector = PROC_CONNECTOR_CLOSED,
        .taskstats = TASKSTATS_CLOSED,
        .roster = &f->roster,
    };
    f->events.taskstats.fd = 0; /* with exit records, exited processes wait for their record */
    roster_add(&f->roster, MAIN)->threads = 1;
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    f->events.taskstats.fd = -1;
    process_events_close(&f->events);
    roster_done(&f->roster);
    free(f);
    return 0;
}

static void fork_child(struct fixture *f)
{
    process_events_note(&f->events, &(struct process_event){ .kind = PROCESS_FORKED,
                                                             .pid = CHILD,
                                                             .parent_pid = MAIN,
                                                             .time_ns = 100 * MS });
}

static void end_child(struct fixture *f)
{
    process_events_note(&f->events, &(struct process_event){ .kind = PROCESS_EXITED,
                                                             .pid = CHILD,
                                                             .time_ns = 130 * MS,
                                                             .has_wait_status = true,
                                                             .wait_status = 3 << 8 });
}

static void open_process(struct fixture *f, pid_t pid, const char *name)
{
    struct member member = {
        .id.pid = pid,
        .files = MEMBER_FILES_CLOSED,
        .notes.command = strdup(name),
    };

    (void)snprintf(member.comm, sizeof(member.comm), "%s", name);
    assert_non_null(roster_add_member(&f->roster, &member));
}

static const struct exit_record record = {
    .pid = CHILD,
    .tgid = CHILD,
    .peak_rss_bytes = 7 << 20,
    .is_group_exit = true,
    .tick_ns = 8 * MS,
    .run_ns = 6 * MS,
    .usage.counter = { [USAGE_READ_BYTES] = 4096, [USAGE_WRITTEN_BYTES] = 8192 },
    .name = "sh",
};

TEST_WITH(an_unopened_process_is_listed_from_its_exit_record, set_up, tear_down)
{
    struct fixture *f = *state;
    const struct process_entry *entry = NULL;

    open_process(f, MAIN, "main");
    fork_child(f);
    end_child(f);
    assert_true(process_events_note_record(&f->events, &record));
    assert_true(process_events_note_record(&f->events, &record)); /* a duplicate is ignored */
    assert_int_equal(f->roster.ended.count, 1);
    entry = &f->roster.ended.list[0];
    assert_int_equal(entry->pid, CHILD);
    assert_int_equal(entry->parent_pid, MAIN);
    assert_string_equal(entry->name, "sh");
    assert_null(entry->command);
    assert_int_equal(entry->started_ns, 100 * MS);
    assert_int_equal(entry->ended_ns, 130 * MS);
    assert_int_equal(entry->cpu_ns, 0);
    assert_in_range(entry->estimated_ns, 8 * MS, 9 * MS);
    assert_int_equal(entry->peak_bytes, 7 << 20);
    assert_int_equal(entry->written_bytes, 8192);
    assert_true(entry->has_wait_status);
    assert_int_equal(entry->wait_status, 3 << 8);
    /* The parent has waited for the child, so the parent's counts include the child's bytes. */
    assert_int_equal(roster_member(&f->roster, MAIN)->notes.foreign_io.read_bytes, 4096);
}

TEST_WITH(an_exit_record_may_arrive_before_the_exit_event, set_up, tear_down)
{
    struct fixture *f = *state;

    fork_child(f);
    assert_true(process_events_note_record(&f->events, &record));
    assert_false(f->roster.ended.list[0].has_wait_status);
    end_child(f);
    assert_int_equal(f->roster.ended.count, 1);
    assert_true(f->roster.ended.list[0].has_wait_status);
    assert_int_equal(f->roster.ended.list[0].wait_status, 3 << 8);
}

TEST_WITH(cpu_time_never_exceeds_the_lifetime, set_up, tear_down)
{
    struct fixture *f = *state;
    struct exit_record long_record = record;

    fork_child(f);
    end_child(f);
    long_record.tick_ns = 40 * MS; /* longer than its life of 30 ms */
    assert_true(process_events_note_record(&f->events, &long_record));
    assert_int_equal(f->roster.ended.list[0].estimated_ns, 30 * MS);
}

TEST_WITH(the_threads_of_an_open_process_are_added_up, set_up, tear_down)
{
    struct fixture *f = *state;
    struct exit_record thread = record;
    const struct member *member;

    fork_child(f);
    open_process(f, CHILD, "sh");
    thread.pid = CHILD + 1;
    thread.is_group_exit = false;
    assert_true(process_events_note_record(&f->events, &thread));
    assert_true(process_events_note_record(&f->events, &record));
    member = roster_member(&f->roster, CHILD);
    assert_int_equal(member->notes.recorded_io.read_bytes, 2 * 4096);
    assert_int_equal(member->notes.recorded_cpu_ns, 6 * MS);
    assert_string_equal(member->notes.command, "sh");
    assert_int_equal(f->roster.ended.count, 0); /* listed when it is closed */
}

TEST_WITH(the_name_in_an_exit_record_is_the_name_after_the_last_exec, set_up, tear_down)
{
    struct fixture *f = *state;
    const struct member *member;

    fork_child(f);
    open_process(f, CHILD, "wrapper");
    assert_true(process_events_note_record(&f->events, &record));
    member = roster_member(&f->roster, CHILD);
    assert_string_equal(member->comm, "sh");
    assert_null(member->notes.command);
}
