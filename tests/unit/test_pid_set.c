/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above */
#include <cmocka.h>
#include <string.h>

#include "base/compiler.h"
#include "job/pid_set.h"

static void what_is_added_is_found(void **state)
{
    struct pid_set set = { 0 };
    struct pid_entry *entry;

    (void)state;
    assert_null(pid_set_find(&set, 42));
    entry = pid_set_add(&set, 42);
    assert_non_null(entry);
    assert_int_equal(entry->pid, 42);
    assert_int_equal(entry->threads, 0);
    entry->threads = 3;
    assert_ptr_equal(pid_set_add(&set, 42), entry); /* once */
    assert_int_equal(set.count, 1);
    assert_int_equal(pid_set_find(&set, 42)->threads, 3);
    assert_null(pid_set_find(&set, 43));
    pid_set_done(&set);
    assert_null(pid_set_find(&set, 42));
}

static void numbers_that_are_no_pids_are_not_taken(void **state)
{
    struct pid_set set = { 0 };

    (void)state;
    assert_null(pid_set_add(&set, 0));
    assert_null(pid_set_add(&set, -1));
    assert_null(pid_set_find(&set, 0));
    assert_int_equal(set.count, 0);
    pid_set_done(&set);
}

static void it_grows_and_keeps_all(void **state)
{
    struct pid_set set = { 0 };

    (void)state;
    for (pid_t pid = 1; pid <= 10000; pid++) {
        struct pid_entry *entry = pid_set_add(&set, pid * 3);

        assert_non_null(entry);
        entry->threads = (uint32_t)pid & 0xffff;
    }
    assert_int_equal(set.count, 10000);
    for (pid_t pid = 1; pid <= 10000; pid++)
        assert_int_equal(pid_set_find(&set, pid * 3)->threads, pid);
    assert_null(pid_set_find(&set, 4));
    pid_set_done(&set);
}

/* Numbers that share a slot, in a table that is as full as it gets: against a plain array. */
static void removal_loses_nobody_else(void **state)
{
    enum { PIDS = 512 };
    struct pid_set set = { 0 };
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
            pid_set_remove(&set, pid_set_find(&set, pid));
        else if (set.count < 120)
            assert_non_null(pid_set_add(&set, pid));
        else
            continue;
        is_in[i] = !is_in[i];
        i = random >> 7 & (PIDS - 1);
        pid = (pid_t)(1 + (i & 7) + (i >> 3) * 4096);
        assert_int_equal(pid_set_find(&set, pid) != NULL, is_in[i]);
    }
    assert_int_equal(set.slot_count, 256);
    pid_set_done(&set);
}

static bool is_odd(struct pid_entry *entry, void *data)
{
    (void)data;
    return entry->pid % 2 == 1;
}

static void a_filter_leaves_those_that_are_kept(void **state)
{
    struct pid_set set = { 0 };

    (void)state;
    pid_set_filter(&set, is_odd, NULL); /* empty */
    for (pid_t pid = 1; pid <= 1000; pid++)
        assert_non_null(pid_set_add(&set, pid));
    pid_set_filter(&set, is_odd, NULL);
    assert_int_equal(set.count, 500);
    for (pid_t pid = 1; pid <= 1000; pid++)
        assert_int_equal(pid_set_find(&set, pid) != NULL, pid % 2 == 1);
    pid_set_done(&set);
}

static void it_has_a_largest_size(void **state)
{
    struct pid_set set = { 0 };

    (void)state;
    for (pid_t pid = 1; pid <= (pid_t)PID_SET_MAX; pid++)
        assert_non_null(pid_set_add(&set, pid));
    assert_null(pid_set_add(&set, PID_SET_MAX + 1));
    assert_non_null(pid_set_add(&set, 1));
    pid_set_remove(&set, pid_set_find(&set, 1));
    assert_non_null(pid_set_add(&set, PID_SET_MAX + 1));
    pid_set_done(&set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_added_is_found),
        cmocka_unit_test(numbers_that_are_no_pids_are_not_taken),
        cmocka_unit_test(it_grows_and_keeps_all),
        cmocka_unit_test(removal_loses_nobody_else),
        cmocka_unit_test(a_filter_leaves_those_that_are_kept),
        cmocka_unit_test(it_has_a_largest_size),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
