/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above */
#include <cmocka.h>
#include <math.h>

#include "base/compiler.h"
#include "compat/gpu_tracker/subtrack/statistics.h"

static void check(const double *values, size_t count, double min, double max, double mean,
                  double std)
{
    const double expected[STATISTICS] = { min, max, mean, std };
    struct tally tally = { 0 };
    double found[STATISTICS];

    for (size_t i = 0; i < count; i++)
        tally_add(&tally, values[i]);
    tally_get(&tally, found);
    for (size_t i = 0; i < STATISTICS; i++)
        assert_true(!(fabs(found[i] - expected[i]) > 1e-12 * fabs(expected[i])));
}

static void figures_are_those_of_a_whole_population(void **state)
{
    static const double some[] = { 2, 4, 4, 4, 5, 5, 7, 9 };
    static const double negative[] = { -3, -1 };
    static const double one[] = { 42.5 };

    (void)state;
    check(some, ARRAY_SIZE(some), 2, 9, 5, 2);
    check(negative, ARRAY_SIZE(negative), -3, -1, -2, 1);
    check(one, 1, 42.5, 42.5, 42.5, 0);
}

static void equal_numbers_have_no_spread(void **state)
{
    double values[1000];

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(values); i++)
        values[i] = 0.216;
    check(values, ARRAY_SIZE(values), 0.216, 0.216, 0.216, 0);
}

/* Numbers far from 0 with a small spread: sums of squares would lose it. */
static void large_numbers_keep_their_spread(void **state)
{
    static const double values[] = { 1e9 + 4, 1e9 + 7, 1e9 + 13, 1e9 + 16 };

    (void)state;
    check(values, ARRAY_SIZE(values), 1e9 + 4, 1e9 + 16, 1e9 + 10, 4.743416490252569);
}

static void nothing_has_no_figures_and_a_total_of_0(void **state)
{
    struct tally tally = { 0 };
    double found[STATISTICS];

    (void)state;
    tally_get(&tally, found);
    for (size_t i = 0; i < STATISTICS; i++)
        assert_true(isnan(found[i]));
    assert_true(!(fabs(tally_total(&tally)) > 0));
    tally_add(&tally, 1.5);
    tally_add(&tally, 2);
    assert_true(!(fabs(tally_total(&tally) - 3.5) > 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(figures_are_those_of_a_whole_population),
        cmocka_unit_test(equal_numbers_have_no_spread),
        cmocka_unit_test(large_numbers_keep_their_spread),
        cmocka_unit_test(nothing_has_no_figures_and_a_total_of_0),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
