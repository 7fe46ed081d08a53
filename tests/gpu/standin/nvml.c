/* SPDX-License-Identifier: Apache-2.0 */
/* nvml.c - a libnvidia-ml.so.1 that plays a script (script.h): devices and their figures. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "standin.h"

#define DEVICES 16
#define PARTS 8

/* Each calling thread has its own state, because several threads may call NVML at once. */
static _Thread_local struct {
    struct script script;
    struct node wholes[DEVICES], parts[DEVICES][PARTS];
    uint64_t started_ns, started_us;
    struct {
        char call[64];
        unsigned times;
    } grown[8];
} standin;

const struct script *standin_script(void)
{
    return &standin.script;
}

uint64_t standin_started_us(void)
{
    return standin.started_us;
}

const struct node *standin_node(nvml_device device)
{
    return (const struct node *)(const void *)device;
}

static nvml_device handle_of(struct node *node)
{
    return (nvml_device)(void *)node;
}

const char *standin_words(char buf[96], const char *word, nvml_device device, const char *rest)
{
    (void)snprintf(buf, 96, "%s %s%s%s", word, standin_node(device)->name, *rest ? " " : "",
                   rest);
    return buf;
}

bool standin_number(nvml_device device, const char *key, uint64_t *ret)
{
    char words[96];
    const char *line =
        script_last(&standin.script, standin_words(words, "device", device, key));

    if (!line)
        return false;
    *ret = script_number(&line, UINT64_MAX);
    return true;
}

unsigned standin_times(const char *call)
{
    for (size_t i = 0; i < sizeof(standin.grown) / sizeof(standin.grown[0]); i++) {
        if (strcmp(standin.grown[i].call, call) == 0)
            return standin.grown[i].times++;
        if (standin.grown[i].call[0] == '\0') {
            (void)snprintf(standin.grown[i].call, sizeof(standin.grown[i].call), "%s", call);
            return standin.grown[i].times++;
        }
    }
    return 0;
}

/* Returns the rest of the script's last line "WORD CALL ..."; NULL if there is no such line. */
static const char *said_of(const char *word, const char *call)
{
    char words[96];

    (void)snprintf(words, sizeof(words), "%s %s", word, call);
    return script_last(&standin.script, words);
}

/* Blocks for as long as the script demands. The script may change meanwhile. */
static void block(const char *call)
{
    const struct timespec pause = { 0, 5000000 };
    uint64_t from_ns = script_monotonic_ns();
    const char *line;

    while (script_is_there() && (line = said_of("block", call)) &&
           script_monotonic_ns() - from_ns < script_number(&line, 0) * 1000000) {
        (void)nanosleep(&pause, NULL);
        script_load(&standin.script, standin.started_ns);
    }
}

/* Uses as much CPU time as the script demands, including the time for reading the script. */
static void spend_cpu(const char *call, uint64_t since_ns)
{
    const char *line = said_of("cost", call);

    if (!line)
        line = said_of("cost", "any");
    if (!line)
        return;
    since_ns += script_number(&line, 0) * 1000;
    while (script_cpu_ns() < since_ns)
        continue;
}

int standin_enter(const char *call, nvml_device device)
{
    uint64_t entered_ns = script_cpu_ns();
    const char *line;
    char name[80];

    script_note_call(call);
    script_load(&standin.script, standin.started_ns);
    block(call);
    spend_cpu(call, entered_ns);
    line = said_of("fail", call);
    if (!line && device) {
        (void)snprintf(name, sizeof(name), "%s@%s", call, standin_node(device)->name);
        line = said_of("fail", name);
    }
    return line ? (int)script_number(&line, 0) : 0;
}

static int init(void)
{
    int status;

    standin.started_ns = script_monotonic_ns();
    memset(standin.grown, 0, sizeof(standin.grown));
    for (int i = 0; i < DEVICES; i++) {
        (void)snprintf(standin.wholes[i].name, sizeof(standin.wholes[i].name), "%d", i);
        for (int j = 0; j < PARTS; j++)
            (void)snprintf(standin.parts[i][j].name, sizeof(standin.parts[i][j].name), "%d.%d",
                           i, j);
    }
    status = standin_enter("nvmlInit", NULL);
    standin.started_us = script_realtime_us(); /* sample streams start here */
    return status;
}

static int device_by_index(unsigned index, nvml_device *ret)
{
    int status;

    if (index >= DEVICES)
        return NVML_INVALID_ARGUMENT;
    *ret = handle_of(&standin.wholes[index]);
    status = standin_enter("nvmlDeviceGetHandleByIndex", *ret);
    return status;
}

static int device_count(unsigned *ret)
{
    int status = standin_enter("nvmlDeviceGetCount", NULL);
    char words[96];

    *ret = 0;
    for (unsigned i = 0; i < DEVICES; i++)
        if (script_last(&standin.script,
                        standin_words(words, "device", handle_of(&standin.wholes[i]), "")))
            *ret = i + 1;
    return status;
}

