/* SPDX-License-Identifier: Apache-2.0 */
#include "runs/statistics.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/amount.h"
#include "base/cleanup.h"

#define SIGNIFICANT 0.05
#define NORMAL_PER_MAD 1.4826 /* for a normal distribution */

enum { EXACT_PAIRS = 2500 }; /* the rank test is exact for up to this many pairs */

static void sort(double *values, size_t count)
{
    if (count > 0)
        qsort(values, count, sizeof(*values), compare_doubles);
}

static double median_of(const double *sorted, size_t count)
{
    return count % 2 ? sorted[count / 2] : sorted[count / 2 - 1] / 2 + sorted[count / 2] / 2;
}

/* ---- one set ------------------------------------------------------------ */

/* Returns the rank r, from 1, such that the median is with 95 % probability between the r-th
 * smallest and the r-th largest value. (The number of values below the median is binomial.) 0:
 * there are too few values; even their whole range is not enough. */
static size_t interval_rank(size_t count)
{
    double n = (double)count, first = fmax(0, floor(n / 2 - 5 * sqrt(n))); /* lower are rare */
    /* Probability of exactly `rank` values below the median. */
    double probability =
        exp(lgamma(n + 1) - lgamma(first + 1) - lgamma(n - first + 1) - n * log(2));
    double below = 0;
    size_t rank = (size_t)first;

    for (; rank < count / 2; rank++) {
        below += probability;
        if (2 * below > SIGNIFICANT)
            return rank;
        probability *= (n - (double)rank) / ((double)rank + 1);
    }
    return rank;
}

/* Returns the median of the absolute deviations. The values are sorted, so the smallest
 * deviations are in the middle: the search goes outwards from there until half of the values
 * are covered. */
static double median_deviation(const double *sorted, size_t count, double median)
{
    size_t below = count / 2,
           above = count / 2; /* next are sorted[below - 1] and sorted[above] */
    double deviation = 0, before = 0;

    for (size_t i = 0; i <= count / 2; i++) {
        before = deviation;
        if (below == 0 ||
            (above < count && sorted[above] - median < median - sorted[below - 1]))
            deviation = sorted[above++] - median;
        else
            deviation = median - sorted[--below];
    }
    return count % 2 ? deviation : before / 2 + deviation / 2;
}

void statistics_of(double *values, size_t count, struct statistics *ret)
{
    const double unknown = (double)NAN;
    size_t rank = interval_rank(count);

    *ret = (struct statistics){ count,   unknown, unknown, unknown, unknown,
                                unknown, unknown, unknown, 0 };
    if (count == 0)
        return;
    sort(values, count);
    ret->min = values[0];
    ret->max = values[count - 1];
    ret->mean = 0;
    for (size_t i = 0; i < count; i++)
        ret->mean += values[i] / (double)count;
    ret->median = median_of(values, count);
    ret->spread = NORMAL_PER_MAD * median_deviation(values, count, ret->median);
    if (rank > 0) {
        ret->low = values[rank - 1];
        ret->high = values[count - rank];
    }
    for (size_t i = 0; i < count; i++)
        ret->outliers += fabs(values[i] - ret->median) > statistics_tolerance(ret);
}

double statistics_quantile(const double *sorted, size_t count, double quantile)
{
    double rank = ceil(quantile * (double)count);

    if (count == 0)
        return (double)NAN;
    return sorted[rank < 1 ? 0 : rank > (double)count ? count - 1 : (size_t)rank - 1];
}

double statistics_tolerance(const struct statistics *statistics)
{
    return OUTLIER_SPREADS *
           fmax(statistics->spread, STATISTICS_SHARE_MIN * fabs(statistics->median));
}

/* ---- two sets ----------------------------------------------------------- */

/* Counts the pairs (a, b) in which b is larger; equal pairs count half. *ret_ties is the sum
 * of t^3 - t over all groups of t equal values. */
static double count_larger(const double *a, size_t a_count, const double *b, size_t b_count,
                           double *ret_ties)
{
    size_t i = 0, k = 0;
    double larger = 0;

    *ret_ties = 0;
    while (i < a_count || k < b_count) {
        double value = k == b_count || (i < a_count && a[i] < b[k]) ? a[i] : b[k];
        size_t a_start = i, b_start = k;
        double a_equal, b_equal, equal;

        while (i < a_count && !(a[i] > value))
            i++;
        while (k < b_count && !(b[k] > value))
            k++;
        a_equal = (double)(i - a_start);
        b_equal = (double)(k - b_start);
        equal = a_equal + b_equal;
        larger += b_equal * ((double)a_start + a_equal / 2);
        *ret_ties += equal * equal * equal - equal;
    }
    return larger;
}

