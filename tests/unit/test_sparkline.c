/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above */
#include <cmocka.h>
#include <math.h>

#include "example_report.h"
#include "output/sparkline.h"

static int set_up(void **state)
{
    *state = example_new();
    return 0;
}

static int tear_down(void **state)
{
    example_free(*state);
    return 0;
}

static void assert_curve(const double *curve, const double *expected, size_t columns)
{
    for (size_t i = 0; i < columns; i++)
        assert_true(fabs(curve[i] - expected[i]) < 1e-6);
}

static void a_counter_grows_evenly_between_its_points(void **state)
{
    static const double by_second[] = { 0.5, 3, 3.5, 2.95, 0.05 };
    static const double halves[] = { 0.5, 0.5, 3, 3, 3.5, 3.5, 2.95, 2.95, 0.05, 0.05 };
    const struct example *example = *state;
    double curve[10];

    sparkline_rate(&example->series, &example->summary, METRIC_JOB_CPU, curve, 5);
    assert_curve(curve, by_second, 5);
    sparkline_rate(&example->series, &example->summary, METRIC_JOB_CPU, curve, 10);
    assert_curve(curve, halves, 10);
    sparkline_rate(&example->series, &example->summary, METRIC_JOB_CPU, curve, 1);
    assert_true(fabs(curve[0] - 2) < 1e-6); /* the mean */
}

static void the_first_of_many_points_keeps_its_growth(void **state)
{
    struct example *example = *state;
    double curve[5];

    /* As after a halving: the point at the start is merged into the next. */
    for (size_t i = 0; i + 1 < example->series.count; i++)
        example->series.points[i] = example->series.points[i + 1];
    example->series.count--;
    sparkline_rate(&example->series, &example->summary, METRIC_JOB_CPU, curve, 5);
    assert_true(fabs(curve[0] - 0.5) < 1e-6);
}

/* Each column shows the value it began with, too. */
static void a_gauge_keeps_its_value_and_its_peaks(void **state)
{
    static const double expected[] = { 100e6, 800e6, 1200e6, 1200e6, 750e6 };
    const struct example *example = *state;
    double curve[5];

    sparkline_gauge(&example->series, METRIC_JOB_RSS, curve, 5);
    assert_curve(curve, expected, 5);
    sparkline_gauge(&example->series, METRIC_JOB_RSS, curve, 2);
    assert_true(fabs(sparkline_max(curve, 2) - 1200e6) < 1);
}

static void unknown_is_a_blank(void **state)
{
    const struct example *example = *state;
    const double curve[] = { 0, nan(""), 3.5, 7 };
    double nothing[3];
    struct buffer out = { 0 };

    sparkline_write(curve, 4, &out);
    assert_string_equal(out.text, "▁ ▅█");
    buffer_done(&out);
    sparkline_rate(&example->series, &example->summary, METRIC_JOB_OOM_KILLS, nothing, 3);
    assert_true(isnan(sparkline_max(nothing, 3)));
    sparkline_gauge(&example->series, METRIC_JOB_SWAP, nothing, 3);
    assert_true(isnan(sparkline_max(nothing, 3)));
}

static void nothing_but_zero_is_flat(void **state)
{
    static const double curve[] = { 0, 0 };
    struct buffer out = { 0 };

    (void)state;
    sparkline_write(curve, 2, &out);
    assert_string_equal(out.text, "▁▁");
    buffer_done(&out);
}

static void an_empty_run_has_no_curve(void **state)
{
    struct example *example = *state;
    double curve[3];

    example_forget(example);
    sparkline_rate(&example->series, &example->summary, METRIC_JOB_CPU, curve, 3);
    assert_true(isnan(sparkline_max(curve, 3)));
    sparkline_gauge(&example->series, METRIC_JOB_RSS, curve, 3);
    assert_true(isnan(sparkline_max(curve, 3)));
}

#define with_example(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        with_example(a_counter_grows_evenly_between_its_points),
        with_example(the_first_of_many_points_keeps_its_growth),
        with_example(a_gauge_keeps_its_value_and_its_peaks),
        with_example(unknown_is_a_blank),
        cmocka_unit_test(nothing_but_zero_is_flat),
        with_example(an_empty_run_has_no_curve),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
