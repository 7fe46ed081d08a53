/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nvidia_meters.h - how busy a device's cores, encoders and decoders were.
 *
 * The best source that a device has is found at the first reading and kept: the driver's
 * buffered samples, GPM, or the driver's own rate at the moments we ask. Samples take
 * milliseconds to ask for, so nothing is asked at the start; they speak of the time since then
 * all the same. And encoders do nothing in most jobs: they pass as idle if the rate that the driver
 * has at hand is 0, and either the cores were idle or no sample of a process says otherwise.
 */
#ifndef SOURCE_GPU_NVIDIA_METERS_H
#define SOURCE_GPU_NVIDIA_METERS_H

#include <stdbool.h>
#include <stdint.h>

#include "source/gpu/nvidia_busy.h"
#include "source/gpu/nvidia_gpm.h"
#include "source/gpu/nvidia_nvml.h"
#include "source/gpu/nvidia_pace.h"
#include "source/gpu/nvidia_samples.h"

enum nvidia_meter_kind { METER_GPU, METER_ENCODER, METER_DECODER, METER_COUNT };

enum nvidia_meter_source { METER_UNTRIED, METER_SAMPLES, METER_GPM, METER_POLLED, METER_NONE };

struct nvidia_meter {
    enum nvidia_meter_source source;
    bool is_failing; /* METER_UNTRIED: no source answered, but one may yet */
    struct busy_meter busy;
    struct nvidia_pace pace;
    uint64_t polled_ns;   /* METER_POLLED: when it was asked last */
    uint64_t gpu_busy_ns; /* what METER_GPU had counted when this one was last read */
    bool may_have_worked; /* since then, by the samples of processes */
};

/* Start from a zeroed one. */
struct nvidia_meters {
    struct nvidia_meter list[METER_COUNT];
    struct nvidia_gpm gpm; /* where it is the source of METER_GPU */
    nvml_device whole;
    const unsigned *gpu_instance; /* borrowed */
    bool has_usage;               /* samples of processes were noted */
};

/* Counting begins now. `whole` and `gpu_instance` say what a part belongs to; for a whole device
 * they are the device itself and NULL. Asks the driver for nothing. */
void nvidia_meters_init(struct nvidia_meters *ret, nvml_device whole,
                        const unsigned *gpu_instance, uint64_t now_ns);
void nvidia_meters_done(struct nvidia_meters *meters, const struct nvml *nvml);

/* The first reading, now; else it is made when it is due. */
void nvidia_meters_find_sources(struct nvidia_meters *meters, const struct nvml *nvml,
                                nvml_device device, uint64_t now_ns,
                                struct nvidia_samples *room);

/* Brings up to date what is due. */
void nvidia_meters_read(struct nvidia_meters *meters, const struct nvml *nvml,
                        nvml_device device, uint64_t now_ns, struct nvidia_samples *room);

/* Reads METER_GPU alone, due or not. Returns 0, or -errno where the counters stand still. */
int nvidia_meters_read_gpu(struct nvidia_meters *meters, const struct nvml *nvml,
                           nvml_device device, uint64_t now_ns, struct nvidia_samples *room);

/* Notes all samples of processes since the last call; `count` < 0: they could not be read. */
void nvidia_meters_note_usage(struct nvidia_meters *meters,
                              const struct nvml_process_usage *list, ssize_t count);

/* Where METER_GPU comes from, as reports say it: static text; NULL: from nowhere, or not yet. */
const char *nvidia_meters_source(const struct nvidia_meters *meters);

/* Does METER_GPU have all of the time? Other sources see a part of it, and a buffer that never
 * held a sample says nothing. */
bool nvidia_meters_see_all(const struct nvidia_meters *meters);

/* Was the device idle since METER_GPU had counted `busy_ns`? False where that is not known. */
bool nvidia_meters_idle_since(const struct nvidia_meters *meters, uint64_t busy_ns);

/* All are due. */
void nvidia_meters_refresh(struct nvidia_meters *meters);

#endif
