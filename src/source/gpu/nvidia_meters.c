/* SPDX-License-Identifier: Apache-2.0 */
#include "source/gpu/nvidia_meters.h"

#include <errno.h>

#include "base/clock.h"

/* The driver keeps samples for 14 s or more. Encoders are idle in most jobs. */
static const struct {
    enum nvml_sampling sampling;
    uint64_t least_ns, most_ns; /* between two readings, see nvidia_pace_end() */
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

void nvidia_meters_init(struct nvidia_meters *ret, nvml_device whole,
                        const unsigned *gpu_instance, uint64_t now_ns)
{
    uint64_t now_us = time_of_day_us();

    *ret = (struct nvidia_meters){ .whole = whole, .gpu_instance = gpu_instance };
    for (unsigned kind = 0; kind < METER_COUNT; kind++) {
        struct nvidia_meter *meter = &ret->list[kind];

        busy_meter_begin(&meter->busy, now_us);
        meter->polled_ns = now_ns;
        meter->pace.due_ns = now_ns + kinds[kind].least_ns;
    }
}

void nvidia_meters_done(struct nvidia_meters *meters, const struct nvml *nvml)
{
    nvidia_gpm_done(&meters->gpm, nvml);
}

/* At the first reading the driver is asked for all it has, to see whether it has any. */
static int read_samples(struct nvidia_meter *meter, enum nvidia_meter_kind kind,
                        const struct nvml *nvml, nvml_device device,
                        struct nvidia_samples *room)
{
    uint64_t now_us = time_of_day_us();
    int value_type;
    ssize_t n;

    busy_meter_heed_clock(&meter->busy, now_us);
    n = nvidia_samples_get(room, nvml, device, kinds[kind].sampling,
                           meter->source == METER_UNTRIED ? 0 : meter->busy.last_us,
                           &value_type);
    for (ssize_t i = 0; i < n; i++) {
        double percent = nvidia_sample_percent(room->device[i].value, value_type);

        (void)busy_meter_add(&meter->busy, room->device[i].stamp_us, percent, now_us);
    }
    return n < 0 ? (int)n : 0;
}

static int read_rate(struct nvidia_meter *meter, enum nvidia_meter_kind kind,
                     const struct nvml *nvml, nvml_device device, uint64_t now_ns)
{
    uint64_t span_ns = now_ns > meter->polled_ns ? now_ns - meter->polled_ns : 0;
    unsigned percent = 0;
    int r = poll_rate(nvml, device, kind, &percent);

    meter->polled_ns = now_ns;
    if (r == 0)
        busy_meter_add_span(&meter->busy, span_ns < POLLED_MAX_NS ? span_ns : POLLED_MAX_NS,
                            percent);
    return r;
}

/* The first reading takes the snapshot that the second one is compared with. */
static int read_gpm(struct nvidia_meters *meters, const struct nvml *nvml, uint64_t now_ns)
{
    struct nvidia_meter *meter = &meters->list[METER_GPU];
    uint64_t span_ns;
    double percent;
    int r;

    if (meter->source == METER_UNTRIED)
        return nvidia_gpm_init(&meters->gpm, nvml, meters->whole, meters->gpu_instance, now_ns);
    r = nvidia_gpm_read(&meters->gpm, nvml, now_ns, &span_ns, &percent);
    if (r == 0)
        busy_meter_add_span(&meter->busy, span_ns, percent);
    return r;
}

static int read_from(struct nvidia_meters *meters, enum nvidia_meter_kind kind,
                     enum nvidia_meter_source source, const struct nvml *nvml,
                     nvml_device device, uint64_t now_ns, struct nvidia_samples *room)
{
    switch (source) {
    case METER_SAMPLES:
        return read_samples(&meters->list[kind], kind, nvml, device, room);
    case METER_GPM:
        return kind == METER_GPU ? read_gpm(meters, nvml, now_ns) : -ENOTSUP;
    case METER_POLLED:
        return read_rate(&meters->list[kind], kind, nvml, device, now_ns);
    case METER_UNTRIED:
    case METER_NONE:
        break;
    }
    return -ENOTSUP;
}

/* The first reading: from the best source that answers. Where none does, and one for a reason that
 * may pass, they are asked again. */
static int find_source(struct nvidia_meters *meters, enum nvidia_meter_kind kind,
                       const struct nvml *nvml, nvml_device device, uint64_t now_ns,
                       struct nvidia_samples *room)
{
    struct nvidia_meter *meter = &meters->list[kind];
    bool may_pass = false;

    for (unsigned source = METER_SAMPLES; source != METER_NONE; source++) {
        int r = read_from(meters, kind, source, nvml, device, now_ns, room);

        if (r == 0) {
            meter->source = source;
            meter->is_failing = false;
            return 0;
        }
        may_pass |= r != -ENOTSUP && r != -EACCES && r != -ENOSYS;
    }
    meter->source = may_pass ? METER_UNTRIED : METER_NONE;
    meter->is_failing = may_pass;
    return -ENOTSUP;
}

void nvidia_meters_find_sources(struct nvidia_meters *meters, const struct nvml *nvml,
                                nvml_device device, uint64_t now_ns,
                                struct nvidia_samples *room)
{
    for (unsigned kind = 0; kind < METER_COUNT; kind++)
        (void)find_source(meters, kind, nvml, device, now_ns, room); /* or there is none */
}

const char *nvidia_meters_source(const struct nvidia_meters *meters)
{
    static const char *const names[] = {
        [METER_SAMPLES] = "nvml.samples",
        [METER_GPM] = "nvml.gpm",
        [METER_POLLED] = "nvml.rates",
        [METER_NONE] = NULL,
    };

    return names[meters->list[METER_GPU].source];
}

bool nvidia_meters_see_all(const struct nvidia_meters *meters)
{
    const struct nvidia_meter *gpu = &meters->list[METER_GPU];

    return gpu->source == METER_SAMPLES && gpu->busy.covered_ns > 0;
}

bool nvidia_meters_idle_since(const struct nvidia_meters *meters, uint64_t busy_ns)
{
    return nvidia_meters_see_all(meters) && meters->list[METER_GPU].busy.busy_ns == busy_ns;
}

void nvidia_meters_note_usage(struct nvidia_meters *meters,
                              const struct nvml_process_usage *list, ssize_t count)
{
    struct nvidia_meter *encoder = &meters->list[METER_ENCODER];
    struct nvidia_meter *decoder = &meters->list[METER_DECODER];

    meters->has_usage = true;
    encoder->may_have_worked |= count < 0;
    decoder->may_have_worked |= count < 0;
    for (ssize_t i = 0; i < count; i++) {
        encoder->may_have_worked |= list[i].encoder_percent > 0;
        decoder->may_have_worked |= list[i].decoder_percent > 0;
    }
}

static bool seems_idle(const struct nvidia_meters *meters, const struct nvidia_meter *meter)
{
    return (meters->has_usage && !meter->may_have_worked) ||
           nvidia_meters_idle_since(meters, meter->gpu_busy_ns);
}

/* Counts an encoder as idle, as far as the cores' samples reach, where it passes as that. */
static bool passes_as_idle(struct nvidia_meters *meters, enum nvidia_meter_kind kind,
                           const struct nvml *nvml, nvml_device device)
{
    struct nvidia_meter *meter = &meters->list[kind];
    unsigned percent = 0;

    if (kind == METER_GPU || meter->source == METER_POLLED || !nvidia_meters_see_all(meters) ||
        !seems_idle(meters, meter) || poll_rate(nvml, device, kind, &percent) < 0 ||
        percent != 0)
        return false;
    busy_meter_heed_clock(&meter->busy, time_of_day_us());
    busy_meter_add_idle(&meter->busy, meters->list[METER_GPU].busy.last_us);
    return true;
}

static int read_if_due(struct nvidia_meters *meters, enum nvidia_meter_kind kind,
                       const struct nvml *nvml, nvml_device device, uint64_t now_ns,
                       struct nvidia_samples *room)
{
    struct nvidia_meter *meter = &meters->list[kind];
    uint64_t least_ns = kinds[kind].least_ns;
    uint64_t busy_ns = meter->busy.busy_ns;
    int r = 0;

    if (meter->source == METER_NONE || !nvidia_pace_begin(&meter->pace, now_ns))
        return 0;
    if (!passes_as_idle(meters, kind, nvml, device))
        r = meter->source == METER_UNTRIED
                ? find_source(meters, kind, nvml, device, now_ns, room)
                : read_from(meters, kind, meter->source, nvml, device, now_ns, room);
    meter->may_have_worked = false;
    meter->gpu_busy_ns = meters->list[METER_GPU].busy.busy_ns;
    if (meter->source == METER_SAMPLES && meter->busy.busy_ns == busy_ns)
        least_ns = kinds[kind].most_ns; /* an idle one is asked seldom */
    else if (meter->source == METER_POLLED)
        least_ns = 0;
    nvidia_pace_end(&meter->pace, now_ns, least_ns, kinds[kind].most_ns);
    return r;
}

void nvidia_meters_read(struct nvidia_meters *meters, const struct nvml *nvml,
                        nvml_device device, uint64_t now_ns, struct nvidia_samples *room)
{
    for (unsigned kind = 0; kind < METER_COUNT; kind++)
        (void)read_if_due(meters, kind, nvml, device, now_ns, room); /* stands still */
}

int nvidia_meters_read_gpu(struct nvidia_meters *meters, const struct nvml *nvml,
                           nvml_device device, uint64_t now_ns, struct nvidia_samples *room)
{
    meters->list[METER_GPU].pace.due_ns = 0;
    return read_if_due(meters, METER_GPU, nvml, device, now_ns, room);
}

void nvidia_meters_refresh(struct nvidia_meters *meters)
{
    for (unsigned kind = 0; kind < METER_COUNT; kind++)
        meters->list[kind].pace.due_ns = 0;
}
