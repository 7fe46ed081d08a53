/* SPDX-License-Identifier: Apache-2.0 */
/* gpm.c - the stand-in's performance monitor: snapshots of a scripted busy time. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "standin.h"

#if STANDIN_GENERATION == GENERATION_FULL

/* A snapshot of the real library contains counters; this one only identifies the device. */
struct snapshot {
    nvml_device device;
    unsigned gpu_instance;
    bool is_part;
};

static struct snapshot *snapshot_of(nvml_gpm_sample sample)
{
    return (struct snapshot *)(void *)sample;
}

EXPORT int nvmlGpmQueryDeviceSupport(nvml_device device, struct nvml_gpm_support *ret)
{
    int status = standin_enter("nvmlGpmQueryDeviceSupport", device);

    if (ret->version != 1)
        return NVML_INVALID_ARGUMENT;
    ret->is_supported = script_last(standin_script(), "gpm") != NULL;
    return status;
}

EXPORT int nvmlGpmSampleAlloc(nvml_gpm_sample *ret)
{
    struct snapshot *snapshot = calloc(1, sizeof(*snapshot));

    *ret = (nvml_gpm_sample)(void *)snapshot;
    return snapshot ? NVML_SUCCESS : NVML_INSUFFICIENT_SIZE;
}

EXPORT int nvmlGpmSampleFree(nvml_gpm_sample sample)
{
    free(snapshot_of(sample));
    return NVML_SUCCESS;
}

EXPORT int nvmlGpmSampleGet(nvml_device device, nvml_gpm_sample sample)
{
    *snapshot_of(sample) = (struct snapshot){ .device = device };
    return standin_enter("nvmlGpmSampleGet", device);
}

EXPORT int nvmlGpmMigSampleGet(nvml_device device, unsigned gpu_instance,
                               nvml_gpm_sample sample)
{
    *snapshot_of(sample) = (struct snapshot){ device, gpu_instance, true };
    return standin_enter("nvmlGpmMigSampleGet", device);
}

/* Metric 1 is "gpm N INSTANCE PERCENT"; INSTANCE "all" is the whole device. The other
 * metrics, which only whole devices have, are "gpm N metric ID VALUE". Returns false if the
 * script has no value. */
static bool find_value(const struct snapshot *snapshot, unsigned id, double *ret)
{
    char words[96], rest[16] = "all";
    const char *line;

    if (id != 1)
        (void)snprintf(rest, sizeof(rest), "metric %u", id);
    if (!snapshot->is_part) {
        line =
            script_last(standin_script(), standin_words(words, "gpm", snapshot->device, rest));
        *ret = line ? strtod(line, NULL) : 0;
        return line != NULL;
    }
    (void)standin_words(words, "gpm", snapshot->device, "");
    for (size_t n = 0; (line = script_line(standin_script(), n, words)); n++) {
        if (script_number(&line, UINT64_MAX) != snapshot->gpu_instance)
            continue;
        *ret = (double)script_number(&line, 0);
        return id == 1;
    }
    return false;
}

EXPORT int nvmlGpmMetricsGet(struct nvml_gpm_metrics *metrics)
{
    int status = standin_enter("nvmlGpmMetricsGet", NULL);

    if (status || metrics->version != 1 || metrics->count == 0 || !metrics->sample1)
        return status ? status : NVML_INVALID_ARGUMENT;
    for (unsigned i = 0; i < metrics->count; i++) {
        struct nvml_gpm_metric *metric = &metrics->metrics[i];
        double value = 0;

        metric->status = find_value(snapshot_of(metrics->sample2), metric->id, &value)
                             ? NVML_SUCCESS
                             : NVML_NOT_SUPPORTED;
        metric->value = value;
    }
    return NVML_SUCCESS;
}
#else
/* ISO C forbids an empty file. */
typedef int no_gpm;
#endif
