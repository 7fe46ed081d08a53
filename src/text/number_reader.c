/* SPDX-License-Identifier: Apache-2.0 */
#include "text/number_reader.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/parse.h"

enum { EXPONENT_MAX = 400 };

struct digits {
    uint64_t value;
    int exponent; /* of ten */
    bool is_any;
};

/* `step`: what each digit adds to the exponent. Those that do not fit any more are cut off. */
static void read_digits(const char **cursor, int step, struct digits *digits)
{
    const char *at = *cursor;

    for (; is_digit(*at); at++) {
        digits->is_any = true;
        if (digits->value < UINT64_MAX / 10 - 1) {
            digits->value = digits->value * 10 + (uint64_t)(*at - '0');
            digits->exponent += step;
        } else {
            digits->exponent += step + 1;
        }
    }
    *cursor = at;
}

static double scale(double value, int exponent)
{
    static const double powers[] = { 1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                     1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15 };
    int size = exponent < 0 ? -exponent : exponent;
    double power;

    if (exponent == 0 || !(value > 0)) /* 0 times infinity is not a number */
        return value;
    power = size < (int)ARRAY_SIZE(powers) ? powers[size] : pow(10, size);
    return exponent < 0 ? value / power : value * power;
}

static int read_exponent(const char **cursor)
{
    const char *at = *cursor + 1;
    bool is_negative = *at == '-';
    int exponent = 0;

    at += *at == '-' || *at == '+';
    if (!is_digit(*at))
        return 0; /* not one: the caller finds what is left */
    for (; is_digit(*at); at++) {
        if (exponent < EXPONENT_MAX)
            exponent = exponent * 10 + (*at - '0');
    }
    *cursor = at;
    return is_negative ? -exponent : exponent;
}

int number_read(const char **cursor, double *ret)
{
    struct digits digits = { 0 };
    const char *at = *cursor;
    bool is_negative = *at == '-';
    double value;

    at += is_negative;
    read_digits(&at, 0, &digits);
    if (*at == '.') {
        at++;
        read_digits(&at, -1, &digits);
    }
    if (!digits.is_any)
        return -EBADMSG;
    if (*at == 'e' || *at == 'E')
        digits.exponent += read_exponent(&at);
    value = scale((double)digits.value, digits.exponent);
    *ret = is_negative ? -value : value;
    *cursor = at;
    return 0;
}
