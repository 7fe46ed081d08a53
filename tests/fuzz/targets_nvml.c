/* SPDX-License-Identifier: Apache-2.0 */
/*
 * targets_nvml.c - a hostile NVIDIA library: every call returns bytes of the input. It respects
 * only NVML's contract about memory: it never writes beyond a buffer, and it terminates
 * strings.
 *
 * The input begins with a byte of flags and eight bytes that are a mask of the missing optional
 * calls.
 */
#include <stddef.h>
#include <string.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "base/root.h"
#include "fuzz.h"
#include "source/gpu/nvidia.h"

enum { IS_NESTED = 1, HAS_STRIDE_16 = 2, HAS_STRIDE_32 = 4 };

static struct {
    const unsigned char *at;
    size_t left;
    unsigned flags;
    uint64_t missing;
} script;

static void take(void *to, size_t size)
{
    size_t n = size < script.left ? size : script.left;

    memset(to, 0, size);
    memcpy(to, script.at, n);
    script.at += n;
    script.left -= n;
}

/* Returns success for half of the byte values, and at the end of the input. */
static int take_status(void)
{
    unsigned char byte;

    take(&byte, 1);
    return byte < 128 ? NVML_SUCCESS : byte % 21;
}

static int take_text(char *text, unsigned size)
{
    unsigned char length;

    take(&length, 1);
    if (size == 0)
        return take_status();
    length = length < size ? length : (unsigned char)(size - 1);
    take(text, length);
    text[length] = '\0';
    return take_status();
}

/* Fills a list. `*count` is the capacity of the list; it is set to the number of elements,
 * which may be larger. */
static int take_list(unsigned *count, void *list, size_t size)
{
    unsigned told;
    unsigned char byte;

    take(&byte, 1);
    if (byte == 255)
        take(&told, sizeof(told));
    else
        told = byte % 8;
    for (unsigned i = 0; list && i < told && i < *count && script.left > 0; i++)
        take((char *)list + i * size, size);
    *count = told;
    return take_status();
}

/* ---- calls ------------------------------------------------------------------------------- */

static int own_init(void)
{
    return NVML_SUCCESS;
}

static const char *own_error_text(int status)
{
    return status == NVML_SUCCESS ? "Success" : "Unknown Error";
}

static int own_count(unsigned *ret)
{
    unsigned char byte;

    take(&byte, 1);
    *ret = byte == 255 ? UINT32_MAX : byte % 4;
    return take_status();
}

static int own_count_of(UNUSED nvml_device device, unsigned *ret)
{
    return own_count(ret);
}

static int own_by_index(unsigned index, nvml_device *ret)
{
    *ret = (nvml_device)(uintptr_t)(index + 1);
    return take_status();
}

static int own_text(UNUSED nvml_device device, char *buf, unsigned size)
{
    return take_text(buf, size);
}

static int own_pci(UNUSED nvml_device device, struct nvml_pci *ret)
{
    take(ret, sizeof(*ret) - sizeof(ret->rest));
    return take_status();
}

#define OWN(name, type)                                  \
    static int own_##name(nvml_device device, type *ret) \
    {                                                    \
        (void)device;                                    \
        take(ret, sizeof(*ret));                         \
        return take_status();                            \
    }

OWN(unsigned, unsigned)
OWN(long, unsigned long long)
OWN(int, int)
OWN(memory, struct nvml_memory)
OWN(memory_v2, struct nvml_memory_v2)
OWN(rates, struct nvml_rates)
OWN(temperature_v, struct nvml_temperature)
OWN(gpm_support, struct nvml_gpm_support)

static int own_sensor(nvml_device device, UNUSED int sensor, unsigned *ret)
{
    return own_unsigned(device, ret);
}

static int own_pair(nvml_device device, unsigned *ret, unsigned *ret_other)
{
    take(ret_other, sizeof(*ret_other));
    return own_unsigned(device, ret);
}

