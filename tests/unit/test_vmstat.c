/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above */
#include <cmocka.h>
#include <errno.h>

#include "source/host/vmstat.h"

static void oom_kills_are_counted(void **state)
{
    uint64_t count;

    (void)state;
    assert_int_equal(
        vmstat_parse_oom_kills("nr_free_pages 1\nxoom_kill 2\noom_kill 3\nswap_ra 4\n", &count),
        0);
    assert_int_equal(count, 3);
}

static void old_kernels_do_not_count_them(void **state)
{
    uint64_t count = 5;

    (void)state;
    assert_int_equal(vmstat_parse_oom_kills("nr_free_pages 1\noom_killed 3\n", &count),
                     -ENOENT);
    assert_int_equal(vmstat_parse_oom_kills("", &count), -ENOENT);
    assert_int_equal(count, 5);
}

static void refuses_damaged_text(void **state)
{
    uint64_t count = 5;

    (void)state;
    assert_int_equal(vmstat_parse_oom_kills("oom_kill 3", &count), -EBADMSG);
    assert_int_equal(vmstat_parse_oom_kills("oom_kill \n3\n", &count), -EBADMSG);
    assert_int_equal(vmstat_parse_oom_kills("oom_kill 99999999999999999999\n", &count),
                     -EBADMSG);
    assert_int_equal(count, 5); /* untouched on failure */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(oom_kills_are_counted),
        cmocka_unit_test(old_kernels_do_not_count_them),
        cmocka_unit_test(refuses_damaged_text),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