/* Returns the share of all orders of n and m values in which b is larger in at most `most`
 * pairs. The number of orders with exactly u such pairs is the coefficient of x^u in the
 * product of (1 - x^(m+i)) / (1 - x^i), i = 1..n. */
static double share_of_orders(size_t n, size_t m, size_t most, double *coefficients)
{
    double orders = 1, sum = 0;

    for (size_t u = 0; u <= most; u++)
        coefficients[u] = u == 0;
    for (size_t i = 1; i <= n; i++) {
        for (size_t u = most; u >= m + i; u--)
            coefficients[u] -= coefficients[u - m - i];
        for (size_t u = i; u <= most; u++)
            coefficients[u] += coefficients[u - i];
        orders *= (double)(m + i) / (double)i;
    }
    for (size_t u = 0; u <= most; u++)
        sum += coefficients[u];
    return sum / orders;
}

/* Computes the p-value from the smaller of the two counts of pairs. With ties, the exact
 * test is conservative: half a pair is rounded up to one. */
static int rank_test(size_t n, size_t m, double larger, double ties, double *ret)
{
    double pairs = (double)n * (double)m, total = (double)(n + m);
    double smaller = fmin(larger, pairs - larger);
    double variance = pairs / 12 * (total + 1 - ties / (total * (total - 1)));
    AUTO_FREE double *coefficients = NULL;

    if (pairs > EXACT_PAIRS) {
        *ret = variance > 0 ? erfc(fmax(pairs / 2 - smaller - 0.5, 0) / sqrt(2 * variance)) : 1;
        return 0;
    }
    coefficients = calloc((size_t)ceil(smaller) + 1, sizeof(*coefficients));
    if (!coefficients)
        return -ENOMEM;
    *ret = fmin(1, 2 * share_of_orders(n, m, (size_t)ceil(smaller), coefficients));
    return 0;
}

/* Sets *ret to the number of smallest ratios outside the 95 % interval: the largest number of
 * pairs that is significant. -1: no number of pairs is significant. */
static int count_outside(size_t n, size_t m, double *ret)
{
    double low = 0, high = (double)n * (double)m / 2;
    double p;
    int r = rank_test(n, m, 0, 0, &p);

    *ret = -1;
    if (r < 0 || p >= SIGNIFICANT)
        return r;
    while (high - low > 1) { /* low is significant, high is not */
        double middle = floor((low + high) / 2);

        r = rank_test(n, m, middle, 0, &p);
        if (r < 0)
            return r;
        if (p < SIGNIFICANT)
            low = middle;
        else
            high = middle;
    }
    *ret = low;
    return 0;
}

static double at_equal_rank(const double *sorted, size_t count, size_t i, size_t kept)
{
    return kept == count ? sorted[i] : sorted[(i * 2 + 1) * count / (kept * 2)];
}

static size_t fewer(size_t count)
{
    return count < STATISTICS_PAIRED_MAX ? count : STATISTICS_PAIRED_MAX;
}

static int estimate_ratio(const double *a, size_t a_count, const double *b, size_t b_count,
                          struct comparison *ret)
{
    size_t n = fewer(a_count), m = fewer(b_count), pairs = n * m;
    AUTO_FREE double *ratios = NULL;
    double outside;
    int r;

    if (!(a[0] > 0) || !(b[0] > 0))
        return 0;
    ratios = calloc(pairs, sizeof(*ratios));
    if (!ratios)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < m; k++)
            ratios[i * m + k] =
                at_equal_rank(b, b_count, k, m) / at_equal_rank(a, a_count, i, n);
    }
    sort(ratios, pairs);
    ret->ratio = median_of(ratios, pairs);
    r = count_outside(n, m, &outside);
    if (r == 0 && outside >= 0) {
        ret->low = ratios[(size_t)outside];
        ret->high = ratios[pairs - 1 - (size_t)outside];
    }
    return r;
}

int statistics_compare(const double *a, size_t a_count, const double *b, size_t b_count,
                       struct comparison *ret)
{
    const double unknown = (double)NAN;
    double larger, ties, least;
    int r;

    *ret = (struct comparison){ unknown, unknown, unknown, unknown, false };
    if (a_count == 0 || b_count == 0)
        return 0;
    r = rank_test(a_count, b_count, 0, 0, &least);
    if (r == 0 && least < SIGNIFICANT) {
        larger = count_larger(a, a_count, b, b_count, &ties);
        r = rank_test(a_count, b_count, larger, ties, &ret->p);
        ret->is_significant = r == 0 && ret->p < SIGNIFICANT;
    }
    return r < 0 ? r : estimate_ratio(a, a_count, b, b_count, ret);
}
