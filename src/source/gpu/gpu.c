/* SPDX-License-Identifier: Apache-2.0 */
/* gpu.c - the list of vendors, and functions that several of them use. */
#include "source/gpu/gpu.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "base/parse.h"

const struct gpu_vendor *const gpu_vendors[] = {
    &gpu_nvidia,
    &gpu_amd,
    &gpu_intel,
};
const size_t gpu_vendor_count = ARRAY_SIZE(gpu_vendors);

size_t gpu_pids_place(const void *list, size_t count, size_t size, pid_t pid)
{
    size_t low = 0, high = count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        pid_t found;

        memcpy(&found, (const char *)list + middle * size, sizeof(found));
        if (found < pid)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool gpu_pids_have(const struct gpu_pids *pids, pid_t pid)
{
    size_t place = gpu_pids_place(pids->list, pids->count, sizeof(pid), pid);

    return place < pids->count && pids->list[place] == pid;
}

static bool is_end(char c)
{
    return c == '\0' || c == '\n' || c == ' ' || c == '\t';
}

int gpu_pci_parse(const char *text, uint64_t *ret)
{
    uint64_t part[3]; /* domain, bus, device; the first may be missing */
    uint64_t bus, device, function;
    size_t count = 0;

    for (;;) {
        if (parse_hex(&text, &part[count++]) < 0)
            return -EBADMSG;
        if (*text != ':' || count == ARRAY_SIZE(part))
            break;
        text++;
    }
    if (count < 2 || *text++ != '.' || parse_hex(&text, &function) < 0 || !is_end(*text))
        return -EBADMSG;
    bus = part[count - 2];
    device = part[count - 1];
    if (part[0] > UINT32_MAX || bus > 0xff || device > 0x1f || function > 7)
        return -EBADMSG;
    *ret = (count == ARRAY_SIZE(part) ? part[0] << 16 : 0) | bus << 8 | device << 3 | function;
    return 0;
}

void gpu_pci_format(uint64_t pci, char *buf, size_t size)
{
    (void)snprintf(
        buf, size, "%04x:%02x:%02x.%x", (unsigned)(pci >> 16), (unsigned)(pci >> 8 & 0xff),
        (unsigned)(pci >> 3 & 0x1f),
        (unsigned)(pci & 7)); /* truncated only if the caller's buffer is too small */
}
