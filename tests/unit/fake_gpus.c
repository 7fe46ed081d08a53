/* SPDX-License-Identifier: Apache-2.0 */
#include "fake_gpus.h"

#include <string.h>

#include "base/amount.h"

struct fake_gpus fake_gpus;

int fake_gpus_begin(UNUSED void **state)
{
    static const struct gpu_sources sources = { .names_one = false };
    struct fake_gpus *gpus = &fake_gpus;

    memset(gpus, 0, sizeof(*gpus));
    for (size_t i = 0; i < COUNT; i++)
        gpus->units[i].sources = &sources;
    gpus->units[PART_0].device.is_part = gpus->units[PART_1].device.is_part = true;
    gpus->units[WHOLE].is_selected = gpus->units[PART_0].is_selected =
        gpus->units[PART_1].is_selected = true;
    gpus->units[ALONE].is_selected = true;
    return gpu_account_init(&gpus->account, gpus->units, COUNT, 0);
}

int fake_gpus_end(UNUSED void **state)
{
    gpu_account_done(&fake_gpus.account);
    return 0;
}

void fake_see(size_t unit, struct gpu_reading reading, uint64_t now_ns)
{
    gpu_account_device(&fake_gpus.account, unit, &reading, now_ns);
}

struct gpu_reading fake_reading(uint64_t used_bytes, uint64_t busy_ns, uint64_t covered_ns)
{
    return (struct gpu_reading){
        .memory_used_bytes = used_bytes,
        .busy_ns = busy_ns,
        .busy_covered_ns = covered_ns,
        .encoder_busy_ns = UNKNOWN,
        .decoder_busy_ns = UNKNOWN,
        .energy.microjoules = UNKNOWN,
        .energy.milliwatts = UNKNOWN,
        .temperature_celsius = UNKNOWN,
        .clock_mhz = UNKNOWN,
        .throttle_reasons = UNKNOWN,
        .busy_reason = is_known(busy_ns) ? NULL : "no busy time",
    };
}

struct gpu_row fake_row(size_t unit, pid_t pid, uint64_t memory_bytes, uint64_t busy_ns,
                        uint64_t covered_ns)
{
    return (struct gpu_row){
        .process = { .pid = pid,
                     .memory_bytes = memory_bytes,
                     .busy_ns = busy_ns,
                     .busy_covered_ns = covered_ns,
                     .reason = is_known(memory_bytes) && is_known(busy_ns) ? NULL : "hidden" },
        .unit = unit,
        .is_job = pid < 100,
        .is_main = pid == 10,
    };
}