static int own_samples(UNUSED nvml_device device, UNUSED int type,
                       UNUSED unsigned long long last_seen_us, int *ret_value_type,
                       unsigned *count, struct nvml_sample *list)
{
    take(ret_value_type, sizeof(*ret_value_type));
    *ret_value_type %= 8;
    return take_list(count, list, sizeof(*list));
}

static int own_processes(UNUSED nvml_device device, unsigned *count, void *list)
{
    return take_list(count, list,
                     script.flags & HAS_STRIDE_16   ? 16
                     : script.flags & HAS_STRIDE_32 ? 32
                                                    : 24);
}

static int own_process_usage(UNUSED nvml_device device, struct nvml_process_usage *list,
                             unsigned *count, UNUSED unsigned long long last_seen_us)
{
    return take_list(count, list, sizeof(*list));
}

static int own_accounting_pids(UNUSED nvml_device device, unsigned *count, unsigned *pids)
{
    return take_list(count, pids, sizeof(*pids));
}

static int own_accounting(UNUSED nvml_device device, UNUSED unsigned pid,
                          struct nvml_accounting *ret)
{
    take(ret, sizeof(*ret));
    return take_status();
}

static int own_part(UNUSED nvml_device device, unsigned index, nvml_device *ret)
{
    return own_by_index(index + 100, ret);
}

static char gpm_samples[2]; /* only their addresses are used */

static int own_gpm_alloc(nvml_gpm_sample *ret)
{
    *ret = (nvml_gpm_sample)(void *)&gpm_samples[0];
    return take_status();
}

static int own_gpm_free(nvml_gpm_sample sample)
{
    CHECK(sample == (nvml_gpm_sample)(void *)&gpm_samples[0]);
    return NVML_SUCCESS;
}

static int own_gpm_get(UNUSED nvml_device device, UNUSED nvml_gpm_sample sample)
{
    return take_status();
}

static int own_gpm_mig_get(nvml_device device, UNUSED unsigned gpu_instance,
                           nvml_gpm_sample sample)
{
    return own_gpm_get(device, sample);
}

static int own_gpm_metrics(struct nvml_gpm_metrics *metrics)
{
    for (unsigned i = 0; i < metrics->count; i++) {
        take(&metrics->metrics[i].value, sizeof(metrics->metrics[i].value));
        metrics->metrics[i].status = take_status();
    }
    return take_status();
}

static const struct nvml liar = {
    .init = own_init,
    .shutdown = own_init,
    .error_text = own_error_text,
    .driver_version = take_text,
    .device_count = own_count,
    .device_by_index = own_by_index,
    .name = own_text,
    .uuid = own_text,
    .pci = own_pci,
    .memory = own_memory,
    .memory_v2 = own_memory_v2,
    .power = own_unsigned,
    .energy = own_long,
    .temperature = own_sensor,
    .temperature_v = own_temperature_v,
    .clock = own_sensor,
    .throttle = own_long,
    .samples = own_samples,
    .rates = own_rates,
    .encoder = own_pair,
    .decoder = own_pair,
    .lists = { { own_processes, 24 }, { own_processes, 24 }, { own_processes, 24 } },
    .process_usage = own_process_usage,
    .accounting_mode = own_int,
    .accounting_pids = own_accounting_pids,
    .accounting = own_accounting,
    .mig_mode = own_pair,
    .mig_count = own_count_of,
    .mig_by_index = own_part,
    .gpu_instance = own_unsigned,
    .gpm_support = own_gpm_support,
    .gpm_alloc = own_gpm_alloc,
    .gpm_free = own_gpm_free,
    .gpm_get = own_gpm_get,
    .gpm_mig_get = own_gpm_mig_get,
    .gpm_metrics = own_gpm_metrics,
};

/* ---- in place of the library --------------------------------------------------------------- */

int __wrap_nvml_open(struct nvml *ret, struct spoor_error *err);
void __wrap_nvml_close(struct nvml *nvml);
bool __wrap_nvml_may_be_here(const struct root *root);

