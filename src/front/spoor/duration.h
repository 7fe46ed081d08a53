/* SPDX-License-Identifier: Apache-2.0 */
/* duration.h - times as people write them: 0.5, 500ms, 2m, 1h. */
#ifndef FRONT_SPOOR_DURATION_H
#define FRONT_SPOOR_DURATION_H

#include <stdint.h>

/* Reads a decimal number with a unit: us, ms, s, m, h or d; without one, seconds. Fractions
 * of a nanosecond are dropped. -EBADMSG: not a time; -ERANGE: negative or too large. */
int duration_parse(const char *text, uint64_t *ret_ns);

#endif
