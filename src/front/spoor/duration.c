/* SPDX-License-Identifier: Apache-2.0 */
#include "front/spoor/duration.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "base/parse.h"

static const struct {
    const char *name;
    uint64_t ns;
} units[] = {
    { "", NS_PER_SECOND },         { "us", NS_PER_US },
    { "ms", NS_PER_MS },           { "s", NS_PER_SECOND },
    { "m", 60 * NS_PER_SECOND },   { "min", 60 * NS_PER_SECOND },
    { "h", 3600 * NS_PER_SECOND }, { "d", 86400 * NS_PER_SECOND },
};

static uint64_t unit_ns(const char *name)
{
    for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
        if (strcmp(units[i].name, name) == 0)
            return units[i].ns;
    }
    return 0;
}

int duration_parse(const char *text, uint64_t *ret_ns)
{
    bool is_negative = *text == '-';
    const char *fraction = NULL;
    uint64_t whole = 0;
    uint64_t scale, ns;
    int r = 0;

    if (is_negative)
        text++;
    if (!is_digit(*text) && !(*text == '.' && is_digit(text[1])))
        return -EBADMSG;
    if (is_digit(*text) && parse_u64(&text, &whole) < 0) {
        r = -ERANGE; /* too many digits; the rest must still be a time */
        text += strspn(text, "0123456789");
    }
    if (*text == '.') {
        fraction = text + 1;
        text = fraction + strspn(fraction, "0123456789");
    }
    scale = unit_ns(text);
    if (scale == 0)
        return -EBADMSG;
    if (r < 0 || is_negative || __builtin_mul_overflow(whole, scale, &ns))
        return -ERANGE;
    for (; fraction && is_digit(*fraction); fraction++) {
        scale /= 10;
        if (__builtin_add_overflow(ns, scale * (uint64_t)(*fraction - '0'), &ns))
            return -ERANGE;
    }
    *ret_ns = ns;
    return 0;
}
