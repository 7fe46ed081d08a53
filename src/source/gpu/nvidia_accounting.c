/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nvidia_accounting.c - the driver's accounts: the true peak memory of each process, also
 * after its end. An administrator turns accounting on; we never do. Processes are known by
 * the host's numbers, so inside a container an account that seems to be ours is a stranger's.
 */
#include <errno.h>
#include <limits.h>

#include "base/arithmetic.h"
#include "base/parse.h"
#include "base/unknown.h"
#include "source/gpu/nvidia.h"

#define PIDS_MAX 16384u
#define TRIES_MAX 4

static bool is_on(const struct nvml *nvml, nvml_device device)
{
    int mode = 0;

    return nvml->accounting_mode && nvml->accounting_pids && nvml->accounting &&
           nvml->accounting_mode(device, &mode) == NVML_SUCCESS && mode == 1;
}

bool nvidia_account_is_ours(const struct nvml_accounting *stats, uint64_t opened_us)
{
    uint64_t ended_us = sum_u64(stats->start_us, product_u64(stats->time_ms, 1000));

    return stats->is_running || ended_us >= opened_us;
}

/* Lists the accounted processes into the scratch room. Returns how many, or -errno. */
static ssize_t list_pids(struct nvidia *nvidia, nvml_device device)
{
    unsigned wanted = 64;

    for (int tries = 0; tries < TRIES_MAX && wanted <= PIDS_MAX; tries++) {
        unsigned count = wanted;
        int status;

        if (nvidia_scratch_reserve(&nvidia->scratch, wanted * sizeof(unsigned)) < 0)
            return -ENOMEM;
        status = nvidia->nvml.accounting_pids(device, &count,
                                              (unsigned *)(void *)nvidia->scratch.bytes);
        if (status == NVML_SUCCESS)
            return count < wanted ? (ssize_t)count : (ssize_t)wanted;
        if (status != NVML_INSUFFICIENT_SIZE)
            return nvml_errno(status);
        if (count > PIDS_MAX)
            return -EFBIG;
        wanted = (count > wanted ? count : wanted) * 2;
    }
    return -EFBIG;
}

/* A process that runs has no percentages yet, and the time is then 0. */
static uint64_t busy_ns(const struct nvml_accounting *stats)
{
    if (stats->is_running || stats->gpu_percent > 100)
        return UNKNOWN;
    return product_u64(product_u64(stats->time_ms, 10000), stats->gpu_percent);
}

static size_t add_device(struct nvidia *nvidia, size_t index, const struct gpu_pids *pids,
                         struct gpu_record *list, size_t capacity, size_t used)
{
    nvml_device device = nvidia->devices[index].handle;
    ssize_t n = list_pids(nvidia, device);
    const unsigned *accounted = (const unsigned *)(const void *)nvidia->scratch.bytes;

    for (ssize_t i = 0; i < n; i++) {
        struct nvml_accounting stats = { 0 };

        if (!gpu_pids_have(pids, accounted[i]) ||
            nvidia->nvml.accounting(device, accounted[i], &stats) != NVML_SUCCESS ||
            !nvidia_account_is_ours(&stats, nvidia->opened_us))
            continue;
        if (used < capacity)
            list[used] = (struct gpu_record){
                .pid = (pid_t)accounted[i],
                .device = (unsigned)index,
                .peak_memory_bytes =
                    nvidia_device_believe(&nvidia->devices[index], stats.max_memory_bytes),
                .busy_ns = busy_ns(&stats),
                .has_ended = !stats.is_running,
            };
        used++;
    }
    return used;
}

/* Accounts are kept of whole devices. */
bool nvidia_has_accounts(const struct nvidia *nvidia, size_t index)
{
    const struct nvidia_device *device = &nvidia->devices[index];

    return !nvidia->is_nested && !device->facts.is_part && is_on(&nvidia->nvml, device->handle);
}

ssize_t nvidia_accounts(struct nvidia *nvidia, const struct gpu_pids *pids,
                        struct gpu_record *list, size_t capacity)
{
    size_t used = 0;

    for (size_t i = 0; i < nvidia->count; i++) {
        if (nvidia_has_accounts(nvidia, i))
            used = add_device(nvidia, i, pids, list, capacity, used);
    }
    return (ssize_t)used;
}
