/* SPDX-License-Identifier: Apache-2.0 */
#include "source/gpu/drm_device.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/amount.h"
#include "base/cleanup.h"
#include "base/compiler.h"
#include "base/parse.h"

enum { NUMBERS_MAX = 1024 }; /* maximum number of directory entries */

/* Returns the number in an entry such as "card12"; -1: another entry, such as "card12-DP-1". */
static int numbered(const char *name, const char *prefix)
{
    size_t length = strlen(prefix);
    uint64_t number;

    if (strncmp(name, prefix, length) != 0 || !is_digit(name[length]) ||
        parse_whole_u64(name + length, &number) < 0 || number > INT_MAX)
        return -1;
    return (int)number;
}

/* Lists the numbers N of the entries "<prefix>N". Returns their count. */
static size_t list_numbered(DIR *folder, const char *prefix, int numbers[NUMBERS_MAX])
{
    const struct dirent *entry;
    size_t count = 0;

    while (folder && count < NUMBERS_MAX && (entry = readdir(folder))) {
        int number = numbered(entry->d_name, prefix);

        if (number >= 0)
            numbers[count++] = number;
    }
    return count;
}

uint64_t drm_device_number(const struct drm_device *device, const char *path)
{
    return root_read_number(device->root, "sys/class/drm/card%u/%s", device->card, path);
}

ssize_t drm_device_text(const struct drm_device *device, const char *path, char *buf,
                        size_t size)
{
    char text[256];
    ssize_t n = root_read_start(device->root, text, sizeof(text), "sys/class/drm/card%u/%s",
                                device->card, path);
    size_t length;

    if (n < 0)
        return n;
    length = strcspn(text, "\n");
    while (length > 0 && text[length - 1] == ' ')
        length--;
    if (length >= size)
        length = size - 1;
    for (size_t i = 0; i < length; i++)
        buf[i] = (unsigned char)text[i] < ' ' || text[i] == 0x7f ? '?' : text[i];
    buf[length] = '\0';
    return (ssize_t)length;
}

uint64_t drm_device_sensor(const struct drm_device *device, const char *const *names,
                           uint64_t divisor)
{
    if (device->hwmon[0] == '\0')
        return UNKNOWN;
    for (; *names; names++) {
        char path[96];
        uint64_t value;

        if (snprintf(path, sizeof(path), "device/hwmon/%s/%s", device->hwmon, *names) >=
            (int)sizeof(path))
            continue;
        value = drm_device_number(device, path);
        if (is_known(value))
            return value / divisor;
    }
    return UNKNOWN;
}

struct gpu_reading drm_reading_unknown(void)
{
    return (struct gpu_reading){ .memory_used_bytes = UNKNOWN,
                                 .busy_ns = UNKNOWN,
                                 .encoder_busy_ns = UNKNOWN,
                                 .decoder_busy_ns = UNKNOWN,
                                 .busy_covered_ns = UNKNOWN,
                                 .encoder_covered_ns = UNKNOWN,
                                 .decoder_covered_ns = UNKNOWN,
                                 .energy.microjoules = UNKNOWN,
                                 .energy.milliwatts = UNKNOWN,
                                 .temperature_celsius = UNKNOWN,
                                 .clock_mhz = UNKNOWN,
                                 .throttle_reasons = UNKNOWN };
}

bool drm_device_is_suspended(const struct drm_device *device)
{
    char status[16];
    ssize_t n = drm_device_text(device, "device/power/runtime_status", status, sizeof(status));

    return n >= 0 && (strcmp(status, "suspended") == 0 || strcmp(status, "suspending") == 0);
}

uint64_t drm_counter_advance(struct drm_counter *counter, const char *sensor, uint64_t value)
{
    bool is_started = counter->sensor != NULL;

    if (!is_known(value) || (is_started && counter->sensor != sensor))
        return UNKNOWN;
    if (is_started)
        counter->sum =
            sum_u64(counter->sum, value - (value < counter->last ? 0 : counter->last));
    counter->sensor = sensor;
    counter->last = value;
    return is_started ? counter->sum : UNKNOWN;
}

