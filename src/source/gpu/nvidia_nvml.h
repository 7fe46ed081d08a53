/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nvidia_nvml.h - the part of NVIDIA's management library (NVML) that we use.
 *
 * The library comes with the driver and is opened at run time: these are our own declarations
 * of its binary interface, which is stable. A function that this driver lacks is NULL: only the
 * figure it reads is unknown. Only the functions marked as required must exist.
 *
 * Differences between driver generations, handled here:
 *
 * - Names end in _v2 or _v3 if a call changed; the newest that exists is used.
 * - The lists of processes are arrays whose elements have 16 bytes (first names), 24 (_v2 and
 *   _v3), or 32 (_v3 of the 530 drivers alone). In all of them the PID is at offset 0 and the
 *   memory at offset 8. With the wrong stride every second process is garbage.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/root.h"
#include "spoor/spoor.h"

typedef struct nvml_device_opaque *nvml_device;
typedef struct nvml_gpm_sample_opaque *nvml_gpm_sample;

/* Return values of calls; there are others. */
enum nvml_return {
    NVML_SUCCESS = 0,
    NVML_INVALID_ARGUMENT = 2,
    NVML_NOT_SUPPORTED = 3,
    NVML_NO_PERMISSION = 4,
    NVML_NOT_FOUND = 6,
    NVML_INSUFFICIENT_SIZE = 7,
    NVML_DRIVER_NOT_LOADED = 9,
    NVML_LIBRARY_NOT_FOUND = 12,
    NVML_FUNCTION_NOT_FOUND = 13,
    NVML_GPU_IS_LOST = 15,
    NVML_VERSION_MISMATCH = 18,
    NVML_IN_USE = 19,
};

/* Values that mean "not reported". */
#define NVML_NOT_AVAILABLE_32 UINT32_MAX
#define NVML_NOT_AVAILABLE_64 UINT64_MAX

#define NVML_STRUCT_VERSION(type, version) ((unsigned)sizeof(type) | (unsigned)(version) << 24u)

/* The first fields are the same in all generations; the rest is room for the longest
 * version. */
struct nvml_pci {
    char bus_id_legacy[16];
    unsigned domain, bus, device;
    unsigned rest[24];
};

struct nvml_memory {
    unsigned long long total, free, used; /* used: includes memory reserved by the driver */
};

struct nvml_memory_v2 {
    unsigned version;
    unsigned long long total, reserved, free, used; /* used: excludes reserved memory */
};

union nvml_value {
    double as_double;
    int as_int;
    unsigned as_unsigned;
    unsigned long as_unsigned_long;
    unsigned long long as_unsigned_long_long;
    long long as_long_long;
    unsigned short as_unsigned_short;
};

enum nvml_value_type {
    NVML_DOUBLE,
    NVML_UNSIGNED,
    NVML_UNSIGNED_LONG,
    NVML_UNSIGNED_LONG_LONG,
    NVML_LONG_LONG,
    NVML_INT,
    NVML_UNSIGNED_SHORT,
};

enum nvml_sampling {
    NVML_SAMPLE_GPU = 1,
    NVML_SAMPLE_ENCODER = 3,
    NVML_SAMPLE_DECODER = 4,
};

struct nvml_sample {
    unsigned long long stamp_us;
    union nvml_value value;
};

struct nvml_rates {
    unsigned gpu_percent, memory_percent;
};

/* For nvmlDeviceGetProcessUtilization, which rounds percentages. Later drivers also have
 * nvmlDeviceGetProcessesUtilizationInfo, which truncates them. */
struct nvml_process_usage {
    unsigned pid;
    unsigned long long stamp_us;
    unsigned sm_percent, memory_percent, encoder_percent, decoder_percent;
};

struct nvml_accounting {
    unsigned gpu_percent, memory_percent;
    unsigned long long max_memory_bytes, time_ms, start_us;
    unsigned is_running;
    unsigned reserved[5];
};

struct nvml_temperature {
    unsigned version, sensor;
    int celsius;
};

struct nvml_gpm_support {
    unsigned version, is_supported;
};

struct nvml_gpm_metric {
    unsigned id;
    int status;
    double value;
    const char *names[3];
};

/* Later headers have a longer array: the library fills `count` entries, and may clear more. */
struct nvml_gpm_metrics {
    unsigned version, count;
    nvml_gpm_sample sample1, sample2;
    struct nvml_gpm_metric metrics[512];
};

