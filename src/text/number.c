/* SPDX-License-Identifier: Apache-2.0 */
#include "text/number.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "base/parse.h"
#include "text/find.h"

/* ---- decimal --------------------------------------------------------------- */

/* A positive number as digits d.ddd x 10^exponent. */
struct digits {
    char digits[20]; /* without trailing zeros */
    int count;
    int exponent;
};

/* The range of numbers that are written without an exponent, and how. */
struct style {
    int smallest_plain;     /* smallest exponent in plain notation */
    int first_large;        /* smallest exponent that is too large for plain notation */
    const char *whole;      /* appended to a number without fraction or exponent */
    bool has_wide_exponent; /* a sign and at least two digits */
};

static void drop_zeros(struct digits *digits)
{
    while (digits->count > 1 && digits->digits[digits->count - 1] == '0')
        digits->count--;
}

/* A decimal of up to 15 digits survives the conversion to a double and back; 17 digits always
 * distinguish two doubles. */
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
    /* The locale's decimal point is between the digits. */
    for (cursor = text; *cursor && *cursor != 'e'; cursor++) {
        if (*cursor >= '0' && *cursor <= '9')
            result.digits[result.count++] = *cursor;
    }
    drop_zeros(&result);
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

/* Writes the digits with a decimal point after the first `whole` of them. */
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
static struct decimal_text write_digits(bool is_negative, struct digits digits,
                                        const struct style *style)
{
    struct decimal_text result = { "" };
    char *to = result.text;

    if (is_negative)
        *to++ = '-';
    if (digits.exponent >= 0 && digits.exponent < style->first_large) {
        to = put_digits(to, &digits, digits.exponent + 1, style->whole);
    } else if (digits.exponent < 0 && digits.exponent >= style->smallest_plain) {
        to = put(to, "0.", 2);
        to = put_zeros(to, -digits.exponent - 1);
        to = put(to, digits.digits, (size_t)digits.count);
    } else {
        to = put_digits(to, &digits, 1, "");
        *to++ = 'e';
        to += snprintf(to, 8, style->has_wide_exponent ? "%+03d" : "%d",
                       digits.exponent); /* fits: -308 */
    }
    *to = '\0';
    return result;
}

struct decimal_text decimal_number(double value)
{
    static const struct style json = { -5, 17, "", true };

    if (!isfinite(value))
        return (struct decimal_text){ "" };
    return write_digits(value < 0, shortest(fabs(value)), &json); /* JSON has no -0 */
}

struct decimal_text decimal_float(double value)
{
    static const struct style python = { -4, 16, ".0", true };

    if (isnan(value))
        return (struct decimal_text){ "nan" };
    if (isinf(value))
        return value < 0 ? (struct decimal_text){ "-inf" } : (struct decimal_text){ "inf" };
    return write_digits(signbit(value), shortest(fabs(value)), &python);
}

