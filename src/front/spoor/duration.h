/* SPDX-License-Identifier: Apache-2.0 */
/* duration.h - times as people write them: 0.5, 500ms, 2m, 1h. */
#ifndef FRONT_SPOOR_DURATION_H
#define FRONT_SPOOR_DURATION_H

#include <stdint.h>

/* Reads a decimal number with a unit behind it: us, ms, s, m, h or d; none is
 * seconds. What is finer than a nanosecond is dropped. -EBADMSG: that is no time;
 * -ERANGE: it is negative or does not fit. */
int duration_parse(const char *text, uint64_t *ret_ns);

#endif
