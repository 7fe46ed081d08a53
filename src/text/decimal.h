/* SPDX-License-Identifier: Apache-2.0 */
/*
 * decimal.h - a double as the shortest decimal that reads back as the same double, and back.
 *
 * None of it depends on the locale of the program we are part of.
 */
#ifndef TEXT_DECIMAL_H
#define TEXT_DECIMAL_H

/* `text` of the result lives until the end of the full expression:
 *
 *     fputs(decimal_float(value).text, out);
 */
struct decimal_text {
    char text[32];
};

/* As JSON allows it: 0.1, 1462000000, 1e-07. Empty where the value is not finite. */
struct decimal_text decimal_number(double value);

/* As Python writes a float: 0.1, 1462000000.0, 1e-07, 1e+16, nan, inf. */
struct decimal_text decimal_float(double value);

/* With so many decimals (at most 9), rounded to the nearest, and if there are two to the even one:
 * 0.50, -1.25. The text is empty if the value is not finite, or 10^15 or more. */
struct decimal_text decimal_fixed(double value, int decimals);

/* The double nearest to that: what Python's round() gives. The value itself if there is no such
 * text. */
double decimal_round(double value, int decimals);

/* A whole text that is one number: as above, with or without sign and exponent. "nan" and
 * "inf" are none. Returns 0, or -EBADMSG. */
int decimal_parse(const char *text, double *ret);

#endif
