/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "output/format.h"
#include "unit_test.h"

static double seconds[] = { 0, 1, 2, 4, 5.00004 };
static float high[] = { (float)NAN, 1, 5, 2, 12345678 };
static float low[] = { (float)NAN, 1, 3, 0, 12345678 };
static float mean[] = { (float)NAN, 1, 4, 1, 12345678 };
static struct curve_column columns[] = {
    { "job_cpu_seconds", true, high, low, mean },
    { "job_rss_bytes", false, high, high, high },
};
static const struct record_curve curve = { 9, 5, seconds, columns, 2 };

TEST(merged_points_keep_extremes_and_the_time_weighted_mean)
{
    struct curve_value value = curve_get(&curve, &columns[0], 1, 4);

    assert_true(fabs(value.high - 5) < 1e-9);
    assert_true(fabs(value.low) < 1e-9);
    assert_true(fabs(value.mean - (1 + 4 + 2 * 1) / 4.0) < 1e-9);
    assert_true(isnan(curve_get(&curve, &columns[0], 0, 1).mean));
    assert_true(fabs(curve_get(&curve, &columns[0], 0, 2).mean - 1) < 1e-9);
}

TEST(a_reduced_curve_has_at_most_the_maximum_number_of_points)
{
    assert_int_equal(curve_step(&curve, 5), 1);
    assert_int_equal(curve_step(&curve, 4), 2);
    assert_int_equal(curve_step(&curve, 1), 5);
    assert_int_equal(curve_step(&(struct record_curve){ 0 }, 256), 1);
}

static void assert_json(const struct record_curve *from, size_t max_points,
                        const char *expected)
{
    struct buffer out = { 0 };
    struct json_writer json = { .out = &out, .style = &json_compact };

    json_begin(&json, NULL, '{');
    curve_add_json(&json, from, max_points);
    json_end(&json);
    assert_string_equal(out.text, expected);
    buffer_done(&out);
}

/* "low" and "mean" are omitted if they are equal to "high". */
TEST(json_has_four_digits_and_no_duplicates)
{
    assert_json(&curve, 5,
                "{\"curve\":{\"samples\":9,\"seconds\":[0,1,2,4,5],\"columns\":{"
                "\"job_cpu_seconds\":{\"kind\":\"rate\",\"high\":[null,1,5,2,1.235e7],"
                "\"low\":[null,1,3,0,1.235e7],\"mean\":[null,1,4,1,1.235e7]},"
                "\"job_rss_bytes\":{\"kind\":\"gauge\",\"high\":[null,1,5,2,1.235e7]}}}}");
    assert_json(
        &curve, 2,
        "{\"curve\":{\"samples\":9,\"seconds\":[2,5],\"columns\":{"
        "\"job_cpu_seconds\":{\"kind\":\"rate\",\"high\":[5,1.235e7],\"low\":[1,0],"
        "\"mean\":[2.5,4115000]},\"job_rss_bytes\":{\"kind\":\"gauge\",\"high\":[5,1.235e7],"
        "\"low\":[1,2],\"mean\":[3,4115000]}}}}");
    assert_json(&(struct record_curve){ 0 }, 5, "{\"curve\":null}");
}
