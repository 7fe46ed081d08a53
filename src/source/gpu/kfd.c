/* SPDX-License-Identifier: Apache-2.0 */
#include "source/gpu/kfd.h"

#include <dirent.h>
#include <inttypes.h>

#include "base/arithmetic.h"
#include "base/cleanup.h"
#include "base/parse.h"
#include "base/unknown.h"

static void add_node(const struct root *root, const struct drm_devices *devices,
                     const char *number, struct kfd *kfd)
{
    uint64_t gpu_id, location, domain = 0;
    char text[4096];
    int device;

    if (kfd->count == KFD_NODE_MAX ||
        root_read(root, text, sizeof(text), "sys/class/kfd/kfd/topology/nodes/%s/gpu_id",
                  number) < 0 ||
        parse_whole_u64(text, &gpu_id) < 0 || gpu_id == 0) /* 0 is a CPU */
        return;
    if (root_read(root, text, sizeof(text), "sys/class/kfd/kfd/topology/nodes/%s/properties",
                  number) < 0 ||
        parse_key_u64(text, "location_id", &location) < 0 || location > UINT16_MAX)
        return;
    (void)parse_key_u64(text, "domain", &domain); /* older kernels have none: stays 0 */
    if (domain > UINT32_MAX)
        return;
    device = drm_devices_at(devices, domain << 16 | location);
    if (device < 0)
        /* The partitions of a GPU are numbered where the PCI function stands. */
        device = drm_devices_at(devices, domain << 16 | (location & ~7ull));
    if (device >= 0)
        kfd->node[kfd->count++] = (struct kfd_node){ gpu_id, (unsigned)device };
}

void kfd_find(const struct root *root, const struct drm_devices *devices, struct kfd *ret)
{
    int fd = root_open_dir(root, "sys/class/kfd/kfd/topology/nodes");
    const struct dirent *entry;
    DIR *folder;

    ret->count = 0;
    if (fd < 0)
        return;
    folder = gpu_sees_host_pids(root) ? fdopendir(fd) : NULL;
    if (!folder) {
        close(fd);
        return;
    }
    while ((entry = readdir(folder))) {
        if (entry->d_name[0] >= '0' && entry->d_name[0] <= '9')
            add_node(root, devices, entry->d_name, ret);
    }
    closedir(folder);
}

uint64_t kfd_memory_bytes(const struct kfd *kfd, const struct root *root, pid_t pid,
                          unsigned device)
{
    uint64_t sum = UNKNOWN;

    for (size_t i = 0; i < kfd->count; i++) {
        char text[64];
        uint64_t bytes;

        if (kfd->node[i].device != device ||
            root_read(root, text, sizeof(text), "sys/class/kfd/kfd/proc/%d/vram_%" PRIu64,
                      (int)pid, kfd->node[i].gpu_id) < 0 ||
            parse_whole_u64(text, &bytes) < 0)
            continue;
        sum = is_known(sum) ? sum_u64(sum, bytes) : bytes;
    }
    return sum;
}
