/* SPDX-License-Identifier: Apache-2.0 */
#include "text/decimal.h"

#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A positive number as digits d.ddd x 10^exponent. */
struct digits {
    char digits[20]; /* without zeros at the end */
    int count;
    int exponent;
};

/* How a number is written, by its exponent: 10^-5 and 10^17 are the first to need one. */
struct style {
    int smallest_plain; /* exponents from here ... */
    int first_large;    /* ... to before here stand without an exponent */
    const char *whole;  /* follows a number without fraction or exponent */
};

/* 15 digits always survive a double, so whatever is shorter than 16 shows up among
 * the zeros at their end; 17 digits always tell two doubles apart. */
static struct digits shortest(double value)
{
    struct digits result = { .count = 0 };
    char text[40];
    const char *cursor;

    for (int precision = 15; precision <= 17; precision++) {
        double again;

        (void)snprintf(text, sizeof(text), "%.*e", precision - 1, value); /* fits */
        again = strtod(text, NULL);
        if (!(again < value) && !(again > value))
            break;
    }
    /* What stands between the digits is the locale's decimal point. */
    for (cursor = text; *cursor && *cursor != 'e'; cursor++) {
        if (*cursor >= '0' && *cursor <= '9')
            result.digits[result.count++] = *cursor;
    }
    while (result.count > 1 && result.digits[result.count - 1] == '0')
        result.count--;
    result.exponent = *cursor ? (int)strtol(cursor + 1, NULL, 10) : 0;
    return result;
}

static char *put(char *to, const char *from, size_t length)
{
    memcpy(to, from, length);
    return to + length;
}

static char *put_zeros(char *to, int count)
{
    while (count-- > 0)
        *to++ = '0';
    return to;
}

/* The digits with a decimal point behind the first `whole` of them. */
static char *put_digits(char *to, const struct digits *from, int whole, const char *ending)
{
    int before = whole < from->count ? whole : from->count;

    to = put(to, from->digits, (size_t)before);
    to = put_zeros(to, whole - before);
    if (from->count == before)
        return put(to, ending, strlen(ending));
    *to++ = '.';
    return put(to, from->digits + before, (size_t)(from->count - before));
}

/* At most 26 bytes: sign, 0.0000, 17 digits. */
static struct decimal_text write_finite(double value, const struct style *style)
{
    struct decimal_text result = { "" };
    char *to = result.text;
    struct digits digits = shortest(fabs(value));

    if (signbit(value))
        *to++ = '-';
    if (digits.exponent >= 0 && digits.exponent < style->first_large) {
        to = put_digits(to, &digits, digits.exponent + 1, style->whole);
    } else if (digits.exponent < 0 && digits.exponent >= style->smallest_plain) {
        to = put(to, "0.", 2);
        to = put_zeros(to, -digits.exponent - 1);
        to = put(to, digits.digits, (size_t)digits.count);
    } else {
        to = put_digits(to, &digits, 1, "");
        to += snprintf(to, 8, "e%+03d", digits.exponent); /* fits: e-308 */
    }
    *to = '\0';
    return result;
}

struct decimal_text decimal_number(double value)
{
    static const struct style json = { -5, 17, "" };

    if (!isfinite(value))
        return (struct decimal_text){ "" };
    /* Zero has no sign for a reader of JSON. */
    return write_finite(value < 0 || value > 0 ? value : 0, &json);
}

struct decimal_text decimal_float(double value)
{
    static const struct style python = { -4, 16, ".0" };

    if (isnan(value))
        return (struct decimal_text){ "nan" };
    if (isinf(value))
        return value < 0 ? (struct decimal_text){ "-inf" } : (struct decimal_text){ "inf" };
    return write_finite(value, &python);
}

/* printf() and strtod() share the locale's decimal point. */
static bool print_fixed(double value, int decimals, char *buf, size_t size)
{
    if (!(fabs(value) < 1e15))
        return false;
    (void)snprintf(buf, size, "%.*f", decimals, value); /* fits: 15 digits, 9 decimals */
    return true;
}

struct decimal_text decimal_fixed(double value, int decimals)
{
    struct decimal_text result = { "" };
    char text[64];
    char *to = result.text;

    if (!print_fixed(value, decimals, text, sizeof(text)))
        return result;
    for (const char *from = text; *from; from++) {
        if (*from == '-' || (*from >= '0' && *from <= '9'))
            *to++ = *from;
        else if (to == result.text || to[-1] != '.') /* the point may have several bytes */
            *to++ = '.';
    }
    *to = '\0';
    return result;
}

double decimal_round(double value, int decimals)
{
    char text[64];

    return print_fixed(value, decimals, text, sizeof(text)) ? strtod(text, NULL) : value;
}

/* Digits, one point, an exponent: what strtod() takes beyond that (hexadecimal, blanks in
 * front, words) is not meant. */
static bool is_decimal(const char *text)
{
    size_t whole, fraction = 0;

    text += *text == '-' || *text == '+';
    whole = strspn(text, "0123456789");
    text += whole;
    if (*text == '.') {
        fraction = strspn(text + 1, "0123456789");
        text += 1 + fraction;
    }
    if (whole + fraction == 0)
        return false;
    if (*text == 'e' || *text == 'E') {
        text++;
        text += *text == '-' || *text == '+';
        if (*text < '0' || *text > '9')
            return false;
        text += strspn(text, "0123456789");
    }
    return *text == '\0';
}

int decimal_parse(const char *text, double *ret)
{
    const char *point = localeconv()->decimal_point;
    char *dot;
    char copy[400];
    size_t length = strlen(text);
    double value;

    if (length >= sizeof(copy) || !is_decimal(text))
        return -EBADMSG;
    memcpy(copy, text, length + 1);
    dot = strchr(copy, '.');
    if (dot && point[0] && !point[1])
        *dot = point[0];
    value = strtod(copy, NULL);
    if (!isfinite(value))
        return -EBADMSG;
    *ret = value;
    return 0;
}
