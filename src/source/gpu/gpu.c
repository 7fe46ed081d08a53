/* SPDX-License-Identifier: Apache-2.0 */
/* gpu.c - the list of vendors, and what several of them need. */
#include "source/gpu/gpu.h"

#include <string.h>

#include "base/compiler.h"

const struct gpu_vendor *const gpu_vendors[] = {
    &gpu_nvidia,
    &gpu_amd,
    &gpu_intel,
};
const size_t gpu_vendor_count = ARRAY_SIZE(gpu_vendors);

/* The first pid namespace has the same inode number on every kernel. */
bool gpu_sees_host_pids(const struct root *root)
{
    char link[64];

    return root_read_link(root, link, sizeof(link), "proc/self/ns/pid") > 0 &&
           strcmp(link, "pid:[4026531836]") == 0;
}

bool gpu_pids_have(const struct gpu_pids *pids, unsigned pid)
{
    size_t low = 0, high = pids->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if ((unsigned)pids->list[middle] == pid)
            return true;
        if ((unsigned)pids->list[middle] < pid)
            low = middle + 1;
        else
            high = middle;
    }
    return false;
}
