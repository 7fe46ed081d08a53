/* SPDX-License-Identifier: Apache-2.0 */
#include "source/gpu/nvidia_gpm.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/amount.h"
#include "base/clock.h"

#define APART_NS (100 * NS_PER_MS)
/* Time between readings. The means cover the whole time, however rarely they are read. */
#define WORK_EVERY_NS (10 * NS_PER_SECOND)

#define BYTES_PER_MIB 1048576.0
#define RATE_MAX 1e7 /* MiB/s; no device is as fast */

bool nvidia_gpm_is_supported(const struct nvidia_subject *of)
{
    const struct nvml *nvml = of->nvml;
    struct nvml_gpm_support support = { .version = 1 };

    return nvml->gpm_support && nvml->gpm_alloc && nvml->gpm_free && nvml->gpm_get &&
           nvml->gpm_mig_get && nvml->gpm_metrics &&
           nvml->gpm_support(of->whole, &support) == NVML_SUCCESS && support.is_supported;
}

static int take_snapshot(const struct nvidia_subject *of, nvml_gpm_sample sample)
{
    return nvml_errno(of->device != of->whole
                          ? of->nvml->gpm_mig_get(of->whole, of->gpu_instance, sample)
                          : of->nvml->gpm_get(of->whole, sample));
}

void nvidia_gpm_close(struct nvidia_gpm *gpm, const struct nvml *nvml)
{
    for (int i = 0; i < 2; i++)
        if (gpm->samples[i])
            (void)nvml->gpm_free(gpm->samples[i]); /* errors are ignored */
    free(gpm->metrics);
    *gpm = (struct nvidia_gpm){ 0 };
}

int nvidia_gpm_open(struct nvidia_gpm *gpm, const struct nvidia_subject *of, uint64_t now_ns)
{
    int r = 0;

    if (!nvidia_gpm_is_supported(of))
        return -ENOTSUP;
    gpm->metrics = calloc(1, sizeof(*gpm->metrics));
    if (!gpm->metrics)
        return -ENOMEM;
    for (int i = 0; i < 2 && r == 0; i++)
        r = nvml_errno(of->nvml->gpm_alloc(&gpm->samples[i]));
    if (r == 0)
        r = take_snapshot(of, gpm->samples[0]);
    if (r < 0)
        nvidia_gpm_close(gpm, of->nvml);
    gpm->taken_ns = now_ns;
    return r;
}

int nvidia_gpm_read(struct nvidia_gpm *gpm, const struct nvidia_subject *of, uint64_t now_ns,
                    const enum nvml_gpm_id *ids, unsigned count, uint64_t *ret_span_ns)
{
    nvml_gpm_sample next = gpm->samples[1 - gpm->newest];
    struct nvml_gpm_metrics *metrics = gpm->metrics;
    int r;

    if (now_ns < gpm->taken_ns + APART_NS)
        return -EAGAIN;
    r = take_snapshot(of, next);
    if (r < 0)
        return r;
    memset(metrics, 0, sizeof(*metrics));
    metrics->version = 1;
    metrics->count = count;
    metrics->sample1 = gpm->samples[gpm->newest];
    metrics->sample2 = next;
    for (unsigned i = 0; i < count; i++)
        metrics->metrics[i].id = ids[i];
    r = nvml_errno(of->nvml->gpm_metrics(metrics));
    if (r < 0)
        return r;
    /* Even if one of the metrics failed, the new snapshot is as good a starting point as the
     * old one. */
    *ret_span_ns = now_ns - gpm->taken_ns;
    gpm->newest = 1 - gpm->newest;
    gpm->taken_ns = now_ns;
    return 0;
}

/* ---- the work of a device -------------------------------------------------- */

