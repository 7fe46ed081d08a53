/* SPDX-License-Identifier: Apache-2.0 */
#include "text/number.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "text/decimal.h"

void number_write(double value, struct buffer *out)
{
    /* Most are whole, and written faster so. */
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

/* Rounded half up, with so many decimals and a unit. */
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

/* Three digits, as far as they do not stand before the decimal point. The limits
 * are where rounding reaches the next digit. */
static struct number three_digits(double value, const char *unit)
{
    return fixed(value, value < 9.995 ? 2 : value < 99.95 ? 1 : 0, unit);
}

/* In the largest unit of which there is one or more; each is 1000 of the one before. */
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

struct number number_duration(double seconds)
{
    /* Two units each; from where rounding the shorter one reaches the next row. */
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
