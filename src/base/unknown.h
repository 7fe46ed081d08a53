/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unknown.h - the value of a raw figure that was not measured.
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

static inline uint64_t known_or_0(uint64_t value)
{
    return is_known(value) ? value : 0;
}

static inline uint64_t first_known(uint64_t first, uint64_t second)
{
    return is_known(first) ? first : second;
}

/* a - b, or 0 if b is larger; UNKNOWN if a or b is UNKNOWN. */
static inline uint64_t sub_known(uint64_t a, uint64_t b)
{
    if (!is_known(a) || !is_known(b))
        return UNKNOWN;
    return a > b ? a - b : 0;
}

/* Raises *value to `seen` if that is larger or *value is UNKNOWN. If `seen` is UNKNOWN,
 * changes nothing. */
static inline void raise_to(uint64_t *value, uint64_t seen)
{
    if (is_known(seen) && (!is_known(*value) || seen > *value))
        *value = seen;
}
