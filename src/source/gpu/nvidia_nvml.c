/* SPDX-License-Identifier: Apache-2.0 */
/* nvidia_nvml.c - finds the library's functions under the names of all driver generations. */
#include "source/gpu/nvidia_nvml.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/compiler.h"
#include "base/error.h"
#include "base/loading.h"

#define LIBRARY "libnvidia-ml.so.1"

/* One row is one function of struct nvml: its names, newest first. */
struct symbol {
    const char *names[3];
    size_t offset;
    bool is_required;
};

#define AT(member) offsetof(struct nvml, member)

static const struct symbol symbols[] = {
    { { "nvmlInit_v2", "nvmlInit" }, AT(init), true },
    { { "nvmlShutdown" }, AT(shutdown), true },
    { { "nvmlErrorString" }, AT(error_text), false },
    { { "nvmlSystemGetDriverVersion" }, AT(driver_version), false },
    { { "nvmlDeviceGetCount_v2", "nvmlDeviceGetCount" }, AT(device_count), true },
    { { "nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetHandleByIndex" },
      AT(device_by_index),
      true },

    { { "nvmlDeviceGetName" }, AT(name), false },
    { { "nvmlDeviceGetUUID" }, AT(uuid), false },
    { { "nvmlDeviceGetPciInfo_v3", "nvmlDeviceGetPciInfo_v2", "nvmlDeviceGetPciInfo" },
      AT(pci),
      false },

    { { "nvmlDeviceGetMemoryInfo" }, AT(memory), false },
    { { "nvmlDeviceGetMemoryInfo_v2" }, AT(memory_v2), false },
    { { "nvmlDeviceGetPowerUsage" }, AT(power), false },
    { { "nvmlDeviceGetTotalEnergyConsumption" }, AT(energy), false },
    { { "nvmlDeviceGetTemperature" }, AT(temperature), false },
    { { "nvmlDeviceGetTemperatureV" }, AT(temperature_v), false },
    { { "nvmlDeviceGetClockInfo" }, AT(clock), false },
    { { "nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons" },
      AT(throttle),
      false },

    { { "nvmlDeviceGetSamples" }, AT(samples), false },
    { { "nvmlDeviceGetUtilizationRates" }, AT(rates), false },
    { { "nvmlDeviceGetEncoderUtilization" }, AT(encoder), false },
    { { "nvmlDeviceGetDecoderUtilization" }, AT(decoder), false },

    { { "nvmlDeviceGetProcessUtilization" }, AT(process_usage), false },

    { { "nvmlDeviceGetAccountingMode" }, AT(accounting_mode), false },
    { { "nvmlDeviceGetAccountingPids" }, AT(accounting_pids), false },
    { { "nvmlDeviceGetAccountingStats" }, AT(accounting), false },

    { { "nvmlDeviceGetMigMode" }, AT(mig_mode), false },
    { { "nvmlDeviceGetMaxMigDeviceCount" }, AT(mig_count), false },
    { { "nvmlDeviceGetMigDeviceHandleByIndex" }, AT(mig_by_index), false },
    { { "nvmlDeviceGetGpuInstanceId" }, AT(gpu_instance), false },

    { { "nvmlGpmQueryDeviceSupport" }, AT(gpm_support), false },
    { { "nvmlGpmSampleAlloc" }, AT(gpm_alloc), false },
    { { "nvmlGpmSampleFree" }, AT(gpm_free), false },
    { { "nvmlGpmSampleGet" }, AT(gpm_get), false },
    { { "nvmlGpmMigSampleGet" }, AT(gpm_mig_get), false },
    { { "nvmlGpmMetricsGet" }, AT(gpm_metrics), false },
};

static int load_symbols(struct nvml *nvml, struct spoor_error *err)
{
    for (size_t i = 0; i < ARRAY_SIZE(symbols); i++) {
        const struct symbol *symbol = &symbols[i];
        void *address = NULL;

        for (size_t j = 0; j < ARRAY_SIZE(symbol->names) && symbol->names[j] && !address; j++)
            address = dlsym(nvml->library, symbol->names[j]);
        if (!address && symbol->is_required)
            return error_set(err, ENOSYS, LIBRARY ": no %s", symbol->names[0]);
        memcpy((char *)nvml + symbol->offset, &address, sizeof(address));
    }
    return 0;
}

/* Returns the size of an element of a _v3 list. In the 530 drivers the elements of _v3 had 32
 * bytes. Those drivers have the first call below, which was added together with that change,
 * but not the second one, which was added when the change was reverted. */
static size_t stride_of_v3(const struct nvml *nvml)
{
    bool is_530 = dlsym(nvml->library, "nvmlDeviceGetConfComputeMemSizeInfo") &&
                  !dlsym(nvml->library, "nvmlDeviceGetRunningProcessDetailList");

    return is_530 ? 32 : 24;
}

