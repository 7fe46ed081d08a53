/* SPDX-License-Identifier: Apache-2.0 */
/* nvidia_device.c - find the devices. What they do is read in nvidia_read.c. */
#include "source/gpu/nvidia_device.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/reserve.h"
#include "base/unknown.h"

/* A text of the driver's, which may hold anything, as long as it ends. */
static void read_text(int (*get)(nvml_device, char *, unsigned), nvml_device handle, char *text,
                      size_t size)
{
    text[0] = '\0';
    if (!get || get(handle, text, (unsigned)size) != NVML_SUCCESS)
        text[0] = '\0';
    text[size - 1] = '\0';
}

static void read_driver_version(const struct nvml *nvml, char *text, size_t size)
{
    if (!nvml->driver_version || nvml->driver_version(text, (unsigned)size) != NVML_SUCCESS)
        text[0] = '\0';
    text[size - 1] = '\0';
}

static void read_pci(const struct nvml *nvml, nvml_device handle, struct gpu_device *facts)
{
    struct nvml_pci pci = { .domain = 0 };
    int length;

    if (!nvml->pci || nvml->pci(handle, &pci) != NVML_SUCCESS)
        return;
    length = snprintf(facts->pci_address, sizeof(facts->pci_address), "%04x:%02x:%02x.0",
                      pci.domain, pci.bus, pci.device);
    if (length < 0 || (size_t)length >= sizeof(facts->pci_address))
        facts->pci_address[0] = '\0';
}

static void identify(const struct nvml *nvml, struct nvidia_device *device)
{
    struct gpu_device *facts = &device->facts;

    read_text(nvml->uuid, device->handle, facts->uuid, sizeof(facts->uuid));
    read_text(nvml->name, device->handle, facts->name, sizeof(facts->name));
    read_driver_version(nvml, facts->driver_version, sizeof(facts->driver_version));
    if (!facts->is_part)
        read_pci(nvml, device->handle, facts);
    device->energy.last_millijoules = UNKNOWN;
    facts->memory_total_bytes = UNKNOWN;
}

struct found {
    struct nvidia_device *list;
    size_t count, capacity;
};

static struct nvidia_device *add(struct found *found)
{
    if (found->count == NVIDIA_DEVICES_MAX ||
        reserve(&found->list, &found->capacity, found->count + 1, sizeof(*found->list)) < 0)
        return NULL;
    memset(&found->list[found->count], 0, sizeof(*found->list));
    return &found->list[found->count++];
}

static bool has_mig(const struct nvml *nvml, nvml_device handle)
{
    unsigned current = 0, pending = 0;

    return nvml->mig_mode && nvml->mig_count && nvml->mig_by_index && nvml->gpu_instance &&
           nvml->mig_mode(handle, &current, &pending) == NVML_SUCCESS && current == 1;
}

/* Adds the parts of the device that was added last. */
static int add_parts(const struct nvml *nvml, struct found *found)
{
    size_t place = found->count - 1;
    nvml_device whole = found->list[place].handle;
    unsigned count = 0;

    if (!has_mig(nvml, whole) || nvml->mig_count(whole, &count) != NVML_SUCCESS)
        return 0;
    for (unsigned i = 0; i < count && i < NVIDIA_DEVICES_MAX; i++) {
        struct nvidia_device *part;
        nvml_device handle;

        if (nvml->mig_by_index(whole, i, &handle) != NVML_SUCCESS)
            continue; /* slots may be empty */
        part = add(found);
        if (!part)
            return -ENOMEM;
        part->handle = handle;
        part->whole = whole;
        part->facts.is_part = true;
        part->facts.part = i;
        if (nvml->gpu_instance(handle, &part->gpu_instance) != NVML_SUCCESS)
            part->gpu_instance = 0;
        identify(nvml, part);
        found->list[place].has_parts = true;
    }
    return 0;
}

static int add_device(const struct nvml *nvml, nvml_device handle, struct found *found)
{
    struct nvidia_device *device = add(found);

    if (!device)
        return -ENOMEM;
    device->handle = handle;
    device->whole = handle;
    identify(nvml, device);
    return add_parts(nvml, found);
}

/* Notes a device that is there but cannot be opened. The first stands for all. */
static void note_trouble(const struct nvml *nvml, unsigned index, int status,
                         struct spoor_error *trouble)
{
    if (trouble->code != 0)
        return;
    (void)error_set(trouble, nvml_errno(status),
                    "cannot open the driver's GPU %u: %s (error %d); later GPUs have lower "
                    "numbers here than in nvidia-smi",
                    index, nvml_words(nvml, status), status);
}

static int add_all(const struct nvml *nvml, unsigned count, struct found *found,
                   struct spoor_error *trouble)
{
    for (unsigned i = 0; i < count && i < NVIDIA_DEVICES_MAX; i++) {
        nvml_device handle;
        int status = nvml->device_by_index(i, &handle);

        if (status == NVML_SUCCESS) {
            if (add_device(nvml, handle, found) < 0)
                return -ENOMEM;
        } else if (status != NVML_NO_PERMISSION) { /* that is how a job is kept to its own */
            note_trouble(nvml, i, status, trouble);
        }
    }
    return 0;
}

int nvidia_devices_find(const struct nvml *nvml, struct nvidia_devices *ret,
                        struct spoor_error *err)
{
    struct spoor_error trouble = { 0 };
    struct found found = { 0 };
    unsigned count = 0;
    int status = nvml->device_count(&count);
    int r = nvml_errno(status);

    if (r < 0)
        return error_set(err, r == -ENODEV ? EIO : -r,
                         "the driver does not report the number of its GPUs: %s (error %d)",
                         nvml_words(nvml, status), status);
    if (add_all(nvml, count, &found, &trouble) < 0)
        r = error_set(err, ENOMEM, "out of memory");
    else if (found.count == 0 && trouble.code != 0)
        r = error_set(err, EIO, "%s", trouble.message);
    else if (found.count == 0)
        r = error_set(err, ENODEV, "the NVIDIA driver offers no GPU that we may use");
    if (r < 0) {
        free(found.list);
        return r;
    }
    *ret = (struct nvidia_devices){ found.list, found.count, trouble };
    return 0;
}

void nvidia_device_begin(struct nvidia_device *device, const struct nvml *nvml, uint64_t now_ns,
                         struct nvidia_samples *room)
{
    const unsigned *gpu_instance = device->facts.is_part ? &device->gpu_instance : NULL;

    nvidia_meters_init(&device->meters, device->whole, gpu_instance, now_ns);
    if (device->facts.is_part || device->has_parts) /* GPM counts from its first reading on */
        nvidia_meters_find_sources(&device->meters, nvml, device->handle, now_ns, room);
    (void)nvidia_device_read_energy(device, nvml, now_ns); /* the beginning */
    if (device->has_parts)
        return;
    device->has_usage = nvml->process_usage || nvml->processes_usage;
    nvidia_clients_begin(&device->clients, clock_now().realtime_ns / NS_PER_US);
    device->clients_pace.due_ns = now_ns + NVIDIA_USAGE_LEAST_NS;
}

void nvidia_device_done(struct nvidia_device *device, const struct nvml *nvml)
{
    nvidia_meters_done(&device->meters, nvml);
    nvidia_lists_done(&device->lists);
    nvidia_clients_done(&device->clients);
}
