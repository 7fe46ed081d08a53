/* SPDX-License-Identifier: Apache-2.0 */
/* arithmetic.h - the larger, the smaller and the difference of two amounts that cannot be below 0. */
#ifndef BASE_ARITHMETIC_H
#define BASE_ARITHMETIC_H

#include <stdint.h>

static inline uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static inline uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* a - b, or 0. */
static inline uint64_t less(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

static inline uint64_t apart(uint64_t a, uint64_t b)
{
    return a > b ? a - b : b - a;
}

#endif
