/* SPDX-License-Identifier: Apache-2.0 */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>

#include "base/compiler.h"
#include "runs/statistics.h"
#include "unit_test.h"

enum { VALUES_MAX = 5000 };

/* ---- values that scipy computed (statistics_cases.py) -------------------- */

static json_t *load_cases(const char *name, json_t **ret_all)
{
    json_t *cases;

    *ret_all = json_load_file(STATISTICS_CASES, 0, NULL);
    cases = json_object_get(*ret_all, name);
    assert_true(json_array_size(cases) > 0);
    return cases;
}

static size_t read_values(const json_t *row, const char *name, double *ret)
{
    const json_t *values = json_object_get(row, name), *value;
    size_t i;

    assert_true(json_array_size(values) <= VALUES_MAX);
    json_array_foreach(values, i, value) ret[i] = json_number_value(value);
    return json_array_size(values);
}

/* Compares a value with the row. In the row, null means unknown; values missing from the row
 * are not compared. */
static void assert_value(const json_t *row, const char *name, double value)
{
    const json_t *expected = json_object_get(row, name);
    double number = json_number_value(expected);

    if (json_is_null(expected))
        assert_true(isnan(value));
    else if (expected && !(fabs(value - number) <= 1e-9 * (fabs(number) + 1e-6)))
        fail_msg("%s is %.12g instead of %.12g", name, value, number);
}

TEST(statistics_equal_the_results_of_scipy)
{
    double values[VALUES_MAX];
    json_t *all, *cases, *row;
    size_t i;

    cases = load_cases("sets", &all);
    json_array_foreach(cases, i, row)
    {
        size_t count = read_values(row, "values", values);
        struct statistics statistics;

        statistics_of(values, count, &statistics);
        assert_int_equal(statistics.count, count);
        assert_value(row, "min", statistics.min);
        assert_value(row, "max", statistics.max);
        assert_value(row, "mean", statistics.mean);
        assert_value(row, "median", statistics.median);
        assert_value(row, "low", statistics.low);
        assert_value(row, "high", statistics.high);
        assert_value(row, "spread", statistics.spread);
        assert_value(row, "outliers", (double)statistics.outliers);
    }
    json_decref(all);
}

TEST(comparisons_equal_the_results_of_scipy)
{
    double a[VALUES_MAX], b[VALUES_MAX];
    json_t *all, *cases, *row;
    size_t i;

    cases = load_cases("pairs", &all);
    json_array_foreach(cases, i, row)
    {
        size_t a_count = read_values(row, "a", a), b_count = read_values(row, "b", b);
        struct comparison comparison;

        assert_int_equal(statistics_compare(a, a_count, b, b_count, &comparison), 0);
        assert_value(row, "p", comparison.p);
        assert_value(row, "ratio", comparison.ratio);
        assert_value(row, "low", comparison.low);
        assert_value(row, "high", comparison.high);
        assert_int_equal(comparison.is_significant, comparison.p < 0.05);
    }
    json_decref(all);
}

TEST(without_values_there_are_no_statistics)
{
    struct statistics statistics;
    struct comparison comparison;
    double one = 1;

    statistics_of(&one, 0, &statistics);
    assert_int_equal(statistics.count, 0);
    assert_true(isnan(statistics.median) && isnan(statistics.min) && isnan(statistics.low));
    assert_int_equal(statistics_compare(&one, 1, &one, 0, &comparison), 0);
    assert_true(isnan(comparison.p) && isnan(comparison.ratio) && !comparison.is_significant);
}

TEST(a_quantile_is_the_value_at_the_nearest_rank)
{
    static const double values[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 };
    static const struct {
        double quantile, expected;
    } rows[] = { { 0, 1 },   { 0.05, 1 }, { 0.1, 1 },   { 0.11, 2 },
                 { 0.5, 5 }, { 0.9, 9 },  { 0.95, 10 }, { 1, 10 } };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        assert_true(fabs(statistics_quantile(values, 10, rows[i].quantile) - rows[i].expected) <
                    1e-12);
    assert_true(isnan(statistics_quantile(values, 0, 0.5)));
}

/* ---- known distributions -------------------------------------------------- */

/* xorshift64*, which returns the same numbers on every machine. */
struct generator {
    uint64_t state;
};

static double next_uniform(struct generator *generator)
{
    generator->state ^= generator->state >> 12;
    generator->state ^= generator->state << 25;
    generator->state ^= generator->state >> 27;
    return ((double)((generator->state * 0x2545F4914F6CDD1DU) >> 11) + 0.5) / 0x1p53;
}

static double next_normal(struct generator *generator)
{
    double radius = sqrt(-2 * log(next_uniform(generator)));

    return radius * cos(2 * acos(-1) * next_uniform(generator));
}

/* The median of all three distributions is 100. */
static double normal_value(struct generator *generator)
{
    return 100 + 3 * next_normal(generator);
}

static double skewed_value(struct generator *generator)
{
    return 100 * exp(0.3 * next_normal(generator));
}

static double tied_value(struct generator *generator)
{
    return 5 * rint(normal_value(generator) / 5);
}

static double (*const distributions[])(struct generator *generator) = {
    normal_value,
    skewed_value,
    tied_value,
};

static void draw(struct generator *generator, double (*next)(struct generator *generator),
                 double *ret, size_t count, struct statistics *ret_statistics)
{
    for (size_t i = 0; i < count; i++)
        ret[i] = next(generator);
    statistics_of(ret, count, ret_statistics);
}

