/* SPDX-License-Identifier: Apache-2.0 */
/* number.h - converts numbers to text, and back. Nothing here depends on the locale of the
 * program. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "text/buffer.h"

/* Converts a double to the shortest decimal that reads back as the same double, and back. */

/* `text` of the result lives until the end of the full expression:
 *
 *     fputs(decimal_float(value).text, out);
 */
struct decimal_text {
    char text[32];
};

/* Formats as JSON does: 0.1, 1462000000, 1e-07. Empty if the value is not finite. */
struct decimal_text decimal_number(double value);

/* Formats as Python writes a float: 0.1, 1462000000.0, 1e-07, 1e+16, nan, inf. */
struct decimal_text decimal_float(double value);

/* Formats with `decimals` decimals (at most 9), rounded half to even: 0.50, -1.25. The text is
 * empty if the value is not finite, or 10^15 or more. */
struct decimal_text decimal_fixed(double value, int decimals);

/* Rounds to `decimals` decimals, like Python's round(). Returns the value itself if it is not
 * finite, or 10^15 or more. */
double decimal_round(double value, int decimals);

/* Parses a text that is one decimal number, with or without sign and exponent. "nan" and "inf"
 * are rejected. Returns 0, or -EBADMSG. */
int decimal_parse(const char *text, double *ret);

/* Numbers as text: all digits for machines, three for people. */

/* Writes the shortest decimal that reads back as the same double, in the syntax of JSON:
 * 0.1, 1462000000, 1e-07. Writes nothing if the value is not finite. */
void number_write(double value, struct buffer *out);

void number_write_u64(uint64_t value, struct buffer *out);

/* Writes nanoseconds as seconds, with nine decimals less trailing zeros, but at least
 * `decimals`. */
void number_write_seconds(uint64_t nanoseconds, unsigned decimals, struct buffer *out);

/* A number for people to read. `text` of the result lives until the end of the full expression:
 *
 * buffer_add_text(out, number_bytes(value).text);
 *
 * NaN is "n/a". */
struct number {
    char text[32];
};

struct number number_bytes(double bytes);           /* "0 B", "512 B", "1.46 GB" (10^9) */
struct number number_rate(double bytes_per_second); /* "1.46 MB/s" */
struct number number_duration(double seconds);      /* "41 ms", "12.3 s", "4 min 05 s" */
struct number number_energy(double joules);         /* "0.5 J", "499 J", "1.25 kJ" */
struct number number_percent(double fraction);      /* fraction of 1: "0.3 %", "68 %" */
struct number number_short(double value);           /* "3.35", "12.0", "128" */
struct number number_count(double value);           /* "12" */
struct number number_memory_step(double bytes);     /* "512 MiB", "7 GiB": whole numbers */
/* Formats "300 MiB" if the size is a round number, otherwise "1.46 GB". */
struct number number_limit(double bytes);
struct number number_time_step(double seconds); /* "7 min", "2 h 24 min" */

/* Numbers with four significant digits, for long lists of measured values: at most 0.05 %
 * off, and written fast. A number read back from such a text is written the same again. */

/* Writes in the syntax of JSON: 0, 0.1235, 12.35, 1.235e9. Writes nothing if the value is
 * not finite. */
void rounded_write(double value, struct buffer *out);

/* Returns the number that rounded_write() writes for a value. */
double rounded_value(double value);

/* Whether rounded_write() writes both the same, or both are NaN. */
bool rounded_equal(double a, double b);

/* ---- Numbers of large tables, read fast: a few parts in 10^16 may be lost --- */

/* Reads a number such as "-12.5e3" and moves the cursor past it. 0, or -EBADMSG: not a
 * number. */
int number_read(const char **cursor, double *ret);

/* ---- durations ---------------------------------------------------------- */

/* Reads a decimal number with a unit: us, ms, s, m (or min), h or d; without a unit,
 * seconds. Fractions of a nanosecond are dropped. -EBADMSG: not a time; -ERANGE: negative
 * or too large. */
int duration_parse(const char *text, uint64_t *ret_ns);