static void load_lists(struct nvml *nvml)
{
    static const char *const names[NVML_LIST_COUNT][3] = {
        [NVML_COMPUTE] = { "nvmlDeviceGetComputeRunningProcesses_v3",
                           "nvmlDeviceGetComputeRunningProcesses_v2",
                           "nvmlDeviceGetComputeRunningProcesses" },
        [NVML_GRAPHICS] = { "nvmlDeviceGetGraphicsRunningProcesses_v3",
                            "nvmlDeviceGetGraphicsRunningProcesses_v2",
                            "nvmlDeviceGetGraphicsRunningProcesses" },
        [NVML_MPS] = { "nvmlDeviceGetMPSComputeRunningProcesses_v3",
                       "nvmlDeviceGetMPSComputeRunningProcesses_v2",
                       "nvmlDeviceGetMPSComputeRunningProcesses" },
    };
    const size_t strides[] = { stride_of_v3(nvml), 24, 16 };

    for (size_t kind = 0; kind < NVML_LIST_COUNT; kind++) {
        for (size_t i = 0; i < ARRAY_SIZE(strides) && !nvml->lists[kind].get; i++) {
            void *address = dlsym(nvml->library, names[kind][i]);

            memcpy(&nvml->lists[kind].get, &address, sizeof(address));
            nvml->lists[kind].stride_bytes = strides[i];
        }
    }
}

int nvml_errno(int status)
{
    static const struct {
        int status, code;
    } codes[] = {
        { NVML_SUCCESS, 0 },
        { NVML_INVALID_ARGUMENT, -EINVAL },
        { NVML_NOT_SUPPORTED, -ENOTSUP },
        { NVML_NO_PERMISSION, -EACCES },
        { NVML_NOT_FOUND, -ENOENT },
        { NVML_INSUFFICIENT_SIZE, -ENOSPC },
        { NVML_DRIVER_NOT_LOADED, -ENODEV },
        { NVML_LIBRARY_NOT_FOUND, -ENODEV },
        { NVML_FUNCTION_NOT_FOUND, -ENOSYS },
        { NVML_GPU_IS_LOST, -ENODEV },
        { NVML_VERSION_MISMATCH, -ELIBBAD },
        { NVML_IN_USE, -EBUSY },
    };

    for (size_t i = 0; i < ARRAY_SIZE(codes); i++)
        if (codes[i].status == status)
            return codes[i].code;
    return -EIO;
}

const char *nvml_words(const struct nvml *nvml, int status)
{
    const char *words = nvml->error_text ? nvml->error_text(status) : NULL;

    return words ? words : "unknown";
}

static int start(const struct nvml *nvml, struct spoor_error *err)
{
    int status = nvml->init();
    int r = nvml_errno(status);

    if (r == 0)
        return 0;
    if (r == -ELIBBAD)
        return error_set(err, -r, LIBRARY " and the kernel driver have different versions");
    if (status == NVML_DRIVER_NOT_LOADED)
        return error_set(err, ENXIO, "the NVIDIA driver is not loaded");
    return error_set(err, r == -ENODEV ? ENXIO : -r,
                     LIBRARY " failed to initialize: %s (error %d)", nvml_words(nvml, status),
                     status);
}

/* Whether the library is in ld.so.cache, the list of installed libraries. The file is read in
 * overlapping pieces, so that the name is not split. */
static bool is_listed(const struct root *root)
{
    AUTO_CLOSE int folder = root_open_dir(root, "etc");
    AUTO_CLOSE int fd =
        folder < 0 ? -1 : openat(folder, "ld.so.cache", O_RDONLY | O_CLOEXEC | O_NOCTTY);
    char text[8192];
    ssize_t n = fd < 0 ? -1 : pread(fd, text, sizeof(text), 0);

    for (off_t at = 0; n >= (ssize_t)sizeof(LIBRARY); n = pread(fd, text, sizeof(text), at)) {
        if (memmem(text, (size_t)n, LIBRARY, sizeof(LIBRARY)))
            return true;
        at += n - (ssize_t)sizeof(LIBRARY) + 1;
    }
    return false;
}

/* Whether the library may be here. Searching for a missing library would take hundreds of
 * system calls. */
bool nvml_may_be_here(const struct root *root)
{
    return getenv("LD_LIBRARY_PATH") || root_exists(root, "dev/nvidiactl") ||
           root_exists(root, "proc/driver/nvidia") || root_exists(root, "dev/dxg") ||
           is_listed(root);
}

int nvml_open(struct nvml *ret, struct spoor_error *err)
{
    struct nvml nvml = { .library = dlopen(LIBRARY, RTLD_LAZY | RTLD_LOCAL) };
    int r;

    if (!nvml.library)
        return error_set(err, ENODEV, LIBRARY LOADING_FAILED(" not found"));
    r = load_symbols(&nvml, err);
    if (r == 0) {
        load_lists(&nvml);
        r = start(&nvml, err);
    }
    if (r < 0) {
        dlclose(nvml.library);
        return r;
    }
    *ret = nvml;
    return 0;
}

void nvml_close(struct nvml *nvml)
{
    if (!nvml->library)
        return;
    (void)nvml->shutdown(); /* errors are ignored */
    dlclose(nvml->library);
    *nvml = (struct nvml){ 0 };
}
