/* SPDX-License-Identifier: Apache-2.0 */
/*
 * number.h - numbers as text: all digits for machines, three for people.
 *
 * None of it depends on the locale of the program we are part of.
 */
#ifndef TEXT_NUMBER_H
#define TEXT_NUMBER_H

#include <stdint.h>

#include "text/buffer.h"

/* The shortest decimal that reads back as the same double, as JSON allows it: 0.1,
 * 1462000000, 1e-07. Nothing where the value is not finite. */
void number_write(double value, struct buffer *out);

void number_write_u64(uint64_t value, struct buffer *out);

/* Nanoseconds as seconds, all nine digits but for zeros at the end; `decimals` of
 * them at least. */
void number_write_seconds(uint64_t nanoseconds, unsigned decimals, struct buffer *out);

/* For people. `text` of the result lives until the end of the full expression:
 *
 *     buffer_add_text(out, number_bytes(value).text);
 *
 * NaN is "n/a". */
struct number {
    char text[32];
};

struct number number_bytes(double bytes);      /* "0 B", "512 B", "1.46 GB" (10^9) */
struct number number_duration(double seconds); /* "41 ms", "12.3 s", "4 min 05 s" */
struct number number_energy(double joules);    /* "0.5 J", "499 J", "1.25 kJ" */
struct number number_percent(double fraction); /* of 1: "0.3 %", "68 %" */
struct number number_short(double value);      /* "3.35", "12.0", "128" */
struct number number_count(double value);      /* "12" */

#endif
