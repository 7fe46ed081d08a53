/* SPDX-License-Identifier: Apache-2.0 */
#include "source/gpu/nvidia_gpm.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

#define APART_MIN_NS (100 * NS_PER_MS)

static bool has_calls(const struct nvml *nvml)
{
    return nvml->gpm_support && nvml->gpm_alloc && nvml->gpm_free && nvml->gpm_get &&
           nvml->gpm_mig_get && nvml->gpm_metrics;
}

static int take(const struct nvidia_gpm *gpm, const struct nvml *nvml, nvml_gpm_sample sample)
{
    if (gpm->is_part)
        return nvml_errno(nvml->gpm_mig_get(gpm->device, gpm->gpu_instance, sample));
    return nvml_errno(nvml->gpm_get(gpm->device, sample));
}

static int allocate(struct nvidia_gpm *gpm, const struct nvml *nvml)
{
    gpm->metrics = calloc(1, sizeof(*gpm->metrics));
    if (!gpm->metrics)
        return -ENOMEM;
    for (int i = 0; i < 2; i++) {
        int r = nvml_errno(nvml->gpm_alloc(&gpm->samples[i]));

        if (r < 0)
            return r;
    }
    return 0;
}

int nvidia_gpm_init(struct nvidia_gpm *ret, const struct nvml *nvml, nvml_device device,
                    const unsigned *gpu_instance, uint64_t now_ns)
{
    struct nvml_gpm_support support = { .version = 1 };
    struct nvidia_gpm gpm = { .device = device, .is_part = gpu_instance != NULL };
    int r;

    if (!has_calls(nvml) || nvml->gpm_support(device, &support) != NVML_SUCCESS ||
        !support.is_supported)
        return -ENOTSUP;
    if (gpu_instance)
        gpm.gpu_instance = *gpu_instance;
    r = allocate(&gpm, nvml);
    if (r == 0)
        r = take(&gpm, nvml, gpm.samples[0]);
    if (r < 0) {
        nvidia_gpm_done(&gpm, nvml);
        return r;
    }
    gpm.taken_ns = now_ns;
    *ret = gpm;
    return 0;
}

void nvidia_gpm_done(struct nvidia_gpm *gpm, const struct nvml *nvml)
{
    for (int i = 0; i < 2; i++)
        if (gpm->samples[i])
            (void)nvml->gpm_free(gpm->samples[i]); /* nothing could be done about it */
    free(gpm->metrics);
    *gpm = (struct nvidia_gpm){ 0 };
}

int nvidia_gpm_read(struct nvidia_gpm *gpm, const struct nvml *nvml, uint64_t now_ns,
                    uint64_t *ret_span_ns, double *ret_percent)
{
    nvml_gpm_sample next = gpm->samples[1 - gpm->newest];
    struct nvml_gpm_metrics *metrics = gpm->metrics;
    int r;

    if (now_ns < gpm->taken_ns + APART_MIN_NS)
        return -EAGAIN;
    r = take(gpm, nvml, next);
    if (r < 0)
        return r;
    memset(metrics, 0, sizeof(*metrics));
    metrics->version = 1;
    metrics->count = 1;
    metrics->sample1 = gpm->samples[gpm->newest];
    metrics->sample2 = next;
    metrics->metrics[0].id = NVML_GPM_GRAPHICS_UTILISATION;
    r = nvml_errno(nvml->gpm_metrics(metrics));
    if (r < 0)
        return r;
    /* Where only this metric failed the new snapshot is as good a beginning as the old. */
    *ret_span_ns = now_ns - gpm->taken_ns;
    gpm->newest = 1 - gpm->newest;
    gpm->taken_ns = now_ns;
    if (metrics->metrics[0].status != NVML_SUCCESS)
        return nvml_errno(metrics->metrics[0].status);
    *ret_percent = metrics->metrics[0].value;
    return 0;
}
