/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above */
#include <cmocka.h>

#include "base/clock.h"
#include "base/unknown.h"
#include "job/rest.h"

#define SECOND NS_PER_SECOND

/* Asks, does what it is told, and says what that was. */
static enum rest_look look(struct rest *rest, uint64_t cpu_ns, uint64_t now_ns,
                           uint64_t moved_ns)
{
    enum rest_look whom = rest_look_at(rest, cpu_ns, now_ns);

    rest_looked(rest, whom, cpu_ns, now_ns,
                (struct rest_seen){ .moved_ns = moved_ns, .is_whole = true });
    return whom;
}

static void nobody_is_looked_at_while_nobody_runs(void **state)
{
    struct rest rest = { 0 };

    (void)state;
    assert_int_equal(look(&rest, 7, SECOND, 7), LOOK_AT_ALL);
    assert_int_equal(look(&rest, 7, 2 * SECOND, 0), LOOK_AT_NOBODY);
    assert_int_equal(look(&rest, 8, 3 * SECOND, 1), LOOK_AT_MOVERS);
    assert_int_equal(look(&rest, 8, 4 * SECOND, 0), LOOK_AT_NOBODY);
}

static void where_nothing_counts_the_whole_job_clocks_tell(void **state)
{
    struct rest rest = { 0 };

    (void)state;
    assert_int_equal(look(&rest, UNKNOWN, SECOND, 0), LOOK_AT_ALL);
    assert_int_equal(look(&rest, UNKNOWN, 2 * SECOND, 0), LOOK_AT_MOVERS);
    assert_int_equal(look(&rest, UNKNOWN, 3 * SECOND, 0), LOOK_AT_MOVERS);
}

static void everybody_is_read_every_ten_seconds(void **state)
{
    struct rest rest = { 0 };

    (void)state;
    (void)look(&rest, 7, SECOND, 0);
    assert_int_equal(look(&rest, 9, 10 * SECOND, 0), LOOK_AT_MOVERS); /* is no such reading */
    assert_int_equal(look(&rest, 9, 11 * SECOND, 0), LOOK_AT_ALL);
    assert_int_equal(look(&rest, 9, 20 * SECOND, 0), LOOK_AT_NOBODY);
    assert_int_equal(look(&rest, 9, 21 * SECOND, 0), LOOK_AT_ALL);
}

static void what_is_left_to_read_is_looked_at_again(void **state)
{
    struct rest rest = { 0 };

    (void)state;
    rest_looked(&rest, LOOK_AT_ALL, 7, SECOND, (struct rest_seen){ .is_whole = false });
    assert_int_equal(look(&rest, 7, 2 * SECOND, 0), LOOK_AT_MOVERS);
    assert_int_equal(look(&rest, 7, 3 * SECOND, 0), LOOK_AT_NOBODY);
}

/* A process that has left the cgroup, or perf, runs on unseen. */
static void a_number_that_misses_somebody_is_not_trusted_again(void **state)
{
    struct rest rest = { 0 };

    (void)state;
    (void)look(&rest, 7, SECOND, 0);
    assert_int_equal(look(&rest, 7, 11 * SECOND, 19 * NS_PER_MS), LOOK_AT_ALL); /* just now */
    assert_int_equal(look(&rest, 7, 12 * SECOND, 0), LOOK_AT_NOBODY);
    assert_int_equal(look(&rest, 7, 21 * SECOND, 21 * NS_PER_MS), LOOK_AT_ALL);
    assert_int_equal(look(&rest, 7, 22 * SECOND, 0), LOOK_AT_MOVERS);
    assert_int_equal(look(&rest, 7, 23 * SECOND, 0), LOOK_AT_MOVERS);
}

static void a_change_without_cpu_time_can_be_told(void **state)
{
    struct rest rest = { 0 };

    (void)state;
    (void)look(&rest, 7, SECOND, 0);
    rest_forget(&rest);
    assert_int_equal(look(&rest, 7, 2 * SECOND, 0), LOOK_AT_ALL);
    assert_int_equal(look(&rest, 7, 3 * SECOND, 0), LOOK_AT_NOBODY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nobody_is_looked_at_while_nobody_runs),
        cmocka_unit_test(where_nothing_counts_the_whole_job_clocks_tell),
        cmocka_unit_test(everybody_is_read_every_ten_seconds),
        cmocka_unit_test(what_is_left_to_read_is_looked_at_again),
        cmocka_unit_test(a_number_that_misses_somebody_is_not_trusted_again),
        cmocka_unit_test(a_change_without_cpu_time_can_be_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