#if STANDIN_GENERATION > GENERATION_V340
EXPORT int nvmlInit_v2(void)
{
    return init();
}

EXPORT int nvmlDeviceGetCount_v2(unsigned *ret)
{
    return device_count(ret);
}

EXPORT int nvmlDeviceGetHandleByIndex_v2(unsigned index, nvml_device *ret)
{
    return device_by_index(index, ret);
}
#else
EXPORT int nvmlInit(void)
{
    return init();
}

#if STANDIN_GENERATION > GENERATION_BROKEN
EXPORT int nvmlDeviceGetCount(unsigned *ret)
{
    return device_count(ret);
}
#endif

EXPORT int nvmlDeviceGetHandleByIndex(unsigned index, nvml_device *ret)
{
    return device_by_index(index, ret);
}
#endif

EXPORT int nvmlShutdown(void)
{
    return NVML_SUCCESS;
}

#if STANDIN_GENERATION == GENERATION_BROKEN
/* Avoids a warning about the unused function. */
EXPORT int (*const nvml_unused)(unsigned *ret);
EXPORT int (*const nvml_unused)(unsigned *ret) = device_count;
#endif

#if STANDIN_GENERATION > GENERATION_BARE

EXPORT const char *nvmlErrorString(int status)
{
    static const struct {
        int status;
        const char *text;
    } texts[] = {
        { NVML_NO_PERMISSION, "Insufficient Permissions" },
        { NVML_GPU_IS_LOST, "GPU is lost" },
    };

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        if (texts[i].status == status)
            return texts[i].text;
    return "Unknown Error";
}

EXPORT int nvmlSystemGetDriverVersion(char *buf, unsigned size)
{
    int status = standin_enter("nvmlSystemGetDriverVersion", NULL);
    const char *line = status ? NULL : script_last(&standin.script, "driver");

    if (!line)
        return status ? status : NVML_NOT_SUPPORTED;
    script_text(line, buf, size);
    return NVML_SUCCESS;
}

static int get_text(nvml_device device, const char *key, char *buf, unsigned size)
{
    const char *line;
    char words[96];

    line = script_last(&standin.script, standin_words(words, "device", device, key));
    if (!line)
        return NVML_NOT_SUPPORTED;
    script_text(line, buf, size);
    return NVML_SUCCESS;
}

EXPORT int nvmlDeviceGetName(nvml_device device, char *buf, unsigned size)
{
    int status = standin_enter("nvmlDeviceGetName", device);
    const char *line;
    char words[96];

    if (status)
        return status;
    line = script_last(&standin.script, standin_words(words, "device", device, "name_hex"));
    if (line) { /* without a terminating NUL */
        (void)script_bytes(line, buf, size);
        return NVML_SUCCESS;
    }
    return get_text(device, "name", buf, size);
}

EXPORT int nvmlDeviceGetUUID(nvml_device device, char *buf, unsigned size)
{
    int status = standin_enter("nvmlDeviceGetUUID", device);

    return status ? status : get_text(device, "uuid", buf, size);
}

static int get_pci(nvml_device device, struct nvml_pci *ret)
{
    int status = standin_enter("nvmlDeviceGetPciInfo", device);
    const char *line;
    char words[96];

    if (status)
        return status;
    line = script_last(&standin.script, standin_words(words, "device", device, "pci"));
    if (!line)
        return NVML_NOT_SUPPORTED;
    ret->domain = (unsigned)script_number(&line, 0);
    line += *line == ':';
    ret->bus = (unsigned)script_number(&line, 0);
    line += *line == ':';
    ret->device = (unsigned)script_number(&line, 0);
    return NVML_SUCCESS;
}

#if STANDIN_GENERATION > GENERATION_V340
EXPORT int nvmlDeviceGetPciInfo_v3(nvml_device device, struct nvml_pci *ret)
#else
EXPORT int nvmlDeviceGetPciInfo(nvml_device device, struct nvml_pci *ret)
#endif
{
    return get_pci(device, ret);
}

EXPORT int nvmlDeviceGetMemoryInfo(nvml_device device, struct nvml_memory *ret)
{
    int status = standin_enter("nvmlDeviceGetMemoryInfo", device);
    uint64_t total, used, reserved = 0;

    if (status)
        return status;
    if (!standin_number(device, "total", &total) || !standin_number(device, "used", &used))
        return NVML_NOT_SUPPORTED;
    (void)standin_number(device, "reserved", &reserved);
    *ret = (struct nvml_memory){ total, total - used - reserved, used + reserved };
    return NVML_SUCCESS;
}

