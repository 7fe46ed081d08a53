/* SPDX-License-Identifier: Apache-2.0 */
#include "source/gpu/nvidia_meters.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/amount.h"
#include "base/clock.h"
#include "base/reserve.h"

#define PACE_SHARE 1000
#define GAP_MIN_US 10000ull
#define GAP_MAX_US 1000000ull
#define NS_PER_US_PERCENT 10.0 /* 1000 ns / 100 % */
#define ELEMENTS_AT_FIRST 128u
#define SAMPLES_MAX 65536
#define TRIES_MAX 8

/* The driver keeps samples for 14 s or more. Encoders are idle in most jobs. */
static const struct {
    enum nvml_sampling sampling;
    uint64_t least_ns, most_ns; /* time between two readings, see nvidia_pace_end() */
} kinds[METER_COUNT] = {
    [METER_GPU] = { NVML_SAMPLE_GPU, 900 * NS_PER_MS, 5 * NS_PER_SECOND },
    [METER_ENCODER] = { NVML_SAMPLE_ENCODER, 10 * NS_PER_SECOND, 10 * NS_PER_SECOND },
    [METER_DECODER] = { NVML_SAMPLE_DECODER, 10 * NS_PER_SECOND, 10 * NS_PER_SECOND },
};

/* Maximum time attributed to one polled rate, which covers the previous second. */
#define POLLED_MAX_NS (2 * NS_PER_SECOND)

bool nvidia_pace_begin(struct nvidia_pace *pace, uint64_t now_ns)
{
    if (now_ns < pace->due_ns)
        return false;
    pace->started_ns = clock_thread_cpu_ns();
    return true;
}

void nvidia_pace_end(struct nvidia_pace *pace, uint64_t now_ns, uint64_t least_ns,
                     uint64_t most_ns)
{
    uint64_t wait_ns = (clock_thread_cpu_ns() - pace->started_ns) * PACE_SHARE;

    pace->due_ns = now_ns + smaller(larger(wait_ns, least_ns), most_ns);
}

/* ---- busy time from samples ---------------------------------------------- */

/* Returns how much time before `stamp_us` a sample covers. */
static uint64_t cover_us(const struct busy_meter *meter, uint64_t stamp_us)
{
    uint64_t gap_us = stamp_us - meter->last_us;

    if (meter->last_us != 0 && gap_us <= BUSY_HOLE_US)
        return gap_us;
    return meter->period_us != 0 ? meter->period_us : BUSY_PERIOD_DEFAULT_US;
}

uint64_t busy_learn_period(uint64_t period_us, uint64_t gap_us)
{
    if (gap_us < GAP_MIN_US || gap_us > GAP_MAX_US)
        return period_us;
    return period_us == 0 || gap_us < period_us ? gap_us : period_us;
}

bool busy_is_plausible(uint64_t last_us, uint64_t stamp_us, double percent, uint64_t now_us)
{
    /* Written so that NaN fails too. */
    if (!(percent >= 0 && percent <= 100))
        return false;
    return stamp_us > last_us && stamp_us < now_us + BUSY_FUTURE_US;
}

bool busy_meter_add(struct busy_meter *meter, uint64_t stamp_us, double percent,
                    uint64_t now_us)
{
    uint64_t span_us;

    if (!busy_is_plausible(meter->last_us, stamp_us, percent, now_us))
        return false;
    span_us = cover_us(meter, stamp_us);
    if (meter->has_sample)
        meter->period_us = busy_learn_period(meter->period_us, stamp_us - meter->last_us);
    meter->last_us = stamp_us;
    meter->has_sample = true;
    meter->covered_ns += span_us * NS_PER_US;
    meter->busy_ns += (uint64_t)(percent * (double)span_us * NS_PER_US_PERCENT);
    return true;
}

void busy_meter_add_span(struct busy_meter *meter, uint64_t span_ns, double percent)
{
    if (!(percent >= 0 && percent <= 100))
        return;
    meter->covered_ns += span_ns;
    meter->busy_ns += (uint64_t)(percent / 100 * (double)span_ns);
}