/* Percentages, or MiB/s between the two snapshots. */
enum nvml_gpm_id {
    NVML_GPM_GRAPHICS_UTILISATION = 1,
    NVML_GPM_SM_UTILISATION = 2,
    NVML_GPM_SM_OCCUPANCY = 3,
    NVML_GPM_ANY_TENSOR = 5,
    NVML_GPM_DRAM_BANDWIDTH = 10,
    NVML_GPM_FP64 = 11,
    NVML_GPM_FP32 = 12,
    NVML_GPM_FP16 = 13,
    NVML_GPM_PCIE_TX = 20,
    NVML_GPM_PCIE_RX = 21,
    NVML_GPM_NVLINK_RX = 60,
    NVML_GPM_NVLINK_TX = 61,
};

/* Bits of the reasons for low clocks. */
enum {
    NVML_CLOCKS_POWER_CAP = 0x04,
    NVML_CLOCKS_HARDWARE = 0x08,
    NVML_CLOCKS_THERMAL_SOFTWARE = 0x20,
    NVML_CLOCKS_THERMAL_HARDWARE = 0x40,
    NVML_CLOCKS_POWER_BRAKE = 0x80,
};

typedef int nvml_list_function(nvml_device device, unsigned *count, void *list);
typedef int nvml_engine_function(nvml_device device, unsigned *ret_percent,
                                 unsigned *ret_period_us);

/* A list of processes: its newest call, and the size of its elements. */
struct nvml_list {
    nvml_list_function *get;
    size_t stride_bytes;
};

enum nvml_list_kind { NVML_COMPUTE, NVML_GRAPHICS, NVML_MPS, NVML_LIST_COUNT };

struct nvml {
    void *library;

    int (*init)(void);
    int (*shutdown)(void);
    const char *(*error_text)(int status);
    int (*driver_version)(char *text, unsigned size);
    int (*device_count)(unsigned *ret);
    int (*device_by_index)(unsigned index, nvml_device *ret);

    int (*name)(nvml_device device, char *buf, unsigned size);
    int (*uuid)(nvml_device device, char *buf, unsigned size);
    int (*pci)(nvml_device device, struct nvml_pci *ret);

    int (*memory)(nvml_device device, struct nvml_memory *ret);
    int (*memory_v2)(nvml_device device, struct nvml_memory_v2 *ret);
    int (*power)(nvml_device device, unsigned *ret_milliwatts);
    int (*energy)(nvml_device device, unsigned long long *ret_millijoules);
    int (*temperature)(nvml_device device, int sensor, unsigned *ret_celsius);
    int (*temperature_v)(nvml_device device, struct nvml_temperature *ret);
    int (*clock)(nvml_device device, int type, unsigned *ret_mhz);
    int (*throttle)(nvml_device device, unsigned long long *ret_bits);

    int (*samples)(nvml_device device, int type, unsigned long long last_seen_us,
                   int *ret_value_type, unsigned *count, struct nvml_sample *list);
    int (*rates)(nvml_device device, struct nvml_rates *ret);
    nvml_engine_function *encoder, *decoder;

    struct nvml_list lists[NVML_LIST_COUNT];
    int (*process_usage)(nvml_device device, struct nvml_process_usage *list, unsigned *count,
                         unsigned long long last_seen_us);

    int (*accounting_mode)(nvml_device device, int *ret_is_on);
    int (*accounting_pids)(nvml_device device, unsigned *count, unsigned *pids);
    int (*accounting)(nvml_device device, unsigned pid, struct nvml_accounting *ret);

    int (*mig_mode)(nvml_device device, unsigned *ret_current, unsigned *ret_pending);
    int (*mig_count)(nvml_device device, unsigned *ret);
    int (*mig_by_index)(nvml_device device, unsigned index, nvml_device *ret);
    int (*gpu_instance)(nvml_device device, unsigned *ret);

    int (*gpm_support)(nvml_device device, struct nvml_gpm_support *ret);
    int (*gpm_alloc)(nvml_gpm_sample *ret);
    int (*gpm_free)(nvml_gpm_sample sample);
    int (*gpm_get)(nvml_device device, nvml_gpm_sample sample);
    int (*gpm_mig_get)(nvml_device device, unsigned gpu_instance, nvml_gpm_sample sample);
    int (*gpm_metrics)(struct nvml_gpm_metrics *metrics);
};

/* Whether the library may be on this machine. Cheap if it is not. */
bool nvml_may_be_here(const struct root *root);

/* Opens and starts the library. -ENODEV: there is no library. -ENXIO: its driver is not loaded.
 * -ENOSYS: a required call is missing. On success the caller must call nvml_close(). */
int nvml_open(struct nvml *ret, struct spoor_error *err);

/* Closes the library; accepts a zeroed struct. */
void nvml_close(struct nvml *nvml);

/* Converts the result of a call to a negative errno value; 0 for success. */
int nvml_errno(int status);

/* Returns the library's message for a result; valid until the library is closed. */
const char *nvml_words(const struct nvml *nvml, int status);