/* Defines a call that returns one number, of 32 or 64 bits. */
#define NUMBER(name, key, type)                                 \
    EXPORT int name(nvml_device device, type *ret)              \
    {                                                           \
        int status = standin_enter(#name, device);              \
        uint64_t value;                                         \
                                                                \
        if (status == 0 && standin_number(device, key, &value)) \
            *ret = (type)value;                                 \
        else if (status == 0)                                   \
            status = NVML_NOT_SUPPORTED;                        \
        return status;                                          \
    }

NUMBER(nvmlDeviceGetPowerUsage, "power", unsigned)
#if STANDIN_GENERATION == GENERATION_FULL
NUMBER(nvmlDeviceGetCurrentClocksEventReasons, "throttle", unsigned long long)
#else
NUMBER(nvmlDeviceGetCurrentClocksThrottleReasons, "throttle", unsigned long long)
#endif

EXPORT int nvmlDeviceGetTemperature(nvml_device device, int sensor, unsigned *ret)
{
    int status = standin_enter("nvmlDeviceGetTemperature", device);
    uint64_t value;

    if (status || sensor != 0 || !standin_number(device, "temperature", &value))
        return status ? status : NVML_NOT_SUPPORTED;
    *ret = (unsigned)value;
    return NVML_SUCCESS;
}

EXPORT int nvmlDeviceGetClockInfo(nvml_device device, int type, unsigned *ret)
{
    int status = standin_enter("nvmlDeviceGetClockInfo", device);
    uint64_t value;

    if (status || type != 1 || !standin_number(device, "clock", &value))
        return status ? status : NVML_NOT_SUPPORTED;
    *ret = (unsigned)value;
    return NVML_SUCCESS;
}

EXPORT int nvmlDeviceGetUtilizationRates(nvml_device device, struct nvml_rates *ret)
{
    int status = standin_enter("nvmlDeviceGetUtilizationRates", device);
    uint64_t value;

    if (status || !standin_number(device, "rates", &value))
        return status ? status : NVML_NOT_SUPPORTED;
    *ret = (struct nvml_rates){ (unsigned)value, 0 };
    return NVML_SUCCESS;
}
#endif

#if STANDIN_GENERATION > GENERATION_V340

NUMBER(nvmlDeviceGetTotalEnergyConsumption, "energy", unsigned long long)
NUMBER(nvmlDeviceGetGpuInstanceId, "instance", unsigned)

#define CODEC(name, key)                                                 \
    EXPORT int name(nvml_device device, unsigned *ret, unsigned *period) \
    {                                                                    \
        int status = standin_enter(#name, device);                       \
        uint64_t value;                                                  \
                                                                         \
        if (status || !standin_number(device, key, &value))              \
            return status ? status : NVML_NOT_SUPPORTED;                 \
        *ret = (unsigned)value;                                          \
        *period = 200000;                                                \
        return NVML_SUCCESS;                                             \
    }

CODEC(nvmlDeviceGetEncoderUtilization, "encoder")
CODEC(nvmlDeviceGetDecoderUtilization, "decoder")

EXPORT int nvmlDeviceGetMigMode(nvml_device device, unsigned *current, unsigned *pending)
{
    int status = standin_enter("nvmlDeviceGetMigMode", device);
    uint64_t value;

    if (status || !standin_number(device, "mig", &value))
        return status ? status : NVML_NOT_SUPPORTED;
    *current = *pending = (unsigned)value;
    return NVML_SUCCESS;
}

EXPORT int nvmlDeviceGetMaxMigDeviceCount(nvml_device device, unsigned *ret)
{
    *ret = PARTS;
    return standin_enter("nvmlDeviceGetMaxMigDeviceCount", device);
}

EXPORT int nvmlDeviceGetMigDeviceHandleByIndex(nvml_device device, unsigned index,
                                               nvml_device *ret)
{
    long whole = (long)(standin_node(device) - standin.wholes);
    int status = standin_enter("nvmlDeviceGetMigDeviceHandleByIndex", device);
    char words[96];

    if (status || index >= PARTS)
        return status ? status : NVML_INVALID_ARGUMENT;
    *ret = handle_of(&standin.parts[whole][index]);
    return script_last(&standin.script, standin_words(words, "device", *ret, ""))
               ? NVML_SUCCESS
               : NVML_NOT_FOUND;
}
#endif

#if STANDIN_GENERATION > GENERATION_V470
EXPORT int nvmlDeviceGetMemoryInfo_v2(nvml_device device, struct nvml_memory_v2 *ret)
{
    int status = standin_enter("nvmlDeviceGetMemoryInfo_v2", device);
    uint64_t total, used, reserved = 0;

    if (status)
        return status;
    if (ret->version != (40 | 2u << 24))
        return 25; /* the caller's version does not match */
    if (!standin_number(device, "total", &total) || !standin_number(device, "used", &used))
        return NVML_NOT_SUPPORTED;
    (void)standin_number(device, "reserved", &reserved);
    ret->total = total;
    ret->reserved = reserved;
    ret->free = total - used - reserved;
    ret->used = used;
    return NVML_SUCCESS;
}
#endif
