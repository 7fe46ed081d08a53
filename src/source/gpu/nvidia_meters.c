/* SPDX-License-Identifier: Apache-2.0 */
#include "source/gpu/nvidia_meters.h"

#include <errno.h>

#include "base/clock.h"

/* The driver keeps samples for 14 s or more. Encoders are idle in most jobs. */
static const struct {
    enum nvml_sampling sampling;
    uint64_t least_ns, most_ns; /* between two readings, see pace_end() */
} kinds[METER_COUNT] = {
    [METER_GPU] = { NVML_SAMPLE_GPU, 900 * NS_PER_MS, 5 * NS_PER_SECOND },
    [METER_ENCODER] = { NVML_SAMPLE_ENCODER, 10 * NS_PER_SECOND, 10 * NS_PER_SECOND },
    [METER_DECODER] = { NVML_SAMPLE_DECODER, 10 * NS_PER_SECOND, 10 * NS_PER_SECOND },
};

/* A rate that is asked for speaks of the second before. */
#define POLLED_MAX_NS (2 * NS_PER_SECOND)

static uint64_t time_of_day_us(void)
{
    return clock_now().realtime_ns / NS_PER_US;
}

static int poll_rate(const struct nvml *nvml, nvml_device device, enum nvidia_meter_kind kind,
                     unsigned *ret_percent)
{
    struct nvml_rates rates = { 0 };
    unsigned period_us = 0;
    int status = NVML_NOT_SUPPORTED;

    switch (kind) {
    case METER_GPU:
        if (nvml->rates)
            status = nvml->rates(device, &rates);
        *ret_percent = rates.gpu_percent;
        break;
    case METER_ENCODER:
        if (nvml->encoder)
            status = nvml->encoder(device, ret_percent, &period_us);
        break;
    case METER_DECODER:
        if (nvml->decoder)
            status = nvml->decoder(device, ret_percent, &period_us);
        break;
    case METER_COUNT:
        break;
    }
    return nvml_errno(status);
}

/* Skips what the driver has buffered: it is from before our time. */
static int begin_samples(struct nvidia_meter *meter, enum nvidia_meter_kind kind,
                         const struct nvml *nvml, nvml_device device,
                         struct nvidia_samples *room)
{
    uint64_t now_us = time_of_day_us();
    int value_type;
    ssize_t n = nvidia_samples_get(room, nvml, device, kinds[kind].sampling, 0, &value_type);

    if (n < 0)
        return (int)n;
    for (size_t i = (size_t)n; i-- > 0;) {
        if (busy_is_plausible(0, room->device[i].stamp_us, 0, now_us)) {
            busy_meter_begin(&meter->busy, room->device[i].stamp_us);
            break;
        }
    }
    return 0;
}

void nvidia_meters_init(struct nvidia_meters *ret, const struct nvml *nvml, nvml_device device,
                        nvml_device whole, const unsigned *gpu_instance, uint64_t now_ns,
                        struct nvidia_samples *room)
{
    for (unsigned kind = 0; kind < METER_COUNT; kind++) {
        struct nvidia_meter *meter = &ret->list[kind];
        unsigned percent = 0;

        *meter = (struct nvidia_meter){ .polled_ns = now_ns,
                                        .pace.due_ns = now_ns + kinds[kind].least_ns };
        if (begin_samples(meter, kind, nvml, device, room) == 0)
            meter->source = METER_SAMPLES;
        else if (kind == METER_GPU &&
                 nvidia_gpm_init(&ret->gpm, nvml, whole, gpu_instance, now_ns) == 0)
            meter->source = METER_GPM;
        else if (poll_rate(nvml, device, kind, &percent) == 0)
            meter->source = METER_POLLED;
    }
}

void nvidia_meters_done(struct nvidia_meters *meters, const struct nvml *nvml)
{
    nvidia_gpm_done(&meters->gpm, nvml);
}

static void read_samples(struct nvidia_meter *meter, enum nvidia_meter_kind kind,
                         const struct nvml *nvml, nvml_device device,
                         struct nvidia_samples *room)
{
    uint64_t now_us = time_of_day_us();
    int value_type;
    ssize_t n;

    busy_meter_heed_clock(&meter->busy, now_us);
    n = nvidia_samples_get(room, nvml, device, kinds[kind].sampling, meter->busy.last_us,
                           &value_type);
    for (ssize_t i = 0; i < n; i++) {
        double percent = nvidia_sample_percent(room->device[i].value, value_type);

        (void)busy_meter_add(&meter->busy, room->device[i].stamp_us, percent, now_us);
    }
}

static void read_rate(struct nvidia_meter *meter, enum nvidia_meter_kind kind,
                      const struct nvml *nvml, nvml_device device, uint64_t now_ns)
{
    uint64_t span_ns = now_ns > meter->polled_ns ? now_ns - meter->polled_ns : 0;
    unsigned percent = 0;

    meter->polled_ns = now_ns;
    if (poll_rate(nvml, device, kind, &percent) == 0)
        busy_meter_add_span(&meter->busy, span_ns < POLLED_MAX_NS ? span_ns : POLLED_MAX_NS,
                            percent);
}

static void read_gpm(struct nvidia_meters *meters, struct nvidia_meter *meter,
                     const struct nvml *nvml, uint64_t now_ns)
{
    uint64_t span_ns;
    double percent;

    if (nvidia_gpm_read(&meters->gpm, nvml, now_ns, &span_ns, &percent) == 0)
        busy_meter_add_span(&meter->busy, span_ns, percent);
}

static void read_if_due(struct nvidia_meters *meters, enum nvidia_meter_kind kind,
                        const struct nvml *nvml, nvml_device device, uint64_t now_ns,
                        struct nvidia_samples *room)
{
    struct nvidia_meter *meter = &meters->list[kind];
    uint64_t least_ns = kinds[kind].least_ns;
    uint64_t busy_ns = meter->busy.busy_ns;

    if (meter->source == METER_NONE || !pace_begin(&meter->pace, now_ns))
        return;
    switch (meter->source) {
    case METER_SAMPLES:
        read_samples(meter, kind, nvml, device, room);
        if (meter->busy.busy_ns == busy_ns) /* an idle one is asked seldom */
            least_ns = kinds[kind].most_ns;
        break;
    case METER_GPM:
        read_gpm(meters, meter, nvml, now_ns);
        break;
    case METER_POLLED:
        read_rate(meter, kind, nvml, device, now_ns);
        least_ns = 0;
        break;
    case METER_NONE:
        break;
    }
    pace_end(&meter->pace, now_ns, least_ns, kinds[kind].most_ns);
}

void nvidia_meters_read(struct nvidia_meters *meters, const struct nvml *nvml,
                        nvml_device device, uint64_t now_ns, struct nvidia_samples *room)
{
    for (unsigned kind = 0; kind < METER_COUNT; kind++)
        read_if_due(meters, kind, nvml, device, now_ns, room);
}

void nvidia_meters_read_gpu(struct nvidia_meters *meters, const struct nvml *nvml,
                            nvml_device device, uint64_t now_ns, struct nvidia_samples *room)
{
    meters->list[METER_GPU].pace.due_ns = 0;
    read_if_due(meters, METER_GPU, nvml, device, now_ns, room);
}

void nvidia_meters_refresh(struct nvidia_meters *meters)
{
    for (unsigned kind = 0; kind < METER_COUNT; kind++)
        meters->list[kind].pace.due_ns = 0;
}
