/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_list.c - the GPUs of a machine or a session, for callers of the library. */
#include <errno.h>

#include "base/error.h"
#include "job/gpu/gpu_inventory.h"
#include "session/session.h"

int spoor_check_gpus(const char *gpus, struct spoor_error *err)
{
    return gpu_choice_check(gpus, err);
}

static void give(const struct gpu_unit *units, size_t count,
                 void (*each)(const struct spoor_gpu *gpu, void *data), void *data)
{
    for (size_t i = 0; i < count; i++) {
        const struct gpu_unit *unit = &units[i];
        struct spoor_gpu gpu = {
            .index = unit->place.index,
            .part = unit->place.part,
            .uuid = gpu_unit_id(unit),
            .name = unit->device.name,
            .vendor = unit->vendor,
            .pci_address = unit->device.pci_address,
            .memory_bytes = unit->device.memory_total_bytes,
            .is_part = unit->device.is_part,
            .is_selected = unit->is_selected,
        };

        each(&gpu, data);
    }
}

bool spoor_may_have_gpus(const char *root_path)
{
    const char *unknown;
    unsigned disabled;
    struct root root;
    bool result;

    if (sources_parse(getenv("SPOOR_DISABLE"), &disabled, &unknown) < 0 ||
        root_open(root_path, &root) < 0)
        return true; /* who asks for them is told what is wrong */
    result = gpu_call_is_needed(&root, NULL, disabled);
    root_close(&root);
    return result;
}

int session_find_gpus(const struct root *root, const char *gpus, struct gpu_inventory *ret,
                      struct spoor_error *err)
{
    const struct gpu_vendor *vendors[GPU_VENDORS_MAX];
    const char *unknown;
    unsigned disabled;
    size_t count;
    int r = sources_parse(getenv("SPOOR_DISABLE"), &disabled, &unknown);

    *ret = (struct gpu_inventory){ 0 };
    if (r < 0)
        return error_set(err, EINVAL, "SPOOR_DISABLE: unknown source '%s'", unknown);
    count = gpu_vendors_enabled(disabled, vendors);
    if (count == 0)
        return error_set(err, ENODEV, "disabled by SPOOR_DISABLE");
    r = gpu_inquire(root, vendors, count, gpus, ret);
    if (r == -ENODEV && ret->refusal_count > 0)
        return error_set(err, ret->refusals[0].error.code, "%s GPUs: %s",
                         ret->refusals[0].vendor, ret->refusals[0].error.message);
    if (r == -ENODEV)
        return error_set(err, ENODEV, "%s",
                         ret->absent.code == ENXIO ? ret->absent.message : "none");
    if (r == -ETIMEDOUT)
        return error_set(err, ETIMEDOUT, "%s", gpu_inquiry_silence);
    return r < 0 ? error_sys(err, r, "look for GPUs") : 0;
}

int session_refuse_choice(const struct spoor_error *unmatched, const struct gpu_unit *units,
                          size_t count, struct spoor_error *err)
{
    size_t whole = gpu_units_count_whole(units, count);

    if (unmatched->code == 0)
        return 0;
    if (whole <= 1)
        return error_set(err, unmatched->code, "%s; this machine has %s (see 'spoor info')",
                         unmatched->message, whole == 1 ? "only GPU 0" : "none");
    return error_set(err, unmatched->code,
                     "%s; this machine has GPUs 0 to %zu (see 'spoor info')",
                     unmatched->message, whole - 1);
}

int spoor_gpu_list(const char *root_path, const char *selection,
                   void (*each)(const struct spoor_gpu *gpu, void *data), void *data,
                   struct spoor_error *err)
{
    struct gpu_inventory inventory;
    struct root root;
    int r;

    if (selection && gpu_choice_check(selection, err) < 0)
        return -EINVAL;
    r = root_open(root_path, &root);
    if (r < 0)
        return error_sys(err, r, "root directory '%s'", root_path ? root_path : "/");
    r = session_find_gpus(&root, selection, &inventory, err);
    root_close(&root);
    if (r < 0)
        return r == -ENODEV ? 0 : r;
    r = session_refuse_choice(&inventory.unmatched, inventory.units, inventory.count, err);
    if (r == 0)
        give(inventory.units, inventory.count, each, data);
    gpu_inventory_close(&inventory);
    return r;
}

int spoor_session_gpus(spoor_session *session,
                       void (*each)(const struct spoor_gpu *gpu, void *data), void *data,
                       struct spoor_error *err)
{
    int r = 0;

    pthread_mutex_lock(&session->mutex);
    if (session->gpu.units)
        give(session->gpu.units, session->gpu.count, each, data);
    else if (session->gpu.state != GPU_NONE)
        r = error_set(err, EAGAIN, "the drivers have not reported their GPUs yet");
    pthread_mutex_unlock(&session->mutex);
    return r;
}
