/* SPDX-License-Identifier: Apache-2.0 */
/* style.c - how text looks where it goes. */
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "base/compiler.h"
#include "output/format.h"

static bool locale_is_utf8(void)
{
    static const char *const variables[] = { "LC_ALL", "LC_CTYPE", "LANG" };

    for (size_t i = 0; i < ARRAY_SIZE(variables); i++) {
        const char *value = getenv(variables[i]);

        if (value && *value)
            return strcasestr(value, "utf-8") || strcasestr(value, "utf8");
    }
    return false;
}

static size_t columns_of(int fd)
{
    struct winsize size;

    if (fd < 0 || ioctl(fd, TIOCGWINSZ, &size) < 0 || size.ws_col == 0)
        return TEXT_COLUMNS;
    if (size.ws_col < TEXT_COLUMNS_MIN)
        return TEXT_COLUMNS_MIN;
    return size.ws_col < TEXT_COLUMNS_MAX ? size.ws_col : TEXT_COLUMNS_MAX;
}

struct format_style format_style_for(int fd, bool has_color)
{
    return (struct format_style){ has_color, locale_is_utf8(), columns_of(fd), true };
}