uint64_t drm_device_energy(struct drm_device *device, const char *const *names)
{
    for (; *names; names++) {
        const char *const one[] = { *names, NULL };
        uint64_t value;

        if (device->energy.sensor && device->energy.sensor != *names)
            continue;
        value = drm_device_sensor(device, one, 1);
        if (is_known(value))
            return drm_counter_advance(&device->energy, *names, value);
    }
    return UNKNOWN;
}

/* Finds the hwmon folder with the lowest number. */
static void find_hwmon(struct drm_device *device)
{
    AUTO_CLOSEDIR DIR *folder =
        root_open_folder(device->root, "sys/class/drm/card%u/device/hwmon", device->card);
    int numbers[NUMBERS_MAX] = { 0 };
    size_t count = list_numbered(folder, "hwmon", numbers);

    for (size_t i = 1; i < count; i++)
        numbers[0] = numbers[i] < numbers[0] ? numbers[i] : numbers[0];
    if (count > 0)
        (void)snprintf(device->hwmon, sizeof(device->hwmon), "hwmon%d", numbers[0]);
}

/* Returns the PCI address. "device" is a link to ".../0000:03:00.0". */
static uint64_t pci_of(const struct root *root, const char *node, unsigned number)
{
    char link[PATH_MAX];
    const char *name;
    uint64_t pci;

    if (root_read_link(root, link, sizeof(link), "sys/class/drm/%s%u/device", node, number) < 0)
        return UNKNOWN;
    name = strrchr(link, '/');
    return gpu_pci_parse(name ? name + 1 : link, &pci) < 0 ? UNKNOWN : pci;
}

bool drm_device_is_lost(const struct drm_device *device)
{
    return !root_exists(device->root, "sys/class/drm/card%u/device/vendor", device->card) ||
           pci_of(device->root, "card", device->card) != device->pci;
}

static void add_card(const struct root *root, const char *vendor_id, int number,
                     struct drm_devices *devices)
{
    struct drm_device device = { .root = root,
                                 .card = (unsigned)number,
                                 .gpu.memory_total_bytes = UNKNOWN };
    char found_id[16];

    if (devices->count == DRM_DEVICE_MAX ||
        drm_device_text(&device, "device/vendor", found_id, sizeof(found_id)) < 0 ||
        strcmp(found_id, vendor_id) != 0)
        return;
    device.pci = pci_of(root, "card", device.card);
    if (is_known(device.pci))
        gpu_pci_format(device.pci, device.gpu.pci_address, sizeof(device.gpu.pci_address));
    (void)drm_device_text(&device, "device/device", device.pci_id,
                          sizeof(device.pci_id)); /* stays empty on failure */
    find_hwmon(&device);
    devices->list[devices->count++] = device;
}

static int compare(const void *left, const void *right)
{
    const struct drm_device *a = left, *b = right;

    return a->pci != b->pci ? compare_u64(a->pci, b->pci) : compare_u64(a->card, b->card);
}

bool drm_may_be_here(const struct root *root)
{
    return root_exists(root, "sys/class/drm");
}

int drm_devices_find(const struct root *root, const char *vendor_id, struct drm_devices *ret)
{
    AUTO_CLOSEDIR DIR *folder = root_open_folder(root, "sys/class/drm");
    int numbers[NUMBERS_MAX] = { 0 };
    size_t count = list_numbered(folder, "card", numbers);

    ret->count = 0;
    for (size_t i = 0; i < count; i++)
        add_card(root, vendor_id, numbers[i], ret);
    if (ret->count == 0)
        return -ENODEV;
    qsort(ret->list, ret->count, sizeof(ret->list[0]), compare);
    return 0;
}

int drm_devices_at(const struct drm_devices *devices, uint64_t pci)
{
    for (size_t i = 0; i < devices->count && is_known(pci); i++) {
        if (devices->list[i].pci == pci)
            return (int)i;
    }
    return -ENODEV;
}

int drm_devices_of_node(const struct root *root, const struct drm_devices *devices,
                        const char *node)
{
    static const char *const kinds[] = { "card", "renderD" };

    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
        int number = numbered(node, kinds[i]);

        if (number >= 0)
            return drm_devices_at(devices, pci_of(root, kinds[i], (unsigned)number));
    }
    return -ENODEV;
}