enum { PAIRS = 1000 };
/* Allows 5 % of the pairs, plus 3 standard deviations of the binomial distribution. */
#define ALARMS_MOST (0.05 * PAIRS + 3 * sqrt(PAIRS * 0.05 * 0.95))

TEST(equal_distributions_are_reported_as_different_in_less_than_5_percent)
{
    static const size_t counts[][2] = { { 5, 5 }, { 10, 10 }, { 20, 10 }, { 51, 50 } };
    struct generator generator = { 26 };
    double a[60], b[60];

    for (size_t k = 0; k < ARRAY_SIZE(distributions) * ARRAY_SIZE(counts); k++) {
        const size_t *count = counts[k % ARRAY_SIZE(counts)];
        size_t alarms = 0;

        for (size_t i = 0; i < PAIRS; i++) {
            struct statistics ignored;
            struct comparison comparison;

            draw(&generator, distributions[k / ARRAY_SIZE(counts)], a, count[0], &ignored);
            draw(&generator, distributions[k / ARRAY_SIZE(counts)], b, count[1], &ignored);
            assert_int_equal(statistics_compare(a, count[0], b, count[1], &comparison), 0);
            alarms += comparison.is_significant;
        }
        if ((double)alarms > ALARMS_MOST)
            fail_msg("case %zu: %zu false alarms", k, alarms);
    }
}

TEST(intervals_contain_the_true_values)
{
    static const size_t counts[] = { 6, 10, 20 };
    struct generator generator = { 27 };
    double a[20], b[20];

    for (size_t k = 0; k < ARRAY_SIZE(distributions) * ARRAY_SIZE(counts); k++) {
        double (*next)(struct generator *) = distributions[k / ARRAY_SIZE(counts)];
        size_t count = counts[k % ARRAY_SIZE(counts)], medians = 0, ratios = 0;

        for (size_t i = 0; i < PAIRS; i++) {
            struct statistics one, other;
            struct comparison comparison;

            draw(&generator, next, a, count, &one);
            draw(&generator, next, b, count, &other);
            for (size_t n = 0; n < count; n++)
                b[n] *= 2;
            assert_int_equal(statistics_compare(a, count, b, count, &comparison), 0);
            medians += one.low <= 100 && one.high >= 100;
            ratios += comparison.low <= 2 && comparison.high >= 2;
        }
        if ((double)medians < 0.93 * PAIRS || (double)ratios < 0.93 * PAIRS)
            fail_msg("case %zu: %zu medians, %zu ratios", k, medians, ratios);
    }
}

TEST(a_difference_is_found)
{
    struct generator generator = { 28 };
    double a[10], b[10];
    size_t found = 0;

    for (size_t i = 0; i < PAIRS; i++) {
        struct statistics ignored;
        struct comparison comparison;

        draw(&generator, normal_value, a, 10, &ignored);
        draw(&generator, normal_value, b, 10, &ignored);
        for (size_t n = 0; n < 10; n++)
            b[n] *= 1.1; /* 3.3 standard deviations */
        assert_int_equal(statistics_compare(a, 10, b, 10, &comparison), 0);
        found += comparison.is_significant && comparison.ratio > 1;
    }
    assert_true((double)found >= 0.99 * PAIRS);
}

/* Compares each run with the 20 before it, as `spoor check` does. */
TEST(a_run_similar_to_the_last_20_is_within_the_tolerance)
{
    enum { EARLIER = 20, RUNS = 200, REPEATS = 100 };
    struct generator generator = { 29 };
    double values[EARLIER + RUNS], earlier[EARLIER];
    size_t first = 0, alarms = 0;

    for (size_t repeat = 0; repeat < REPEATS; repeat++) {
        for (size_t i = 0; i < ARRAY_SIZE(values); i++)
            values[i] = normal_value(&generator);
        for (size_t i = EARLIER; i < ARRAY_SIZE(values); i++) {
            struct statistics statistics;

            for (size_t k = 0; k < EARLIER; k++)
                earlier[k] = values[i - EARLIER + k];
            statistics_of(earlier, EARLIER, &statistics);
            alarms += fabs(values[i] - statistics.median) > statistics_tolerance(&statistics);
        }
        first = repeat == 0 ? alarms : first;
    }
    assert_true(first <= 2);
    assert_true(alarms <= REPEATS * RUNS / 100);
}

TEST(the_tolerance_for_equal_runs_is_two_percent)
{
    double values[20];
    struct statistics statistics;

    for (size_t i = 0; i < ARRAY_SIZE(values); i++)
        values[i] = 50;
    statistics_of(values, ARRAY_SIZE(values), &statistics);
    assert_true(fabs(statistics_tolerance(&statistics) - 1) < 1e-12);
    assert_int_equal(statistics.outliers, 0);
}

/* The values are too many for all pairs to be compared. */
TEST(the_ratio_of_many_values_is_nearly_exact)
{
    static double a[VALUES_MAX], b[VALUES_MAX];
    struct generator generator = { 30 };
    struct statistics ignored;
    struct comparison comparison;

    draw(&generator, skewed_value, a, VALUES_MAX, &ignored);
    draw(&generator, skewed_value, b, VALUES_MAX, &ignored);
    for (size_t i = 0; i < VALUES_MAX; i++)
        b[i] *= 1.5;
    assert_int_equal(statistics_compare(a, VALUES_MAX, b, VALUES_MAX, &comparison), 0);
    assert_true(comparison.is_significant);
    assert_true(comparison.low < 1.5 && comparison.high > 1.5);
    assert_true(fabs(comparison.ratio - 1.5) < 0.03);
}