void busy_meter_add_idle(struct busy_meter *meter, uint64_t until_us)
{
    if (until_us <= meter->last_us)
        return;
    meter->covered_ns += (until_us - meter->last_us) * NS_PER_US;
    busy_meter_begin(meter, until_us);
}

void busy_meter_begin(struct busy_meter *meter, uint64_t stamp_us)
{
    meter->last_us = stamp_us;
    meter->has_sample = false;
}

void busy_meter_check_clock(struct busy_meter *meter, uint64_t now_us)
{
    if (meter->last_us >= now_us + BUSY_FUTURE_US)
        busy_meter_begin(meter, now_us);
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

/* ---- lists of the driver -------------------------------------------------- */

void nvidia_buffers_done(struct nvidia_buffers *buffers)
{
    free(buffers->samples.list);
    free(buffers->usage.list);
    free(buffers->pids.list);
    *buffers = (struct nvidia_buffers){ 0 };
}

ssize_t nvidia_fetch(struct nvidia_buffer *buffer, size_t element_bytes, size_t most,
                     nvidia_call *call, const struct nvidia_request *request)
{
    size_t wanted = buffer->size_bytes / element_bytes;

    wanted = wanted < ELEMENTS_AT_FIRST ? ELEMENTS_AT_FIRST : wanted;
    for (int tries = 0; tries < TRIES_MAX; tries++) {
        unsigned count;
        int status;

        wanted = wanted > most ? most : wanted;
        if (reserve(&buffer->list, &buffer->size_bytes, wanted * element_bytes, 1) < 0)
            return -ENOMEM;
        memset(buffer->list, 0, wanted * element_bytes);
        count = (unsigned)wanted;
        status = call(request, &count, buffer->list);
        if (status == NVML_NOT_FOUND)
            return 0;
        if (status == NVML_SUCCESS)
            return count < wanted ? (ssize_t)count : (ssize_t)wanted;
        if (status != NVML_INSUFFICIENT_SIZE)
            return nvml_errno(status);
        if (wanted == most)
            return -EFBIG;
        /* More elements may appear before the next call. */
        wanted = (count > wanted ? count : wanted) * 2 + 5;
    }
    return -EFBIG;
}

static int call_samples(const struct nvidia_request *request, unsigned *count, void *list)
{
    return request->nvml->samples(request->device, request->sampling, request->last_us,
                                  request->value_type, count, list);
}

static int call_usage(const struct nvidia_request *request, unsigned *count, void *list)
{
    return request->nvml->process_usage(request->device, list, count, request->last_us);
}

static int compare_samples(const void *left, const void *right)
{
    const struct nvml_sample *a = left, *b = right;

    return compare_u64(a->stamp_us, b->stamp_us);
}

static int compare_usage(const void *left, const void *right)
{
    const struct nvml_process_usage *a = left, *b = right;

    return compare_u64(a->stamp_us, b->stamp_us);
}

ssize_t nvidia_usage_get(const struct nvidia_subject *of, uint64_t last_us)
{
    struct nvidia_request request = { of->nvml, of->device, .last_us = last_us };
    struct nvidia_buffer *usage = &of->buffers->usage;
    ssize_t n = nvidia_fetch(usage, sizeof(struct nvml_process_usage), SAMPLES_MAX, call_usage,
                             &request);

    if (n > 1)
        qsort(usage->list, (size_t)n, sizeof(struct nvml_process_usage), compare_usage);
    return n;
}

/* ---- the meters of a device ---------------------------------------------- */

static uint64_t time_of_day_us(void)
{
    return clock_now().realtime_ns / NS_PER_US;
}

static int poll_rate(const struct nvidia_subject *of, enum nvidia_meter_kind kind,
                     unsigned *ret_percent)
{
    nvml_engine_function *engine =
        kind == METER_ENCODER ? of->nvml->encoder : of->nvml->decoder;
    struct nvml_rates rates = { 0 };
    unsigned period_us = 0;
    int status = NVML_NOT_SUPPORTED;

    if (kind != METER_GPU && engine)
        status = engine(of->device, ret_percent, &period_us);
    if (kind == METER_GPU && of->nvml->rates) {
        status = of->nvml->rates(of->device, &rates);
        *ret_percent = rates.gpu_percent;
    }
    return nvml_errno(status);
}

void nvidia_meters_init(struct nvidia_meters *ret, const struct nvidia_subject *of,
                        uint64_t now_ns)
{
    uint64_t now_us = time_of_day_us();

    *ret = (struct nvidia_meters){ .of = of };
    for (unsigned kind = 0; kind < METER_COUNT; kind++) {
        struct nvidia_meter *meter = &ret->list[kind];

        busy_meter_begin(&meter->busy, now_us);
        meter->polled_ns = now_ns;
        meter->pace.due_ns = now_ns + kinds[kind].least_ns;
    }
}

/* Reads samples. The first reading fetches all samples, to check whether the driver has any. */
static int read_samples(struct nvidia_meter *meter, enum nvidia_meter_kind kind,
                        const struct nvidia_subject *of)
{
    uint64_t now_us = time_of_day_us();
    int value_type = NVML_UNSIGNED;
    struct nvidia_request request = { .nvml = of->nvml,
                                      .device = of->device,
                                      .sampling = (int)kinds[kind].sampling,
                                      .value_type = &value_type };
    struct nvml_sample *list;
    ssize_t n;

    if (!of->nvml->samples)
        return -ENOTSUP;
    busy_meter_check_clock(&meter->busy, now_us);
    request.last_us = meter->source == METER_UNTRIED ? 0 : meter->busy.last_us;
    n = nvidia_fetch(&of->buffers->samples, sizeof(*list), SAMPLES_MAX, call_samples, &request);
    list = of->buffers->samples.list;
    if (n > 1)
        qsort(list, (size_t)n, sizeof(*list), compare_samples);
    for (ssize_t i = 0; i < n; i++)
        (void)busy_meter_add(&meter->busy, list[i].stamp_us,
                             nvidia_sample_percent(list[i].value, value_type), now_us);
    return n < 0 ? (int)n : 0;
}

static int read_rate(struct nvidia_meter *meter, enum nvidia_meter_kind kind,
                     const struct nvidia_subject *of, uint64_t now_ns)
{
    uint64_t span_ns = sub_floor0(now_ns, meter->polled_ns);
    unsigned percent = 0;
    int r = poll_rate(of, kind, &percent);

    meter->polled_ns = now_ns;
    if (r == 0)
        busy_meter_add_span(&meter->busy, smaller(span_ns, POLLED_MAX_NS), percent);
    return r;
}

/* Reads the share of time in which a kernel ran. The first reading only takes the snapshot with
 * which the next one is compared. */
static int read_gpm(struct nvidia_meters *meters, uint64_t now_ns)
{
    static const enum nvml_gpm_id id = NVML_GPM_GRAPHICS_UTILISATION;
    struct nvidia_meter *meter = &meters->list[METER_GPU];
    uint64_t span_ns = 0;
    int r;

    if (meter->source == METER_UNTRIED)
        return nvidia_gpm_open(&meters->gpm, meters->of, now_ns);
    r = nvidia_gpm_read(&meters->gpm, meters->of, now_ns, &id, 1, &span_ns);
    if (r == 0)
        r = nvml_errno(meters->gpm.metrics->metrics[0].status);
    if (r == 0)
        busy_meter_add_span(&meter->busy, span_ns, meters->gpm.metrics->metrics[0].value);
    return r;
}

static int read_from(struct nvidia_meters *meters, enum nvidia_meter_kind kind,
                     enum nvidia_meter_source source, uint64_t now_ns)
{
    switch (source) {
    case METER_SAMPLES:
        return read_samples(&meters->list[kind], kind, meters->of);
    case METER_GPM:
        return kind == METER_GPU ? read_gpm(meters, now_ns) : -ENOTSUP;
    case METER_POLLED:
        return read_rate(&meters->list[kind], kind, meters->of, now_ns);
    case METER_UNTRIED:
    case METER_NONE:
        break;
    }
    return -ENOTSUP;
}

/* Makes the first reading, from the best source that works. If no source works, but one of them
 * failed with a temporary error, all are tried again later. */
static int find_source(struct nvidia_meters *meters, enum nvidia_meter_kind kind,
                       uint64_t now_ns)
{
    struct nvidia_meter *meter = &meters->list[kind];
    bool may_pass = false;

    for (unsigned source = METER_SAMPLES; source != METER_NONE; source++) {
        int r = read_from(meters, kind, source, now_ns);

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

void nvidia_meters_find_sources(struct nvidia_meters *meters, uint64_t now_ns)
{
    for (unsigned kind = 0; kind < METER_COUNT; kind++)
        (void)find_source(meters, kind, now_ns); /* on failure there is no source yet */
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

/* Whether the cores were idle too, or no sample of a process shows work on this engine. */
static bool seems_idle(const struct nvidia_meters *meters, const struct nvidia_meter *meter)
{
    return (meters->has_usage && !meter->may_have_worked) ||
           meters->list[METER_GPU].busy.busy_ns == meter->gpu_busy_ns;
}

/* Counts an encoder or decoder as idle, up to the cores' last sample, if it seems to be
 * idle. */
static bool passes_as_idle(struct nvidia_meters *meters, enum nvidia_meter_kind kind)
{
    struct nvidia_meter *meter = &meters->list[kind];
    unsigned percent = 0;

    if (kind == METER_GPU || meter->source == METER_POLLED || !nvidia_meters_see_all(meters) ||
        !seems_idle(meters, meter) || poll_rate(meters->of, kind, &percent) < 0 || percent != 0)
        return false;
    busy_meter_check_clock(&meter->busy, time_of_day_us());
    busy_meter_add_idle(&meter->busy, meters->list[METER_GPU].busy.last_us);
    return true;
}

static int read_if_due(struct nvidia_meters *meters, enum nvidia_meter_kind kind,
                       uint64_t now_ns)
{
    struct nvidia_meter *meter = &meters->list[kind];
    uint64_t least_ns = kinds[kind].least_ns;
    uint64_t busy_ns = meter->busy.busy_ns;
    int r = 0;

    if (meter->source == METER_NONE || !nvidia_pace_begin(&meter->pace, now_ns))
        return 0;
    if (!passes_as_idle(meters, kind))
        r = meter->source == METER_UNTRIED ? find_source(meters, kind, now_ns)
                                           : read_from(meters, kind, meter->source, now_ns);
    meter->may_have_worked = false;
    meter->gpu_busy_ns = meters->list[METER_GPU].busy.busy_ns;
    if (meter->source == METER_SAMPLES && meter->busy.busy_ns == busy_ns)
        least_ns = kinds[kind].most_ns; /* an idle encoder is rarely read */
    else if (meter->source == METER_POLLED)
        least_ns = 0;
    nvidia_pace_end(&meter->pace, now_ns, least_ns, kinds[kind].most_ns);
    return r;
}

void nvidia_meters_read(struct nvidia_meters *meters, uint64_t now_ns)
{
    for (unsigned kind = 0; kind < METER_COUNT; kind++)
        (void)read_if_due(meters, kind, now_ns); /* the meter is unchanged on failure */
}

int nvidia_meters_read_gpu(struct nvidia_meters *meters, uint64_t now_ns)
{
    meters->list[METER_GPU].pace.due_ns = 0;
    return read_if_due(meters, METER_GPU, now_ns);
}

void nvidia_meters_refresh(struct nvidia_meters *meters)
{
    for (unsigned kind = 0; kind < METER_COUNT; kind++)
        meters->list[kind].pace.due_ns = 0;
}
