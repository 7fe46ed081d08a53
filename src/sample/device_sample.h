/* SPDX-License-Identifier: Apache-2.0 */
/* device_sample.h - the machine device by device, for streams that list them. */
#ifndef SAMPLE_DEVICE_SAMPLE_H
#define SAMPLE_DEVICE_SAMPLE_H

#include "source/host/cpu_stat.h"
#include "source/host/devices.h"

/* Owns its lists. Zeroed is empty. */
struct device_sample {
    struct devices devices;
    struct cpu_busy *cpus; /* those that are online */
    size_t cpu_count;
};

/* Reads it anew. What cannot be read is left out. `space` as in devices_read(). */
void device_sample_read(struct device_sample *sample, const struct root *root,
                        struct space *space);
void device_sample_done(struct device_sample *sample);

/* The busy time of a CPU; UNKNOWN: it was not online. */
uint64_t device_sample_cpu_ns(const struct device_sample *sample, uint64_t number);

#endif
