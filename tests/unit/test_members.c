/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above */
#include <cmocka.h>
#include <stdbool.h>

#include "job/members.h"

static struct member closed(pid_t pid, uint64_t start_ticks)
{
    return (struct member){
        .pid = pid,
        .start_ticks = start_ticks,
        .stat_file = KEPT_CLOSED,
        .statm_file = KEPT_CLOSED,
        .io_file = KEPT_CLOSED,
        .children_file = KEPT_CLOSED,
    };
}

static void add_open(struct members *members, pid_t pid, uint64_t start_ticks)
{
    struct member member = closed(pid, start_ticks);

    assert_non_null(members_add(members, &member));
}

static void what_is_added_is_found(void **state)
{
    struct members members = { 0 };
    struct process *process;

    (void)state;
    assert_null(members_process(&members, 42));
    process = members_add_process(&members, 42);
    assert_non_null(process);
    assert_int_equal(process->pid, 42);
    assert_int_equal(process->threads, 0);
    process->threads = 3;
    assert_ptr_equal(members_add_process(&members, 42), process); /* once */
    assert_int_equal(members.process_count, 1);
    assert_int_equal(members_process(&members, 42)->threads, 3);
    assert_null(members_process(&members, 43));
    assert_null(members_find(&members, 42)); /* it is not open */
    members_done(&members);
    assert_null(members_process(&members, 42));
}

static void numbers_that_are_no_pids_are_not_taken(void **state)
{
    struct members members = { 0 };

    (void)state;
    assert_null(members_add_process(&members, 0));
    assert_null(members_add_process(&members, -1));
    assert_null(members_process(&members, 0));
    assert_int_equal(members.process_count, 0);
    members_done(&members);
}

static void it_grows_and_keeps_all(void **state)
{
    struct members members = { 0 };

    (void)state;
    for (pid_t pid = 1; pid <= 10000; pid++) {
        struct process *process = members_add_process(&members, pid * 3);

        assert_non_null(process);
        process->threads = (uint32_t)pid & 0xffff;
    }
    assert_int_equal(members.process_count, 10000);
    for (pid_t pid = 1; pid <= 10000; pid++)
        assert_int_equal(members_process(&members, pid * 3)->threads, pid);
    assert_null(members_process(&members, 4));
    members_done(&members);
}

/* Numbers that share a slot, in a table that is as full as it gets: against a plain array. */
static void removal_loses_no_other_process(void **state)
{
    enum { PIDS = 512 };
    struct members members = { 0 };
    bool is_in[PIDS] = { false };
    uint32_t random = 1;

    (void)state;
    for (int step = 0; step < 20000; step++) {
        size_t i;
        pid_t pid;

        random = random * 1664525u + 1013904223u;
        i = random >> 16 & (PIDS - 1);
        pid = (pid_t)(1 + (i & 7) + (i >> 3) * 4096);
        if (is_in[i])
            members_release(&members, members_process(&members, pid));
        else if (members.process_count < 120)
            assert_non_null(members_add_process(&members, pid));
        else
            continue;
        is_in[i] = !is_in[i];
        i = random >> 7 & (PIDS - 1);
        pid = (pid_t)(1 + (i & 7) + (i >> 3) * 4096);
        assert_int_equal(members_process(&members, pid) != NULL, is_in[i]);
    }
    assert_int_equal(members.slot_count, 256);
    members_done(&members);
}

static void it_has_a_largest_size(void **state)
{
    struct members members = { 0 };

    (void)state;
    for (pid_t pid = 1; pid <= (pid_t)MEMBERS_MAX; pid++)
        assert_non_null(members_add_process(&members, pid));
    assert_null(members_add_process(&members, MEMBERS_MAX + 1));
    assert_non_null(members_add_process(&members, 1));
    members_release(&members, members_process(&members, 1));
    assert_non_null(members_add_process(&members, MEMBERS_MAX + 1));
    members_done(&members);
}

static void a_process_stays_while_something_is_waited_for(void **state)
{
    struct members members = { 0 };
    struct process *process;

    (void)state;
    add_open(&members, 42, 1);
    process = members_process(&members, 42);
    process->threads = 1;
    process->is_recording = true;
    members_release(&members, process);
    members_find(&members, 42)->has_left = true;
    members_remove_left(&members);
    assert_null(members_find(&members, 42));
    process->threads = 0;
    members_release(&members, process);
    assert_non_null(members_process(&members, 42));
    process->is_recording = false;
    members_release(&members, process);
    assert_null(members_process(&members, 42));
    members_done(&members);
}

static void the_list_keeps_its_order(void **state)
{
    struct members members = { 0 };
    uint64_t changes;

    (void)state;
    for (pid_t pid = 1; pid <= 100; pid++)
        add_open(&members, 1000 - pid, 1);
    for (size_t i = 0; i < 100; i += 3)
        members.list[i].has_left = true;
    changes = members.changes;
    members_remove_left(&members);
    assert_int_equal(members.changes, changes + 1);
    assert_int_equal(members.count, 66);
    assert_int_equal(members.process_count, 66);
    for (size_t i = 0; i < members.count; i++) {
        assert_ptr_equal(members_find(&members, members.list[i].pid), &members.list[i]);
        assert_true(i == 0 || members.list[i].pid < members.list[i - 1].pid);
    }
    members_remove_left(&members); /* none */
    assert_int_equal(members.changes, changes + 1);
    members_done(&members);
}

/* A list of a cgroup has them in any order. */
static void parents_come_before_their_children(void **state)
{
    struct members members = { 0 };

    (void)state;
    add_open(&members, 50, 9);
    add_open(&members, 45, 8);
    add_open(&members, 44, 7);
    add_open(&members, 43, 7);
    members_order(&members, 1);
    for (size_t i = 0; i < members.count; i++)
        assert_ptr_equal(members_find(&members, members.list[i].pid), &members.list[i]);
    assert_int_equal(members.list[0].pid, 50); /* it was there before */
    assert_int_equal(members.list[1].pid, 43);
    assert_int_equal(members.list[2].pid, 44);
    assert_int_equal(members.list[3].pid, 45);
    members_done(&members);
}

static void a_pid_may_be_used_again_before_its_process_is_removed(void **state)
{
    struct members members = { 0 };

    (void)state;
    add_open(&members, 41, 1);
    add_open(&members, 42, 1);
    members_process(&members, 42)->member = 0;
    assert_null(members_find(&members, 42));
    add_open(&members, 42, 5);
    assert_int_equal(members_find(&members, 42)->start_ticks, 5);
    members.list[0].has_left = members.list[1].has_left = true;
    members_remove_left(&members);
    assert_int_equal(members.count, 1);
    assert_int_equal(members_find(&members, 42)->start_ticks, 5);
    members_done(&members);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_added_is_found),
        cmocka_unit_test(numbers_that_are_no_pids_are_not_taken),
        cmocka_unit_test(it_grows_and_keeps_all),
        cmocka_unit_test(removal_loses_no_other_process),
        cmocka_unit_test(it_has_a_largest_size),
        cmocka_unit_test(a_process_stays_while_something_is_waited_for),
        cmocka_unit_test(the_list_keeps_its_order),
        cmocka_unit_test(parents_come_before_their_children),
        cmocka_unit_test(a_pid_may_be_used_again_before_its_process_is_removed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
