/* SPDX-License-Identifier: Apache-2.0 */
#include "text/rounded.h"

#include <math.h>
#include <string.h>

#include "base/compiler.h"

enum { DIGITS = 4, DIGITS_MIN = 1000, DIGITS_END = 10000 };

/* digits * 10^exponent; the digits are 0, or DIGITS many. */
struct rounded {
    bool is_negative;
    int digits;
    int exponent;
};

static double power_of_ten(int exponent)
{
    static const double exact[] = { 1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                    1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                    1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22 };

    return exponent < (int)ARRAY_SIZE(exact) ? exact[exponent] : pow(10, exponent);
}

static struct rounded round_digits(double value)
{
    struct rounded rounded = { .is_negative = value < 0 };
    double size = fabs(value);

    if (!(size > 1e-30) || isinf(size)) /* nothing that we measure */
        return (struct rounded){ 0 };
    rounded.exponent = (int)floor(log10(size)) - (DIGITS - 1);
    size = rounded.exponent < 0 ? size * power_of_ten(-rounded.exponent)
                                : size / power_of_ten(rounded.exponent);
    rounded.digits = (int)(size + 0.5);
    if (rounded.digits >= DIGITS_END) {
        rounded.digits = DIGITS_MIN;
        rounded.exponent++;
    }
    return rounded;
}

bool rounded_equal(double a, double b)
{
    struct rounded x = round_digits(a), y = round_digits(b);

    if (isnan(a) || isnan(b))
        return isnan(a) && isnan(b);
    return x.is_negative == y.is_negative && x.digits == y.digits && x.exponent == y.exponent;
}

/* The digits without the zeros at their end; returns how many. `exponent` grows by those. */
static int write_digits(struct rounded *rounded, char text[DIGITS])
{
    int count = DIGITS;

    while (rounded->digits % 10 == 0) {
        rounded->digits /= 10;
        rounded->exponent++;
        count--;
    }
    for (int i = count; i-- > 0; rounded->digits /= 10)
        text[i] = (char)('0' + rounded->digits % 10);
    return count;
}

/* With the point after the first digit. */
static void write_scientific(const char *digits, int count, int exponent, struct buffer *out)
{
    buffer_add(out, digits, 1);
    if (count > 1) {
        buffer_add(out, ".", 1);
        buffer_add(out, digits + 1, (size_t)count - 1);
    }
    buffer_format(out, "e%d", exponent + count - 1);
}

void rounded_write(double value, struct buffer *out)
{
    static const char zeros[] = "0.000000";
    enum { ZEROS_MAX = 3 };
    struct rounded rounded = round_digits(value);
    char digits[DIGITS];
    int count, before; /* the decimal point */

    if (!isfinite(value))
        return;
    if (rounded.digits == 0) {
        buffer_add(out, "0", 1);
        return;
    }
    if (rounded.is_negative)
        buffer_add(out, "-", 1);
    count = write_digits(&rounded, digits);
    before = count + rounded.exponent;
    if (before > DIGITS + ZEROS_MAX || before < -ZEROS_MAX) {
        write_scientific(digits, count, rounded.exponent, out);
    } else if (before <= 0) {
        buffer_add(out, zeros, 2 + (size_t)-before);
        buffer_add(out, digits, (size_t)count);
    } else if (before >= count) {
        buffer_add(out, digits, (size_t)count);
        buffer_add(out, zeros + 2, (size_t)(before - count));
    } else {
        buffer_add(out, digits, (size_t)before);
        buffer_add(out, ".", 1);
        buffer_add(out, digits + before, (size_t)(count - before));
    }
}
