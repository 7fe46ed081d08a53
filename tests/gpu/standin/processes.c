/* SPDX-License-Identifier: Apache-2.0 */
/* processes.c - the stand-in's process lists, samples and accounting data. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "standin.h"

#if STANDIN_GENERATION > GENERATION_BARE

/* Returns true if the script demands that the buffer be too small; *count is then one more than
 * `room`. */
static bool has_grown(const char *call, unsigned room, unsigned *count)
{
    const char *line;
    char words[96];

    (void)snprintf(words, sizeof(words), "grow %s", call);
    line = script_last(standin_script(), words);
    if (!line || standin_times(call) >= script_number(&line, 0))
        return false;
    *count = room + 1;
    return true;
}

/* Returns the number of elements that the call reports as written; the script may override
 * it. */
static unsigned said(const char *call, size_t written)
{
    const char *line;
    char words[96];

    (void)snprintf(words, sizeof(words), "flood %s", call);
    line = script_last(standin_script(), words);
    return line ? (unsigned)script_number(&line, 0) : (unsigned)written;
}

/* Returns the index of a process in the list written so far; `found` if it is not listed. */
static size_t place_of(unsigned pid, const char *list, size_t stride, size_t found)
{
    size_t place = 0;
    unsigned written;

    for (; place < found; place++) {
        memcpy(&written, list + place * stride, sizeof(written));
        if (written == pid)
            break;
    }
    return place;
}

static void write_process(char *at, size_t stride, unsigned pid, unsigned long long bytes)
{
    /* Padding has no defined value. */
    memset(at, 0xa5, stride);
    memcpy(at, &pid, sizeof(pid));
    memcpy(at + 8, &bytes, sizeof(bytes));
}

static int list_processes(const char *call, nvml_device device, const char *kind, size_t stride,
                          unsigned *count, char *list)
{
    int status = standin_enter(call, device);
    size_t room = *count, found = 0;
    const char *line;
    char words[96];

    if (status || has_grown(call, (unsigned)room, count))
        return status ? status : NVML_INSUFFICIENT_SIZE;
    (void)standin_words(words, "process", device, kind);
    for (size_t n = 0; (line = script_line(standin_script(), n, words)); n++) {
        unsigned pid = (unsigned)script_number(&line, 0);
        bool is_gone = strncmp(line, " gone", 5) == 0;
        unsigned long long bytes = script_number(&line, UINT64_MAX);
        size_t place = place_of(pid, list, stride, found < room ? found : room);

        if (place < found && place < room && is_gone)
            memmove(list + place * stride, list + (place + 1) * stride,
                    (--found - place) * stride);
        if (is_gone)
            continue;
        if (place < room)
            write_process(list + place * stride, stride, pid, bytes);
        found += place == found || place == room;
    }
    *count = found > room ? (unsigned)found : said(call, found);
    return found > room ? NVML_INSUFFICIENT_SIZE : NVML_SUCCESS;
}

