/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rounded.h - numbers with four significant digits, for long lists of measured values: no more than
 * 0.05 % off, and written fast. What was read back from such a text is written the same again.
 */
#ifndef TEXT_ROUNDED_H
#define TEXT_ROUNDED_H

#include <stdbool.h>

#include "text/buffer.h"

/* As JSON allows it: 0, 0.1235, 12.35, 1.235e9. Nothing if the value is not finite. */
void rounded_write(double value, struct buffer *out);

/* Are both written the same? Also if both are NaN. */
bool rounded_equal(double a, double b);

#endif
