/* SPDX-License-Identifier: Apache-2.0 */
#include <stdbool.h>

#include "job/roster.h"
#include "unit_test.h"

static struct member closed(pid_t pid, uint64_t start_ticks)
{
    return (struct member){
        .id.pid = pid,
        .id.start_ticks = start_ticks,
        .files = MEMBER_FILES_CLOSED,
    };
}

static void add_open(struct roster *roster, pid_t pid, uint64_t start_ticks)
{
    struct member member = closed(pid, start_ticks);

    assert_non_null(roster_add_member(roster, &member));
}

TEST(an_added_process_is_found)
{
    struct roster roster = { 0 };
    struct process *process;

    assert_null(roster_find(&roster, 42));
    process = roster_add(&roster, 42);
    assert_non_null(process);
    assert_int_equal(process->pid, 42);
    assert_int_equal(process->threads, 0);
    process->threads = 3;
    assert_ptr_equal(roster_add(&roster, 42), process); /* not added again */
    assert_int_equal(roster.process_count, 1);
    assert_int_equal(roster_find(&roster, 42)->threads, 3);
    assert_null(roster_find(&roster, 43));
    assert_null(roster_member(&roster, 42)); /* its files are not open */
    roster_done(&roster);
    assert_null(roster_find(&roster, 42));
}

TEST(invalid_pids_are_refused)
{
    struct roster roster = { 0 };

    assert_null(roster_add(&roster, 0));
    assert_null(roster_add(&roster, -1));
    assert_null(roster_find(&roster, 0));
    assert_int_equal(roster.process_count, 0);
    roster_done(&roster);
}

TEST(the_roster_grows_and_keeps_all_processes)
{
    struct roster roster = { 0 };

    for (pid_t pid = 1; pid <= 10000; pid++) {
        struct process *process = roster_add(&roster, pid * 3);

        assert_non_null(process);
        process->threads = (uint32_t)pid & 0xffff;
    }
    assert_int_equal(roster.process_count, 10000);
    for (pid_t pid = 1; pid <= 10000; pid++)
        assert_int_equal(roster_find(&roster, pid * 3)->threads, pid);
    assert_null(roster_find(&roster, 4));
    roster_done(&roster);
}

/* Uses PIDs that share a slot, in a table of maximum load, and compares with a plain array. */
TEST(removal_keeps_the_other_processes)
{
    enum { PIDS = 512 };
    struct roster roster = { 0 };
    bool is_in[PIDS] = { false };
    uint32_t random = 1;

    for (int step = 0; step < 20000; step++) {
        size_t i;
        pid_t pid;

        random = random * 1664525u + 1013904223u;
        i = random >> 16 & (PIDS - 1);
        pid = (pid_t)(1 + (i & 7) + (i >> 3) * 4096);
        if (is_in[i])
            roster_release(&roster, roster_find(&roster, pid));
        else if (roster.process_count < 120)
            assert_non_null(roster_add(&roster, pid));
        else
            continue;
        is_in[i] = !is_in[i];
        i = random >> 7 & (PIDS - 1);
        pid = (pid_t)(1 + (i & 7) + (i >> 3) * 4096);
        assert_int_equal(roster_find(&roster, pid) != NULL, is_in[i]);
    }
    assert_int_equal(roster.slot_count, 256);
    roster_done(&roster);
}

TEST(the_size_is_limited)
{
    struct roster roster = { 0 };

    for (pid_t pid = 1; pid <= (pid_t)ROSTER_MAX; pid++)
        assert_non_null(roster_add(&roster, pid));
    assert_null(roster_add(&roster, ROSTER_MAX + 1));
    assert_non_null(roster_add(&roster, 1));
    roster_release(&roster, roster_find(&roster, 1));
    assert_non_null(roster_add(&roster, ROSTER_MAX + 1));
    roster_done(&roster);
}

