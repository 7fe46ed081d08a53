/* SPDX-License-Identifier: Apache-2.0 */
/* targets_gpu.c - files of GPU drivers, and lists that select GPUs. */
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/amount.h"
#include "base/compiler.h"
#include "base/root.h"
#include "fuzz.h"
#include "source/gpu/amd_metrics.h"
#include "source/gpu/drm_fdinfo.h"
#include "source/gpu/gpu.h"
#include "source/gpu/visible.h"

static void run_drm_fdinfo(char *text, UNUSED size_t length)
{
    struct drm_fdinfo info;

    if (drm_fdinfo_parse(text, &info) < 0)
        return;
    CHECK_ENDED(info.driver);
    CHECK(is_known(info.client_id));
    CHECK(info.engine_count <= DRM_ENGINE_MAX && info.region_count <= DRM_REGION_MAX);
    for (size_t i = 0; i < info.engine_count; i++)
        CHECK_ENDED(info.engine[i].name);
    for (size_t i = 0; i < info.region_count; i++)
        CHECK_ENDED(info.region[i].name);
    (void)drm_fdinfo_memory(&info);
}

static void run_drm_pci(char *text, UNUSED size_t length)
{
    char again[17];
    uint64_t pci, copy;

    if (gpu_pci_parse(text, &pci) < 0)
        return;
    gpu_pci_format(pci, again, sizeof(again));
    CHECK(gpu_pci_parse(again, &copy) == 0 && copy == pci);
}

static void run_amd_metrics(char *text, size_t length)
{
    struct amd_metrics metrics;

    if (amd_metrics_parse(text, length, &metrics) < 0)
        return;
    CHECK(!is_known(metrics.dram_percent) || metrics.dram_percent <= 100);
    CHECK(!is_known(metrics.energy_uj) || metrics.energy_uj <= UINT64_MAX / 1024);
}

static void run_visible(char *text, size_t length)
{
    static const struct gpu_device a = { .uuid = "GPU-8932f937-d72c-4106-c12f-20bd9faed9f6",
                                         .pci_address = "0000:3b:00.0" };
    static const struct gpu_device part = { .uuid = "MIG-61e0b7d3-0000-11ee-8de3-00155d123456",
                                            .is_part = true,
                                            .part = 1 };
    static const struct gpu_device b = { .uuid = "GPU-8932f937-ffff",
                                         .pci_address = "0001:af:00.0" };
    static const struct gpu_device *const devices[] = { &a, &part, &b };
    enum { COUNT = ARRAY_SIZE(devices) };

    for (unsigned source = VISIBLE_OPTION; source <= VISIBLE_SLURM; source++) {
        struct spoor_error note = { 0 };
        bool selected[COUNT] = { 0 };
        char why[128] = "";
        size_t bad = visible_select(source, text, devices, COUNT, selected, &note);

        CHECK(bad <= length + 1);
        CHECK_ENDED(note.message);
        CHECK(bad == 0 || note.message[0] != '\0');
        visible_explain_none(source, text, why, sizeof(why));
        CHECK_ENDED(why);
    }
}

/* ---- a machine with cards ---------------------------------------------------------------- */

static void check_device(const struct gpu_device *device)
{
    CHECK_ENDED(device->uuid);
    CHECK_ENDED(device->name);
    CHECK_ENDED(device->pci_address);
    CHECK_ENDED(device->driver_version);
}

static void check_processes(const struct gpu_vendor *vendor, void *state, size_t device_count)
{
    enum { CAPACITY = 16 };
    static const pid_t list[] = { 41, 42 };
    static const struct gpu_pids pids = { list, ARRAY_SIZE(list) };
    struct gpu_process found[CAPACITY];
    ssize_t n;

    if (vendor->read_busy)
        (void)vendor->read_busy(state, &pids, 2000000000);
    n = vendor->processes(state, &pids, found, CAPACITY);
    for (ssize_t i = 0; i < n && i < CAPACITY; i++)
        CHECK(found[i].pid > 0 && found[i].device < device_count);
}

/* Reads the cards of one vendor twice. */
static void read_cards(const struct gpu_vendor *vendor, const struct root *root)
{
    struct spoor_error err = { 0 };
    struct gpu_reading reading;
    void *state = NULL;
    size_t count;

    if (vendor->open(root, &state, &err) < 0) {
        CHECK_ENDED(err.message);
        return;
    }
    count = vendor->device_count(state);
    if (vendor->begin)
        vendor->begin(state);
    for (size_t i = 0; i < count; i++) {
        check_device(vendor->device(state, i));
        (void)vendor->read(state, i, 1000000000, &reading);
    }
    check_processes(vendor, state, count);
    for (size_t i = 0; i < count; i++)
        (void)vendor->read(state, i, 2000000000, &reading);
    vendor->close(state);
}

static void run_drm_cards(char *text, size_t length)
{
    struct fuzz_part parts[FUZZ_PARTS_MAX];
    size_t count = fuzz_split(text, length, parts);
    const struct root *root = fuzz_root(parts, count);

    read_cards(&gpu_amd, root);
    read_cards(&gpu_intel, root);
}

const struct fuzz_target gpu_targets[] = {
    { "drm_fdinfo", run_drm_fdinfo, 1 },   { "drm_pci", run_drm_pci, 1 },
    { "amd_metrics", run_amd_metrics, 1 }, { "drm_cards", run_drm_cards, 100 },
    { "visible", run_visible, 2 },         { NULL, NULL, 0 },
};
