/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above */
#include <cmocka.h>
#include <math.h>

#include "base/clock.h"
#include "base/unknown.h"
#include "series/rate.h"

static void assert_near(double found, double expected)
{
    assert_true(fabs(found - expected) < 1e-9);
}

static void a_counter_that_stepped_back_has_not_grown(void **state)
{
    (void)state;
    assert_int_equal(counter_delta(5, 12), 7);
    assert_int_equal(counter_delta(12, 12), 0);
    assert_int_equal(counter_delta(12, 5), 0);
    assert_int_equal(counter_delta(0, UINT64_MAX - 1), UINT64_MAX - 1);
}

static void growth_from_or_to_the_unknown_is_unknown(void **state)
{
    (void)state;
    assert_false(is_known(counter_delta(UNKNOWN, 5)));
    assert_false(is_known(counter_delta(5, UNKNOWN)));
    assert_false(is_known(counter_delta(UNKNOWN, UNKNOWN)));
}

static void rates_are_in_base_units_per_second(void **state)
{
    (void)state;
    assert_near(counter_rate(METRIC_JOB_CPU, 0, 3 * NS_PER_SECOND, 2 * NS_PER_SECOND), 1.5);
    assert_near(counter_rate(METRIC_JOB_READ, 1000, 3000, NS_PER_SECOND / 2), 4000);
}

/* Bytes of a disk or an interface that is gone are not known. */
static void no_time_gives_no_rate(void **state)
{
    (void)state;
    assert_true(isnan(counter_rate(METRIC_JOB_CPU, 0, 5, 0)));
    assert_true(isnan(counter_rate(METRIC_JOB_CPU, UNKNOWN, 5, 1)));
    assert_true(isnan(counter_rate(METRIC_JOB_CPU, 5, UNKNOWN, 1)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_counter_that_stepped_back_has_not_grown),
        cmocka_unit_test(growth_from_or_to_the_unknown_is_unknown),
        cmocka_unit_test(rates_are_in_base_units_per_second),
        cmocka_unit_test(no_time_gives_no_rate),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
