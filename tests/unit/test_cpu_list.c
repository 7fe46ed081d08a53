/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above */
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/compiler.h"
#include "fake_root.h"
#include "source/events/cpu_list.h"

static void lists_hold_single_cpus_and_ranges(void **state)
{
    unsigned cpus[8];

    (void)state;
    assert_int_equal(cpu_list_parse("0\n", cpus, 8), 1);
    assert_int_equal(cpus[0], 0);
    assert_int_equal(cpu_list_parse("0-2,7,10-11\n", cpus, 8), 6);
    assert_memory_equal(cpus, ((unsigned[]){ 0, 1, 2, 7, 10, 11 }), 6 * sizeof(*cpus));
}

static void more_than_asked_for_is_too_many(void **state)
{
    unsigned cpus[8];

    (void)state;
    assert_int_equal(cpu_list_parse("0-7\n", cpus, 8), 8);
    assert_int_equal(cpu_list_parse("0-8\n", cpus, 8), -E2BIG);
    assert_int_equal(cpu_list_parse("0-8191\n", cpus, 8), -E2BIG);
}

static void damaged_lists_are_refused(void **state)
{
    static const char *const damaged[] = {
        "",      "\n",    ",", "0,",   "0-",   "-1", "3-1", "0-99999999999999999999",
        "0 1 x", "0-1-2", "a", "0,,1", "8192",
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(damaged); i++) {
        unsigned cpus[8];

        assert_int_equal(cpu_list_parse(damaged[i], cpus, 8), -EBADMSG);
    }
}

static void all_online_cpus_are_taken_where_they_are_few(void **state)
{
    struct fake_root fake;
    unsigned cpus[8];
    bool is_partial = true;

    (void)state;
    fake_root_init(&fake);
    fake_root_write(&fake, "sys/devices/system/cpu/online", "0-4,6\n");
    assert_int_equal(cpu_list_of_process(&fake.root, getpid(), cpus, 8, &is_partial), 6);
    assert_int_equal(cpus[5], 6);
    assert_false(is_partial);
    fake_root_done(&fake);
}

/* Where they are many, or not told, the process's own mask decides. */
static void else_those_of_the_process_are(void **state)
{
    unsigned long available = (unsigned long)sysconf(_SC_NPROCESSORS_ONLN);
    unsigned cpus[4096];
    struct fake_root fake;
    bool is_partial = false;
    int count;

    (void)state;
    fake_root_init(&fake);
    count = cpu_list_of_process(&fake.root, getpid(), cpus, ARRAY_SIZE(cpus), &is_partial);
    assert_in_range(count, 1, available);
    assert_true(is_partial); /* it can be bound to others */
    fake_root_write(&fake, "sys/devices/system/cpu/online", "0-8000\n");
    assert_int_equal(
        cpu_list_of_process(&fake.root, getpid(), cpus, ARRAY_SIZE(cpus), &is_partial), count);
    assert_int_equal(cpu_list_of_process(&fake.root, getpid(), cpus, 0, &is_partial), -E2BIG);
    fake_root_done(&fake);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_hold_single_cpus_and_ranges),
        cmocka_unit_test(more_than_asked_for_is_too_many),
        cmocka_unit_test(damaged_lists_are_refused),
        cmocka_unit_test(all_online_cpus_are_taken_where_they_are_few),
        cmocka_unit_test(else_those_of_the_process_are),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
