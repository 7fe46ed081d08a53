/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above */
#include <cmocka.h>
#include <math.h>

#include "output/sparkline.h"

static void assert_curve(const double *curve, const double *expected, size_t columns)
{
    for (size_t i = 0; i < columns; i++)
        assert_true(fabs(curve[i] - expected[i]) < 1e-6);
}

static double seconds[] = { 0, 1, 2, 3, 4, 5 };
static float cores[] = { (float)NAN, 0.5f, 3, 3.5f, 2.95f, 0.05f };
static float bytes[] = { 2e6f, 100e6f, 800e6f, 1200e6f, 750e6f, 0 };
static struct curve_column columns_of_run[] = {
    { "job_cpu_seconds", true, cores, cores, cores },
    { "job_rss_bytes", false, bytes, bytes, bytes },
};
static const struct record run = {
    .elapsed_seconds = 5,
    .curve = { .samples = 6,
               .count = 6,
               .seconds = seconds,
               .columns = columns_of_run,
               .column_count = 2 },
};

static void a_rate_is_the_same_all_the_time_that_its_point_covers(void **state)
{
    static const double by_second[] = { 0.5, 3, 3.5, 2.95, 0.05 };
    static const double halves[] = { 0.5, 0.5, 3, 3, 3.5, 3.5, 2.95, 2.95, 0.05, 0.05 };
    double curve[10];

    (void)state;
    sparkline_cpu(&run, curve, 5);
    assert_curve(curve, by_second, 5);
    sparkline_cpu(&run, curve, 10);
    assert_curve(curve, halves, 10);
    sparkline_cpu(&run, curve, 1);
    assert_true(fabs(curve[0] - 2) < 1e-6); /* the mean */
}

/* As in the charts: not from the end of the point on. */
static void a_gauge_is_drawn_over_the_time_of_its_point(void **state)
{
    static const double expected[] = { 100e6, 800e6, 1200e6, 750e6, 0 };
    double curve[5];

    (void)state;
    sparkline_memory(&run, curve, 5);
    assert_curve(curve, expected, 5);
    sparkline_memory(&run, curve, 2);
    assert_true(fabs(sparkline_max(curve, 2) - 1200e6) < 1);
}

static void unknown_is_a_blank(void **state)
{
    const double curve[] = { 0, nan(""), 3.5, 7 };
    float unknown[] = { (float)NAN, (float)NAN };
    struct curve_column column[] = { { "job_cpu_seconds", true, unknown, unknown, unknown },
                                     { "job_rss_bytes", false, unknown, unknown, unknown } };
    const struct record nothing = {
        .elapsed_seconds = 5,
        .curve = { .count = 2, .seconds = seconds, .columns = column, .column_count = 2 },
    };
    double none[3];
    struct buffer out = { 0 };

    (void)state;
    sparkline_write(curve, 4, true, &out);
    assert_string_equal(out.text, "▁ ▅█");
    buffer_done(&out);
    sparkline_cpu(&nothing, none, 3);
    assert_true(isnan(sparkline_max(none, 3)));
    sparkline_memory(&nothing, none, 3);
    assert_true(isnan(sparkline_max(none, 3)));
}

/* As when the source of the CPU time answered late, or a point did not get it. */
static void a_rate_that_is_not_always_known_is_drawn_where_it_is(void **state)
{
    float gaps[] = { (float)NAN, (float)NAN, 2, 2 };
    struct curve_column column = { "job_cpu_seconds", true, gaps, gaps, gaps };
    const struct record late = {
        .elapsed_seconds = 4,
        .curve = { .count = 4, .seconds = seconds, .columns = &column, .column_count = 1 },
    };
    double curve[4];

    (void)state;
    sparkline_cpu(&late, curve, 4);
    assert_true(isnan(curve[0]));
    assert_true(fabs(curve[1] - 2) < 1e-6 && fabs(curve[2] - 2) < 1e-6);
    assert_true(isnan(curve[3]));
}

static void nothing_but_zero_is_flat(void **state)
{
    static const double curve[] = { 0, 0 };
    struct buffer out = { 0 };

    (void)state;
    sparkline_write(curve, 2, true, &out);
    assert_string_equal(out.text, "▁▁");
    buffer_done(&out);
}

static void an_empty_run_has_no_curve(void **state)
{
    const struct record empty = { .elapsed_seconds = nan("") };
    double curve[3];

    (void)state;
    sparkline_cpu(&empty, curve, 3);
    assert_true(isnan(sparkline_max(curve, 3)));
    sparkline_memory(&empty, curve, 3);
    assert_true(isnan(sparkline_max(curve, 3)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rate_is_the_same_all_the_time_that_its_point_covers),
        cmocka_unit_test(a_gauge_is_drawn_over_the_time_of_its_point),
        cmocka_unit_test(unknown_is_a_blank),
        cmocka_unit_test(a_rate_that_is_not_always_known_is_drawn_where_it_is),
        cmocka_unit_test(nothing_but_zero_is_flat),
        cmocka_unit_test(an_empty_run_has_no_curve),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