TEST(a_process_stays_while_its_records_are_expected)
{
    struct roster roster = { 0 };
    struct process *process;

    add_open(&roster, 42, 1);
    process = roster_find(&roster, 42);
    process->threads = 1;
    process->is_recording = true;
    roster_release(&roster, process);
    roster_member(&roster, 42)->account.has_left = true;
    roster_remove_left(&roster);
    assert_null(roster_member(&roster, 42));
    process->threads = 0;
    roster_release(&roster, process);
    assert_non_null(roster_find(&roster, 42));
    process->is_recording = false;
    roster_release(&roster, process);
    assert_null(roster_find(&roster, 42));
    roster_done(&roster);
}

TEST(removal_keeps_the_order_of_the_roster)
{
    struct roster roster = { 0 };
    uint64_t changes;

    for (pid_t pid = 1; pid <= 100; pid++)
        add_open(&roster, 1000 - pid, 1);
    for (size_t i = 0; i < 100; i += 3)
        roster.list[i].account.has_left = true;
    changes = roster.changes;
    roster_remove_left(&roster);
    assert_int_equal(roster.changes, changes + 1);
    assert_int_equal(roster.count, 66);
    assert_int_equal(roster.process_count, 66);
    for (size_t i = 0; i < roster.count; i++) {
        assert_ptr_equal(roster_member(&roster, roster.list[i].id.pid), &roster.list[i]);
        assert_true(i == 0 || roster.list[i].id.pid < roster.list[i - 1].id.pid);
    }
    roster_remove_left(&roster); /* none has exited */
    assert_int_equal(roster.changes, changes + 1);
    roster_done(&roster);
}

/* cgroup.procs has no particular order. */
TEST(parents_come_before_their_children)
{
    struct roster roster = { 0 };

    add_open(&roster, 50, 9);
    add_open(&roster, 45, 8);
    add_open(&roster, 44, 7);
    add_open(&roster, 43, 7);
    roster_order(&roster, 1);
    for (size_t i = 0; i < roster.count; i++)
        assert_ptr_equal(roster_member(&roster, roster.list[i].id.pid), &roster.list[i]);
    assert_int_equal(roster.list[0].id.pid, 50); /* this process is not part of the sort */
    assert_int_equal(roster.list[1].id.pid, 43);
    assert_int_equal(roster.list[2].id.pid, 44);
    assert_int_equal(roster.list[3].id.pid, 45);
    roster_done(&roster);
}

/* PIDs may wrap around within one tick. */
TEST(a_parent_may_have_a_larger_pid)
{
    static const struct {
        pid_t pid, parent;
    } forks[] = { { 5, 32768 }, { 7, 6 }, { 6, 5 }, { 32768, 32767 }, { 32767, 1 } };
    struct roster roster = { 0 };

    for (size_t i = 0; i < sizeof(forks) / sizeof(forks[0]); i++) {
        add_open(&roster, forks[i].pid, 7);
        roster.list[i].parent_pid = forks[i].parent;
    }
    roster_order(&roster, 0);
    assert_int_equal(roster.list[0].id.pid, 32767);
    for (size_t i = 1; i < roster.count; i++)
        assert_int_equal(roster.list[i].parent_pid, roster.list[i - 1].id.pid);
    roster.list[0].parent_pid = 7; /* a reused PID */
    roster_order(&roster, 0);
    for (size_t i = 0; i < roster.count; i++)
        assert_ptr_equal(roster_member(&roster, roster.list[i].id.pid), &roster.list[i]);
    roster_done(&roster);
}

TEST(a_pid_may_be_reused_before_its_process_is_removed)
{
    struct roster roster = { 0 };

    add_open(&roster, 41, 1);
    add_open(&roster, 42, 1);
    roster_find(&roster, 42)->member = 0;
    assert_null(roster_member(&roster, 42));
    add_open(&roster, 42, 5);
    assert_int_equal(roster_member(&roster, 42)->id.start_ticks, 5);
    roster.list[0].account.has_left = roster.list[1].account.has_left = true;
    roster_remove_left(&roster);
    assert_int_equal(roster.count, 1);
    assert_int_equal(roster_member(&roster, 42)->id.start_ticks, 5);
    roster_done(&roster);
}
