/* SPDX-License-Identifier: Apache-2.0 */
#include "source/gpu/drm_pci.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/compiler.h"
#include "base/parse.h"

/* Reads 1 to 8 hexadecimal digits. Returns the character behind them, NULL: none. */
static const char *parse_hex(const char *text, uint64_t *ret)
{
    uint64_t value = 0;
    int count = 0;

    for (; count < 8 && parse_hex_digit(text[count]) >= 0; count++)
        value = value << 4 | (unsigned)parse_hex_digit(text[count]);
    if (count == 0)
        return NULL;
    *ret = value;
    return text + count;
}

static bool is_end(char c)
{
    return c == '\0' || c == '\n' || c == ' ' || c == '\t';
}

int drm_pci_parse(const char *text, uint64_t *ret)
{
    uint64_t part[3]; /* domain, bus, device, of which the first may be left out */
    uint64_t bus, device, function;
    size_t count = 0;

    for (;;) {
        text = parse_hex(text, &part[count++]);
        if (!text)
            return -EBADMSG;
        if (*text != ':' || count == ARRAY_SIZE(part))
            break;
        text++;
    }
    if (count < 2 || *text != '.')
        return -EBADMSG;
    text = parse_hex(text + 1, &function);
    if (!text || !is_end(*text))
        return -EBADMSG;
    bus = part[count - 2];
    device = part[count - 1];
    if (bus > 0xff || device > 0x1f || function > 7)
        return -EBADMSG;
    *ret = (count == ARRAY_SIZE(part) ? part[0] << 16 : 0) | bus << 8 | device << 3 | function;
    return 0;
}

void drm_pci_format(uint64_t pci, char *buf, size_t size)
{
    (void)snprintf(buf, size, "%04x:%02x:%02x.%x", (unsigned)(pci >> 16),
                   (unsigned)(pci >> 8 & 0xff), (unsigned)(pci >> 3 & 0x1f),
                   (unsigned)(pci & 7)); /* cut: only where the caller's buffer is too small */
}