static void drop_calls(struct nvml *nvml, size_t from, size_t until)
{
    for (size_t at = from; at < until; at += sizeof(void *), script.missing >>= 1)
        if (script.missing & 1)
            memset((char *)nvml + at, 0, sizeof(void *));
}

int __wrap_nvml_open(struct nvml *ret, UNUSED struct spoor_error *err)
{
    *ret = liar;
    for (size_t i = 0; i < NVML_LIST_COUNT; i++)
        ret->lists[i].stride_bytes = script.flags & HAS_STRIDE_16   ? 16
                                     : script.flags & HAS_STRIDE_32 ? 32
                                                                    : 24;
    drop_calls(ret, offsetof(struct nvml, name), offsetof(struct nvml, lists));
    drop_calls(ret, offsetof(struct nvml, process_usage), sizeof(*ret));
    return 0;
}

void __wrap_nvml_close(struct nvml *nvml)
{
    memset(nvml, 0, sizeof(*nvml));
}

bool __wrap_nvml_may_be_here(UNUSED const struct root *root)
{
    return true;
}

static void check_device(const struct gpu_device *device)
{
    CHECK_ENDED(device->uuid);
    CHECK_ENDED(device->name);
    CHECK_ENDED(device->pci_address);
    CHECK_ENDED(device->driver_version);
}

static void read_all(void *state, uint64_t now_ns)
{
    enum { CAPACITY = 16 };
    static const pid_t list[] = { 1, 41, 42 };
    static const struct gpu_pids pids = { list, ARRAY_SIZE(list) };
    struct gpu_process processes[CAPACITY];
    struct gpu_record accounts[CAPACITY];
    struct gpu_reading reading;
    struct gpu_work work;
    size_t count = gpu_nvidia.device_count(state);
    ssize_t n;

    for (size_t i = 0; i < count; i++) {
        check_device(gpu_nvidia.device(state, i));
        if (gpu_nvidia.read(state, i, now_ns, &reading) == 0)
            CHECK((reading.throttle_reasons & ~7ull) == 0 || !~reading.throttle_reasons);
        gpu_nvidia.work(state, i, now_ns, true, false, &work);
        for (int kind = 0; kind < GPU_WORK_SHARES; kind++)
            CHECK(work.counts[kind] <= work.covered_ns || work.reason);
    }
    n = gpu_nvidia.processes(state, &pids, processes, CAPACITY);
    for (ssize_t i = 0; i < n && i < CAPACITY; i++)
        CHECK(processes[i].pid > 0 && processes[i].device < count);
    for (size_t i = 0; i < count; i++)
        (void)gpu_nvidia.memory_used(state, i);
    (void)gpu_nvidia.read_busy(state, &pids, now_ns);
    n = gpu_nvidia.accounts(state, &pids, accounts, CAPACITY);
    for (ssize_t i = 0; i < n && i < CAPACITY; i++)
        CHECK(accounts[i].device < count);
}

static void run_nvml(char *text, size_t length)
{
    char name[] = "proc/self/ns/pid > pid:[4026532871]", nothing[] = "";
    const struct fuzz_part link = { name, nothing, 0 };
    struct spoor_error err = { 0 };
    uint64_t now_ns = clock_now().monotonic_ns;
    struct root root;
    void *state = NULL;

    script.at = (const unsigned char *)text;
    script.left = length;
    script.flags = 0;
    take(&script.flags, 1);
    take(&script.missing, sizeof(script.missing));
    root = *fuzz_root(&link, script.flags & IS_NESTED ? 1 : 0);
    root.is_live = true;
    if (gpu_nvidia.open(&root, &state, &err) < 0) {
        CHECK_ENDED(err.message);
        return;
    }
    gpu_nvidia.begin(state);
    read_all(state, now_ns);
    gpu_nvidia.refresh(state);
    read_all(state, now_ns + NS_PER_SECOND);
    gpu_nvidia.close(state);
}

const struct fuzz_target nvml_targets[] = {
    { "nvml", run_nvml, 8 },
    { NULL, NULL, 0 },
};
