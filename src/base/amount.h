/* SPDX-License-Identifier: Apache-2.0 */
/*
 * amount.h - unsigned amounts, one value of which means "not measured".
 *
 * Raw figures are uint64_t, in kernel units or in nanoseconds and bytes. UNKNOWN means "not
 * measured"; it is never written as 0. In derived figures, which are double, NaN means the
 * same.
 */
#pragma once

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define UNKNOWN UINT64_MAX

static inline bool is_known(uint64_t value)
{
    return value != UNKNOWN;
}

/* Returns the raw figure at an offset of a struct. */
static inline uint64_t raw_at(const void *figures, size_t offset)
{
    uint64_t value;

    memcpy(&value, (const char *)figures + offset, sizeof(value));
    return value;
}

/* Converts a raw value to a derived one: UNKNOWN becomes NaN. */
static inline double as_number(uint64_t value)
{
    return is_known(value) ? (double)value : (double)NAN;
}

static inline uint64_t first_known(uint64_t first, uint64_t second)
{
    return is_known(first) ? first : second;
}

static inline uint64_t known_or_0(uint64_t value)
{
    return first_known(value, 0);
}

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

/* The same; UNKNOWN if a or b is UNKNOWN. */
static inline uint64_t sub_known(uint64_t a, uint64_t b)
{
    return is_known(a) && is_known(b) ? sub_floor0(a, b) : UNKNOWN;
}

static inline uint64_t abs_diff(uint64_t a, uint64_t b)
{
    return a > b ? a - b : b - a;
}

/* Return a + b and a * b; UNKNOWN if either operand is UNKNOWN or the result overflows. */
static inline uint64_t sum_u64(uint64_t a, uint64_t b)
{
    uint64_t sum;

    return is_known(a) && is_known(b) && !__builtin_add_overflow(a, b, &sum) ? sum : UNKNOWN;
}

static inline uint64_t product_u64(uint64_t a, uint64_t b)
{
    uint64_t product;

    return is_known(a) && is_known(b) && !__builtin_mul_overflow(a, b, &product) ? product
                                                                                 : UNKNOWN;
}

/* Raises *value to `seen` if that is larger or *value is UNKNOWN. If `seen` is UNKNOWN,
 * changes nothing. */
static inline void raise_to(uint64_t *value, uint64_t seen)
{
    if (is_known(seen) && (!is_known(*value) || seen > *value))
        *value = seen;
}

/* Returns a running mean in which the latest value has a weight of 1/8. `mean` 0: no value
 * yet. */
static inline uint64_t smoothed(uint64_t mean, uint64_t latest)
{
    return mean == 0 ? latest : (7 * mean + latest) / 8;
}

/* Compare two values: negative, 0 or positive. */
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