#define LIST(name, kind, stride)                                         \
    EXPORT int name(nvml_device device, unsigned *count, void *list)     \
    {                                                                    \
        return list_processes(#name, device, kind, stride, count, list); \
    }

LIST(nvmlDeviceGetComputeRunningProcesses, "compute", 16)
LIST(nvmlDeviceGetGraphicsRunningProcesses, "graphics", 16)
#if STANDIN_GENERATION > GENERATION_V340
LIST(nvmlDeviceGetComputeRunningProcesses_v2, "compute", 24)
LIST(nvmlDeviceGetGraphicsRunningProcesses_v2, "graphics", 24)
LIST(nvmlDeviceGetMPSComputeRunningProcesses_v2, "mps", 24)
#endif
#if STANDIN_GENERATION > GENERATION_V470
#define STRIDE_V3 (STANDIN_GENERATION == GENERATION_V530 ? 32 : 24)
LIST(nvmlDeviceGetComputeRunningProcesses_v3, "compute", STRIDE_V3)
LIST(nvmlDeviceGetGraphicsRunningProcesses_v3, "graphics", STRIDE_V3)
LIST(nvmlDeviceGetMPSComputeRunningProcesses_v3, "mps", STRIDE_V3)
#endif
#if STANDIN_GENERATION > GENERATION_V510
EXPORT int nvmlDeviceGetConfComputeMemSizeInfo(nvml_device device, void *ret)
{
    (void)device;
    (void)ret;
    return NVML_NOT_SUPPORTED;
}
#endif
#endif

#if STANDIN_GENERATION > GENERATION_V340

/* A list of samples that is being filled. `put` writes a sample to `list[found]`; `found`
 * counts all samples, even those beyond `room`. */
struct samples {
    size_t room, found;
    void (*put)(struct samples *samples, unsigned pid, uint64_t stamp_us, unsigned value);
    void *list;
};

static void put_if_newer(struct samples *samples, unsigned pid, uint64_t stamp_us,
                         uint64_t last_us, unsigned value)
{
    if (stamp_us <= last_us)
        return;
    if (samples->found < samples->room)
        samples->put(samples, pid, stamp_us, value);
    samples->found++;
}

static void put_exact(struct samples *samples, const char *words, bool has_pid,
                      uint64_t last_us)
{
    const char *line;

    for (size_t n = 0; (line = script_line(standin_script(), n, words)); n++) {
        unsigned pid = has_pid ? (unsigned)script_number(&line, 0) : 0;
        uint64_t stamp_us = script_number(&line, 0);

        put_if_newer(samples, pid, stamp_us, last_us, (unsigned)script_number(&line, 0));
    }
}

static void put_stream(struct samples *samples, const char *words, bool has_pid,
                       uint64_t last_us)
{
    uint64_t now_us = script_realtime_us();
    const char *line;

    for (size_t n = 0; (line = script_line(standin_script(), n, words)); n++) {
        unsigned pid = has_pid ? (unsigned)script_number(&line, 0) : 0;
        uint64_t period_us = script_number(&line, 200) * 1000;
        unsigned value = (unsigned)script_number(&line, 0);

        for (uint64_t stamp_us = standin_started_us(); stamp_us <= now_us;
             stamp_us += period_us)
            if (stamp_us + 14000000 > now_us) /* the driver keeps samples for 14 s */
                put_if_newer(samples, pid, stamp_us, last_us, value);
    }
}

static void put_sample(struct samples *samples, unsigned pid, uint64_t stamp_us, unsigned value)
{
    struct nvml_sample *list = samples->list;
    const char *type = script_last(standin_script(), "value_type");
    struct nvml_sample *sample = &list[samples->found];

    (void)pid;
    memset(sample, 0xa5, sizeof(*sample));
    sample->stamp_us = stamp_us;
    switch (type ? script_number(&type, NVML_UNSIGNED) : NVML_UNSIGNED) {
    case NVML_DOUBLE:
        sample->value.as_double = value;
        break;
    case NVML_UNSIGNED_LONG_LONG:
        sample->value.as_unsigned_long_long = value;
        break;
    default:
        sample->value.as_unsigned = value;
        break;
    }
}

EXPORT int nvmlDeviceGetSamples(nvml_device device, int type, unsigned long long last_us,
                                int *value_type, unsigned *count, struct nvml_sample *list)
{
    static const char *const kinds[] = { [NVML_SAMPLE_GPU] = "gpu",
                                         [NVML_SAMPLE_ENCODER] = "encoder",
                                         [NVML_SAMPLE_DECODER] = "decoder" };
    struct samples samples = { .room = list ? *count : 0, .put = put_sample, .list = list };
    int status = standin_enter("nvmlDeviceGetSamples", device);
    const char *line = script_last(standin_script(), "value_type");
    char words[96];

    if (status)
        return status;
    put_exact(&samples, standin_words(words, "sample", device, kinds[type]), false, last_us);
    put_stream(&samples, standin_words(words, "stream", device, kinds[type]), false, last_us);
    *value_type = line ? (int)script_number(&line, NVML_UNSIGNED) : NVML_UNSIGNED;
    *count = (unsigned)samples.found;
    if (!list)
        return NVML_SUCCESS;
    if (samples.found > samples.room)
        return NVML_INSUFFICIENT_SIZE;
    return samples.found == 0 ? NVML_NOT_FOUND : NVML_SUCCESS;
}

static unsigned encoder_percent(void)
{
    const char *line = script_last(standin_script(), "encoding");

    return line ? (unsigned)script_number(&line, 0) : 0;
}

static void put_process_usage(struct samples *samples, unsigned pid, uint64_t stamp_us,
                              unsigned value)
{
    struct nvml_process_usage *list = samples->list;

    list[samples->found] = (struct nvml_process_usage){ .pid = pid,
                                                        .stamp_us = stamp_us,
                                                        .sm_percent = value,
                                                        .encoder_percent = encoder_percent() };
}

/* One process sample of the script. */
struct usage_sample {
    unsigned pid, percent;
    uint64_t stamp_us;
};

enum { USAGE_MAX = 4096 };

/* Returns whether the process was on a list of the device but is no longer. */
static bool has_ended(const char *device, unsigned pid)
{
    static const char *const lists[] = { "compute", "graphics", "mps" };
    bool is_gone = false;

    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
        const char *line;
        char words[96];

        (void)snprintf(words, sizeof(words), "process %s %s %u", device, lists[i], pid);
        line = script_last(standin_script(), words);
        if (line && strncmp(line, "gone", 4) != 0)
            return false;
        is_gone |= line != NULL;
    }
    return is_gone;
}

static void gather_usage(struct samples *samples, unsigned pid, uint64_t stamp_us,
                         unsigned value)
{
    struct usage_sample *list = samples->list;

    list[samples->found] =
        (struct usage_sample){ .pid = pid, .percent = value, .stamp_us = stamp_us };
}