static const enum nvml_gpm_id work_ids[GPU_WORK_KINDS] = {
    [GPU_WORK_SM] = NVML_GPM_SM_UTILISATION,
    [GPU_WORK_OCCUPANCY] = NVML_GPM_SM_OCCUPANCY,
    [GPU_WORK_TENSOR] = NVML_GPM_ANY_TENSOR,
    [GPU_WORK_FP64] = NVML_GPM_FP64,
    [GPU_WORK_FP32] = NVML_GPM_FP32,
    [GPU_WORK_FP16] = NVML_GPM_FP16,
    [GPU_WORK_DRAM] = NVML_GPM_DRAM_BANDWIDTH,
    [GPU_WORK_PCIE_SENT] = NVML_GPM_PCIE_TX,
    [GPU_WORK_PCIE_RECEIVED] = NVML_GPM_PCIE_RX,
    [GPU_WORK_NVLINK_SENT] = NVML_GPM_NVLINK_TX,
    [GPU_WORK_NVLINK_RECEIVED] = NVML_GPM_NVLINK_RX,
};

static void set_counts(struct nvidia_work *work, uint64_t count, const char *reason)
{
    for (int i = 0; i < GPU_WORK_KINDS; i++)
        work->counted.counts[i] = count;
    work->counted.reason = reason;
}

void nvidia_work_init(struct nvidia_work *work)
{
    *work = (struct nvidia_work){ 0 };
    set_counts(work, UNKNOWN, "counted only while the job uses the GPU");
}

/* Returns the amount of work in a span; UNKNOWN: the driver does not report it. */
static uint64_t amount(int kind, const struct nvml_gpm_metric *metric, uint64_t span_ns)
{
    double value = metric->value, span = (double)span_ns;

    /* Written so that NaN fails too. */
    if (metric->status != NVML_SUCCESS || !(value >= 0 && value <= RATE_MAX))
        return UNKNOWN;
    if (kind >= GPU_WORK_SHARES)
        return (uint64_t)(value * BYTES_PER_MIB * span / 1e9);
    return (uint64_t)((value > 100 ? 100 : value) / 100 * span);
}

static int read_counts(struct nvidia_work *work, const struct nvidia_subject *of,
                       uint64_t now_ns)
{
    struct gpu_work *counted = &work->counted;
    uint64_t span_ns;
    int r = nvidia_gpm_read(&work->gpm, of, now_ns, work_ids, GPU_WORK_KINDS, &span_ns);

    if (r < 0)
        return r;
    counted->covered_ns += span_ns;
    counted->reason = "the driver does not report it"; /* if a count is UNKNOWN */
    for (int i = 0; i < GPU_WORK_KINDS; i++)
        counted->counts[i] =
            sum_u64(counted->counts[i], amount(i, &work->gpm.metrics->metrics[i], span_ns));
    return 0;
}

static const char *why_off(int error)
{
    switch (error) {
    case -ENOTSUP:
        return "the driver counts it on Hopper and later devices only";
    case -EBUSY:
        return "the device's performance counters are in use, as by DCGM or a profiler";
    case -EACCES:
        return "the driver denies access to the device's performance counters";
    default:
        return "the driver fails to read the device's performance counters";
    }
}

void nvidia_work_look(struct nvidia_work *work, const struct nvidia_subject *of,
                      uint64_t now_ns, bool is_used, bool is_quick)
{
    bool is_open = work->gpm.metrics;
    int r = 0;

    if (work->is_off || (!is_open && !is_used))
        return;
    if (!is_open) {
        r = nvidia_gpm_open(&work->gpm, of, now_ns);
        if (r == 0 && work->counted.covered_ns == 0)
            set_counts(work, 0, NULL);
        work->due_ns = now_ns; /* the first means are read soon */
    } else if (!is_quick && (now_ns >= work->due_ns || !is_used)) {
        r = read_counts(work, of, now_ns);
        work->due_ns = now_ns + WORK_EVERY_NS;
        if (!is_used)
            nvidia_gpm_close(&work->gpm, of->nvml);
    }
    if (r == 0 || r == -EAGAIN)
        return;
    nvidia_gpm_close(&work->gpm, of->nvml);
    set_counts(work, UNKNOWN, why_off(r));
    work->is_off = true;
}
