/* SPDX-License-Identifier: Apache-2.0 */
/* arithmetic.h - saturating arithmetic and comparison of unsigned amounts. */
#pragma once

#include <stdint.h>

static inline uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static inline uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* a - b, or 0 if b is larger. */
static inline uint64_t sub_floor0(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

static inline uint64_t abs_diff(uint64_t a, uint64_t b)
{
    return a > b ? a - b : b - a;
}

/* Compare two amounts: negative, 0 or positive. */
static inline int compare_u64(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static inline int compare_numbers(double a, double b)
{
    return (a > b) - (a < b);
}

/* Compares two doubles, for qsort(). */
static inline int compare_doubles(const void *a, const void *b)
{
    return compare_numbers(*(const double *)a, *(const double *)b);
}

/* Returns a running mean in which the latest value has a weight of 1/8. `mean` 0: no value
 * yet. */
static inline uint64_t smoothed(uint64_t mean, uint64_t latest)
{
    return mean == 0 ? latest : (7 * mean + latest) / 8;
}

/* Return a + b and a * b; UINT64_MAX (UNKNOWN) if either operand is UINT64_MAX or the result
 * overflows. */
static inline uint64_t sum_u64(uint64_t a, uint64_t b)
{
    uint64_t sum;

    return a == UINT64_MAX || b == UINT64_MAX || __builtin_add_overflow(a, b, &sum) ? UINT64_MAX
                                                                                    : sum;
}

static inline uint64_t product_u64(uint64_t a, uint64_t b)
{
    uint64_t product;

    return a == UINT64_MAX || b == UINT64_MAX || __builtin_mul_overflow(a, b, &product)
               ? UINT64_MAX
               : product;
}
