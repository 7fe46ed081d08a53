/* SPDX-License-Identifier: Apache-2.0 */
#include "source/gpu/nvidia_samples.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SAMPLES_AT_FIRST 128u
#define TRIES_MAX 8

void nvidia_samples_done(struct nvidia_samples *samples)
{
    free(samples->device);
    free(samples->usage);
    free(samples->old_usage);
    *samples = (struct nvidia_samples){ 0 };
}

/* Makes room for `wanted` elements of `size` bytes. `list` points to the pointer to them. */
static int reserve(void *list, size_t *capacity, size_t wanted, size_t size)
{
    void *grown;

    wanted = wanted < SAMPLES_AT_FIRST ? SAMPLES_AT_FIRST : wanted;
    if (wanted <= *capacity)
        return 0;
    if (wanted > NVIDIA_SAMPLES_MAX)
        return -EFBIG;
    memcpy(&grown, list, sizeof(grown));
    grown = reallocarray(grown, wanted, size);
    if (!grown)
        return -ENOMEM;
    memcpy(list, &grown, sizeof(grown));
    *capacity = wanted;
    return 0;
}

/* What a driver must be asked for that says how much it has: no fewer than it says, more than
 * we gave, and room for what comes until the next call. */
static size_t next_size(size_t capacity, unsigned told)
{
    return (told > capacity ? told : capacity) * 2 + 5;
}

static ssize_t end_of_call(int status, unsigned count, size_t capacity)
{
    if (status == NVML_NOT_FOUND)
        return 0;
    if (status != NVML_SUCCESS)
        return nvml_errno(status);
    return count < capacity ? (ssize_t)count : (ssize_t)capacity;
}

static int compare_samples(const void *left, const void *right)
{
    const struct nvml_sample *a = left, *b = right;

    return (a->stamp_us > b->stamp_us) - (a->stamp_us < b->stamp_us);
}

static int compare_usage(const void *left, const void *right)
{
    const struct nvml_process_usage *a = left, *b = right;

    return (a->stamp_us > b->stamp_us) - (a->stamp_us < b->stamp_us);
}

ssize_t nvidia_samples_get(struct nvidia_samples *samples, const struct nvml *nvml,
                           nvml_device device, enum nvml_sampling type, uint64_t last_us,
                           int *ret_value_type)
{
    size_t wanted = samples->device_capacity;
    ssize_t n = -EAGAIN;

    if (!nvml->samples)
        return -ENOTSUP;
    for (int tries = 0; tries < TRIES_MAX; tries++) {
        int value_type = NVML_UNSIGNED;
        unsigned count = 0;
        int status;

        n = reserve(&samples->device, &samples->device_capacity, wanted,
                    sizeof(*samples->device));
        if (n < 0)
            return n;
        count = (unsigned)samples->device_capacity;
        status =
            nvml->samples(device, (int)type, last_us, &value_type, &count, samples->device);
        n = end_of_call(status, count, samples->device_capacity);
        if (status != NVML_INSUFFICIENT_SIZE) {
            *ret_value_type = value_type;
            break;
        }
        wanted = next_size(samples->device_capacity, count);
    }
    if (n > 1)
        qsort(samples->device, (size_t)n, sizeof(*samples->device), compare_samples);
    return n;
}

static ssize_t get_new_usage(struct nvidia_samples *samples, const struct nvml *nvml,
                             nvml_device device, uint64_t last_us)
{
    size_t wanted = samples->usage_capacity;

    for (int tries = 0; tries < TRIES_MAX; tries++) {
        struct nvml_processes_usage usage = {
            .version = NVML_STRUCT_VERSION(struct nvml_processes_usage, 1),
            .last_seen_us = last_us,
        };
        int r =
            reserve(&samples->usage, &samples->usage_capacity, wanted, sizeof(*samples->usage));
        int status;

        if (r < 0)
            return r;
        usage.list = samples->usage;
        usage.count = (unsigned)samples->usage_capacity;
        status = nvml->processes_usage(device, &usage);
        if (status != NVML_INSUFFICIENT_SIZE)
            return end_of_call(status, usage.count, samples->usage_capacity);
        wanted = next_size(samples->usage_capacity, usage.count);
    }
    return -EAGAIN;
}

static ssize_t get_old_usage(struct nvidia_samples *samples, const struct nvml *nvml,
                             nvml_device device, uint64_t last_us)
{
    size_t wanted = samples->old_usage_capacity;

    for (int tries = 0; tries < TRIES_MAX; tries++) {
        int r = reserve(&samples->old_usage, &samples->old_usage_capacity, wanted,
                        sizeof(*samples->old_usage));
        unsigned count;
        int status;

        if (r < 0)
            return r;
        count = (unsigned)samples->old_usage_capacity;
        status = nvml->process_usage(device, samples->old_usage, &count, last_us);
        if (status != NVML_INSUFFICIENT_SIZE)
            return end_of_call(status, count, samples->old_usage_capacity);
        wanted = next_size(samples->old_usage_capacity, count);
    }
    return -EAGAIN;
}

/* The older call, in the shape of the newer. */
static ssize_t get_converted_usage(struct nvidia_samples *samples, const struct nvml *nvml,
                                   nvml_device device, uint64_t last_us)
{
    ssize_t n = get_old_usage(samples, nvml, device, last_us);
    int r;

    if (n <= 0)
        return n;
    r = reserve(&samples->usage, &samples->usage_capacity, (size_t)n, sizeof(*samples->usage));
    if (r < 0)
        return r;
    for (size_t i = 0; i < (size_t)n; i++) {
        const struct nvml_process_sample *from = &samples->old_usage[i];

        samples->usage[i] = (struct nvml_process_usage){
            .stamp_us = from->stamp_us,
            .pid = from->pid,
            .sm_percent = from->sm_percent,
            .memory_percent = from->memory_percent,
            .encoder_percent = from->encoder_percent,
            .decoder_percent = from->decoder_percent,
        };
    }
    return n;
}

ssize_t nvidia_samples_get_usage(struct nvidia_samples *samples, const struct nvml *nvml,
                                 nvml_device device, uint64_t last_us)
{
    ssize_t n = -ENOTSUP;

    /* The older call rounds percents, the newer cuts them. */
    if (nvml->process_usage)
        n = get_converted_usage(samples, nvml, device, last_us);
    if (n < 0 && n != -ENODEV && nvml->processes_usage)
        n = get_new_usage(samples, nvml, device, last_us);
    if (n > 1)
        qsort(samples->usage, (size_t)n, sizeof(*samples->usage), compare_usage);
    return n;
}

double nvidia_sample_percent(union nvml_value value, int value_type)
{
    switch ((enum nvml_value_type)value_type) {
    case NVML_DOUBLE:
        return value.as_double;
    case NVML_UNSIGNED:
        return value.as_unsigned;
    case NVML_UNSIGNED_LONG:
        return (double)value.as_unsigned_long;
    case NVML_UNSIGNED_LONG_LONG:
        return (double)value.as_unsigned_long_long;
    case NVML_LONG_LONG:
        return (double)value.as_long_long;
    case NVML_INT:
        return value.as_int;
    case NVML_UNSIGNED_SHORT:
        return value.as_unsigned_short;
    }
    return (double)NAN;
}