/* printf() and strtod() share the locale's decimal point. */
static bool print_fixed(double value, int decimals, char *buf, size_t size)
{
    if (!(fabs(value) < 1e15))
        return false;
    (void)snprintf(buf, size, "%.*f", decimals, value); /* always fits: 15 digits, 9 decimals */
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
        /* The locale's point may have several bytes. */
        else if (to == result.text || to[-1] != '.')
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

int decimal_parse(const char *text, double *ret)
{
    const char *point = localeconv()->decimal_point;
    char *dot;
    char copy[400];
    size_t length = strlen(text);
    /* Other forms that strtod() accepts (hexadecimal, leading blanks, words) are rejected. */
    const char *rest = text + (text[0] == '+' && text[1] != '-');
    double value;

    if (length >= sizeof(copy) || number_read(&rest, &value) < 0 || *rest != '\0')
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

/* ---- number ---------------------------------------------------------------- */

void number_write(double value, struct buffer *out)
{
    /* Most values are whole numbers, which are written faster. */
    if (value >= 0 && value < 1e15 && !((double)(uint64_t)value < value))
        number_write_u64((uint64_t)value, out);
    else
        buffer_add_text(out, decimal_number(value).text);
}

void number_write_u64(uint64_t value, struct buffer *out)
{
    char digits[20];
    size_t start = sizeof(digits);

    do {
        digits[--start] = (char)('0' + value % 10);
        value /= 10;
    } while (value > 0);
    buffer_add(out, digits + start, sizeof(digits) - start);
}

void number_write_seconds(uint64_t nanoseconds, unsigned decimals, struct buffer *out)
{
    uint64_t fraction = nanoseconds % NS_PER_SECOND;
    char digits[9];
    unsigned count = sizeof(digits);

    for (size_t i = sizeof(digits); i-- > 0; fraction /= 10)
        digits[i] = (char)('0' + fraction % 10);
    while (count > decimals && digits[count - 1] == '0')
        count--;
    number_write_u64(nanoseconds / NS_PER_SECOND, out);
    if (count > 0) {
        buffer_add(out, ".", 1);
        buffer_add(out, digits, count);
    }
}

/* Formats a number with `decimals` decimals, rounded half up, and a unit. */
static struct number fixed(double value, unsigned decimals, const char *unit)
{
    static const unsigned powers[] = { 1, 10, 100 };
    unsigned power = powers[decimals];
    struct number number;
    uint64_t scaled;

    if (!(value >= 0 && value < 1e15))
        return (struct number){ "n/a" };
    scaled = (uint64_t)(value * power + 0.5);
    if (decimals == 0)
        (void)snprintf(number.text, sizeof(number.text), "%" PRIu64 "%s", scaled, unit);
    else
        (void)snprintf(number.text, sizeof(number.text), "%" PRIu64 ".%0*" PRIu64 "%s",
                       scaled / power, (int)decimals, scaled % power, unit);
    return number;
}

/* Formats three digits, or more if they are before the decimal point. The limits are the
 * values at which rounding reaches the next digit. */
static struct number three_digits(double value, const char *unit)
{
    return fixed(value, value < 9.995 ? 2 : value < 99.95 ? 1 : 0, unit);
}

/* Formats in the largest unit in which the value is at least 1. Each unit is 1000 of the
 * previous one. */
static struct number scaled(double value, const char *const *units, size_t count)
{
    size_t unit = 0;

    while (value >= 999.5 && unit + 1 < count) {
        value /= 1000;
        unit++;
    }
    return three_digits(value, units[unit]);
}

struct number number_bytes(double bytes)
{
    static const char *const units[] = { " kB", " MB", " GB", " TB", " PB", " EB" };

    if (!(bytes >= 999.5))
        return fixed(bytes, 0, " B");
    return scaled(bytes / 1000, units, ARRAY_SIZE(units));
}

struct number number_limit(double bytes)
{
    enum { MIB_SHOWN_MAX = 9999 };
    double mib = bytes / (1 << 20);

    if (!(fmod(mib, 1024) > 0) && mib > 0)
        return fixed(mib / 1024, 0, " GiB");
    return !(fmod(mib, 1) > 0) && mib > 0 && mib <= MIB_SHOWN_MAX ? fixed(mib, 0, " MiB")
                                                                  : number_bytes(bytes);
}

struct number number_rate(double bytes_per_second)
{
    struct number bytes = number_bytes(bytes_per_second);
    struct number rate;

    if (strcmp(bytes.text, "n/a") == 0)
        return bytes;
    (void)snprintf(rate.text, sizeof(rate.text), "%.24s/s", bytes.text); /* fits */
    return rate;
}

struct number number_duration(double seconds)
{
    /* Each row names two units; `from` is the smallest value that rounds up to one long
     * unit. */
    static const struct {
        double from;
        const char *long_unit;
        unsigned seconds_per_long;
        const char *short_unit;
        unsigned seconds_per_short;
    } rows[] = {
        { 86400 - 30, "d", 86400, "h", 3600 },
        { 3600 - 0.5, "h", 3600, "min", 60 },
        { 59.95, "min", 60, "s", 1 },
    };
    struct number number;

    for (size_t i = 0; i < ARRAY_SIZE(rows) && seconds < 1e12; i++) {
        if (seconds >= rows[i].from) {
            uint64_t units = (uint64_t)(seconds / rows[i].seconds_per_short + 0.5);
            uint64_t each = rows[i].seconds_per_long / rows[i].seconds_per_short;

            (void)snprintf(number.text, sizeof(number.text), "%" PRIu64 " %s %02" PRIu64 " %s",
                           units / each, rows[i].long_unit, units % each, rows[i].short_unit);
            return number;
        }
    }
    if (!(seconds > 0))
        return fixed(seconds, 0, " s");
    if (seconds >= 0.9995)
        return three_digits(seconds, " s");
    return seconds >= 0.9995e-3 ? three_digits(seconds * 1e3, " ms")
                                : fixed(seconds * 1e6, 0, " us");
}

struct number number_energy(double joules)
{
    static const char *const units[] = { " J", " kJ", " MJ", " GJ", " TJ" };

    return scaled(joules, units, ARRAY_SIZE(units));
}

struct number number_percent(double fraction)
{
    double percent = fraction * 100;

    if (percent > 0 && percent < 0.1)
        return (struct number){ "<0.1 %" };
    return fixed(percent, percent < 9.95 ? 1 : 0, " %");
}

struct number number_short(double value)
{
    return three_digits(value, "");
}

struct number number_count(double value)
{
    return fixed(value, 0, "");
}

struct number number_memory_step(double bytes)
{
    static const double mib = 1048576, gib = 1073741824;

    return bytes < gib ? fixed(bytes / mib, 0, " MiB") : fixed(bytes / gib, 0, " GiB");
}

struct number number_time_step(double seconds)
{
    uint64_t minutes = (uint64_t)(seconds / 60 + 0.5);
    struct number number;

    if (minutes < 60)
        return fixed((double)minutes, 0, " min");
    (void)snprintf(number.text, sizeof(number.text), "%" PRIu64 " h %02" PRIu64 " min",
                   minutes / 60, minutes % 60);
    return number;
}

/* ---- rounded --------------------------------------------------------------- */

enum { DIGITS = 4, DIGITS_MIN = 1000, DIGITS_END = 10000 };

/* digits * 10^exponent; `digits` is 0 or has DIGITS digits. */
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

static double scale(double value, int exponent)
{
    if (!(value > 0)) /* 0 times infinity is not a number */
        return value;
    return exponent < 0 ? value / power_of_ten(-exponent) : value * power_of_ten(exponent);
}

static struct rounded round_digits(double value)
{
    struct rounded rounded = { .is_negative = value < 0 };
    double size = fabs(value);

    if (!(size > 1e-30) || isinf(size)) /* no measured value */
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

double rounded_value(double value)
{
    struct rounded rounded = round_digits(value);
    double size = scale(rounded.digits, rounded.exponent);

    return isnan(value) ? value : rounded.is_negative ? -size : size;
}

bool rounded_equal(double a, double b)
{
    struct rounded x = round_digits(a), y = round_digits(b);

    if (isnan(a) || isnan(b))
        return isnan(a) && isnan(b);
    return x.is_negative == y.is_negative && x.digits == y.digits && x.exponent == y.exponent;
}

void rounded_write(double value, struct buffer *out)
{
    static const struct style style = { -4, 7, "", false };
    struct rounded rounded = round_digits(value);
    struct digits digits = { .count = DIGITS, .exponent = rounded.exponent + DIGITS - 1 };
    int rest = rounded.digits;

    if (!isfinite(value))
        return;
    if (rest == 0) {
        buffer_add(out, "0", 1);
        return;
    }
    for (int i = DIGITS; i-- > 0; rest /= 10)
        digits.digits[i] = (char)('0' + rest % 10);
    drop_zeros(&digits);
    buffer_add_text(out, write_digits(rounded.is_negative, digits, &style).text);
}

/* ---- number reader --------------------------------------------------------- */

enum { EXPONENT_MAX = 400 };

struct mantissa {
    uint64_t value;
    int exponent; /* of ten */
    bool is_any;
};

/* `step`: added to the exponent for each digit. Digits that do not fit are dropped. */
static void read_digits(const char **cursor, int step, struct mantissa *mantissa)
{
    const char *at = *cursor;

    for (; is_digit(*at); at++) {
        mantissa->is_any = true;
        if (mantissa->value < UINT64_MAX / 10 - 1) {
            mantissa->value = mantissa->value * 10 + (uint64_t)(*at - '0');
            mantissa->exponent += step;
        } else {
            mantissa->exponent += step + 1;
        }
    }
    *cursor = at;
}

static int read_exponent(const char **cursor)
{
    const char *at = *cursor + 1;
    bool is_negative = *at == '-';
    int exponent = 0;

    at += *at == '-' || *at == '+';
    if (!is_digit(*at))
        return 0; /* not an exponent: the caller handles the rest */
    for (; is_digit(*at); at++) {
        if (exponent < EXPONENT_MAX)
            exponent = exponent * 10 + (*at - '0');
    }
    *cursor = at;
    return is_negative ? -exponent : exponent;
}

int number_read(const char **cursor, double *ret)
{
    struct mantissa mantissa = { 0 };
    const char *at = *cursor;
    bool is_negative = *at == '-';
    double value;

    at += is_negative;
    read_digits(&at, 0, &mantissa);
    if (*at == '.') {
        at++;
        read_digits(&at, -1, &mantissa);
    }
    if (!mantissa.is_any)
        return -EBADMSG;
    if (*at == 'e' || *at == 'E')
        mantissa.exponent += read_exponent(&at);
    value = scale((double)mantissa.value, mantissa.exponent);
    *ret = is_negative ? -value : value;
    *cursor = at;
    return 0;
}

/* ---- durations ---------------------------------------------------------- */

static const struct unit {
    const char *name;
    uint64_t ns;
} units[] = {
    { "", NS_PER_SECOND },         { "us", NS_PER_US },
    { "ms", NS_PER_MS },           { "s", NS_PER_SECOND },
    { "m", 60 * NS_PER_SECOND },   { "min", 60 * NS_PER_SECOND },
    { "h", 3600 * NS_PER_SECOND }, { "d", 86400 * NS_PER_SECOND },
};

int duration_parse(const char *text, uint64_t *ret_ns)
{
    bool is_negative = *text == '-';
    const char *fraction = NULL;
    const struct unit *unit;
    uint64_t whole = 0;
    uint64_t scale, ns;
    int r = 0;

    if (is_negative)
        text++;
    if (!isdigit((unsigned char)*text) && !(*text == '.' && isdigit((unsigned char)text[1])))
        return -EBADMSG;
    if (isdigit((unsigned char)*text) && parse_u64(&text, &whole) < 0) {
        r = -ERANGE; /* too many digits; the rest must still be a time */
        text += strspn(text, "0123456789");
    }
    if (*text == '.') {
        fraction = text + 1;
        text = fraction + strspn(fraction, "0123456789");
    }
    unit = FIND_ROW(units, name, text);
    if (!unit)
        return -EBADMSG;
    scale = unit->ns;
    if (r < 0 || is_negative || __builtin_mul_overflow(whole, scale, &ns))
        return -ERANGE;
    for (; fraction && isdigit((unsigned char)*fraction); fraction++) {
        scale /= 10;
        if (__builtin_add_overflow(ns, scale * (uint64_t)(*fraction - '0'), &ns))
            return -ERANGE;
    }
    *ret_ns = ns;
    return 0;
}
