/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above */
#include <cmocka.h>

#include "job/head_count.h"

enum { MAIN = 10 };

static void started(struct head_count *count, pid_t parent_pid, pid_t pid)
{
    head_count_change(count, (struct head_change){ .pid = pid,
                                                   .parent_pid = parent_pid,
                                                   .processes = 1,
                                                   .threads = 1,
                                                   .is_main = pid == MAIN });
}

static void ended(struct head_count *count, pid_t pid)
{
    head_count_change(count,
                      (struct head_change){
                          .pid = pid, .processes = -1, .threads = -1, .is_main = pid == MAIN });
}

static void threads(struct head_count *count, pid_t pid, int change)
{
    head_count_change(
        count, (struct head_change){ .pid = pid, .threads = change, .is_main = pid == MAIN });
}

static void peaks_of_main_and_descendants_explain_that_of_all(void **state)
{
    struct head_count count = { 0 };

    (void)state;
    started(&count, 0, MAIN);
    threads(&count, MAIN, 8);
    threads(&count, MAIN, -8);
    started(&count, MAIN, 11);
    started(&count, MAIN, 12);
    threads(&count, 12, 2);
    ended(&count, 11);
    assert_int_equal(count.now.processes, 2);
    assert_int_equal(count.peak.processes, 3);
    assert_int_equal(count.peak.main_threads, 9);
    assert_int_equal(count.peak.descendants_threads, 4);
    assert_int_equal(count.peak.threads, 9);
    assert_int_equal(count.now.threads, 4);
    head_count_done(&count);
}

static void an_agent_was_never_there(void **state)
{
    struct head_count count = { 0 };
    pid_t parent_pid;

    (void)state;
    started(&count, 0, MAIN);
    head_count_settle(&count);
    started(&count, MAIN, 11); /* the go-between */
    started(&count, 11, 12);   /* the agent */
    threads(&count, 12, 3);
    ended(&count, 11);
    assert_int_equal(count.peak.processes, 3);
    assert_true(head_count_forget(&count, 12, &parent_pid));
    assert_int_equal(parent_pid, 11);
    assert_int_equal(count.now.processes, 1);
    assert_int_equal(count.peak.processes, 1);
    assert_int_equal(count.peak.threads, 1);
    assert_false(head_count_forget(&count, 12, &parent_pid));
    head_count_done(&count);
}

static void others_of_the_same_time_stay(void **state)
{
    struct head_count count = { 0 };
    pid_t parent_pid;

    (void)state;
    started(&count, 0, MAIN);
    head_count_settle(&count);
    started(&count, MAIN, 11);
    started(&count, MAIN, 12); /* started by main itself: there is no go-between */
    started(&count, MAIN, 13);
    ended(&count, 11);
    assert_true(head_count_forget(&count, 12, &parent_pid));
    assert_int_equal(parent_pid, 0);
    assert_int_equal(count.peak.processes, 3);
    assert_int_equal(count.now.processes, 2);
    head_count_done(&count);
}

static void what_was_settled_stays(void **state)
{
    struct head_count count = { 0 };
    pid_t parent_pid;

    (void)state;
    started(&count, 0, MAIN);
    started(&count, MAIN, 11);
    head_count_settle(&count);
    assert_false(head_count_forget(&count, 11, &parent_pid));
    assert_int_equal(count.peak.processes, 2);
    head_count_done(&count);
}

static void more_changes_than_are_kept_are_counted(void **state)
{
    struct head_count count = { 0 };

    (void)state;
    started(&count, 0, MAIN);
    for (pid_t pid = 11; pid < 20011; pid++)
        started(&count, MAIN, pid);
    assert_int_equal(count.peak.processes, 20001);
    assert_true(head_count_forget(&count, 20010, NULL));
    assert_int_equal(count.now.processes, 20000);
    head_count_done(&count);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(peaks_of_main_and_descendants_explain_that_of_all),
        cmocka_unit_test(an_agent_was_never_there),
        cmocka_unit_test(others_of_the_same_time_stay),
        cmocka_unit_test(what_was_settled_stays),
        cmocka_unit_test(more_changes_than_are_kept_are_counted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