static size_t count_stamps(const struct usage_sample *list, size_t count)
{
    size_t stamps = 0;

    for (size_t i = 0; i < count; i++) {
        bool is_new = true;

        for (size_t j = 0; j < i; j++)
            is_new &= list[j].stamp_us != list[i].stamp_us;
        stamps += is_new;
    }
    return stamps;
}

/* Removes the samples of exited processes. Returns the number of remaining samples. */
static size_t leave_out_ended(nvml_device device, struct usage_sample *list, size_t count)
{
    size_t kept = 0;

    for (size_t i = 0; i < count; i++)
        if (!has_ended(standin_node(device)->name, list[i].pid))
            list[kept++] = list[i];
    return kept;
}

/* Like a driver, reports one value per living process: its mean over all time stamps at which
 * any living process has a sample. Impossible values are returned unchanged. */
static void put_means(struct samples *samples, const struct usage_sample *list, size_t count)
{
    size_t stamps = count_stamps(list, count);

    for (size_t i = 0; i < count; i++) {
        uint64_t sum = 0, newest_us = 0;
        bool is_first = true;

        for (size_t j = 0; j < count; j++) {
            if (list[j].pid != list[i].pid)
                continue;
            is_first &= j >= i;
            sum += list[j].percent;
            newest_us = list[j].stamp_us > newest_us ? list[j].stamp_us : newest_us;
        }
        if (is_first)
            put_if_newer(samples, list[i].pid, newest_us, 0, (unsigned)(sum / stamps));
    }
}

static int put_usage(const char *call, nvml_device device, struct samples *samples,
                     uint64_t last_us, unsigned *count)
{
    static _Thread_local struct usage_sample list[USAGE_MAX];
    struct samples all = { .room = USAGE_MAX, .put = gather_usage, .list = list };
    int status = standin_enter(call, device);
    char words[96];

    if (status || has_grown(call, *count, count))
        return status ? status : NVML_INSUFFICIENT_SIZE;
    put_exact(&all, standin_words(words, "usage", device, ""), true, last_us);
    put_stream(&all, standin_words(words, "busy", device, ""), true, last_us);
    put_means(samples, list,
              leave_out_ended(device, list, all.found < USAGE_MAX ? all.found : USAGE_MAX));
    *count = (unsigned)samples->found;
    if (samples->found > samples->room)
        return NVML_INSUFFICIENT_SIZE;
    return samples->found == 0 ? NVML_NOT_FOUND : NVML_SUCCESS;
}

EXPORT int nvmlDeviceGetProcessUtilization(nvml_device device, struct nvml_process_usage *list,
                                           unsigned *count, unsigned long long last_us)
{
    struct samples samples = { .room = *count, .put = put_process_usage, .list = list };

    return put_usage("nvmlDeviceGetProcessUtilization", device, &samples, last_us, count);
}

EXPORT int nvmlDeviceGetAccountingMode(nvml_device device, int *ret)
{
    int status = standin_enter("nvmlDeviceGetAccountingMode", device);
    uint64_t value = 0;

    (void)standin_number(device, "accounting", &value);
    *ret = (int)value;
    return status;
}

EXPORT int nvmlDeviceGetAccountingPids(nvml_device device, unsigned *count, unsigned *pids)
{
    int status = standin_enter("nvmlDeviceGetAccountingPids", device);
    unsigned room = *count, found = 0;
    const char *line;
    char words[96];

    if (status)
        return status;
    (void)standin_words(words, "account", device, "");
    for (; (line = script_line(standin_script(), found, words)); found++)
        if (found < room)
            pids[found] = (unsigned)script_number(&line, 0);
    *count = found;
    return found > room ? NVML_INSUFFICIENT_SIZE : NVML_SUCCESS;
}

EXPORT int nvmlDeviceGetAccountingStats(nvml_device device, unsigned pid,
                                        struct nvml_accounting *ret)
{
    int status = standin_enter("nvmlDeviceGetAccountingStats", device);
    const char *line;
    char words[96];

    if (status)
        return status;
    (void)standin_words(words, "account", device, "");
    for (size_t n = 0; (line = script_line(standin_script(), n, words)); n++) {
        if (script_number(&line, 0) != pid)
            continue;
        ret->max_memory_bytes = script_number(&line, UINT64_MAX);
        ret->time_ms = script_number(&line, 0);
        ret->start_us = script_number(&line, 0);
        ret->is_running = (unsigned)script_number(&line, 0);
        ret->gpu_percent = (unsigned)script_number(&line, UINT32_MAX);
        return NVML_SUCCESS;
    }
    return NVML_NOT_FOUND;
}
#endif

#if STANDIN_GENERATION == GENERATION_FULL
EXPORT int nvmlDeviceGetRunningProcessDetailList(nvml_device device, void *ret)
{
    (void)device;
    (void)ret;
    return NVML_NOT_SUPPORTED;
}
#endif
