/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_list.c - the GPUs of a machine or a session, for callers of the library. */
#include <errno.h>

#include "base/error.h"
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

static int open_and_give(const struct root *root, const struct gpu_choice *choice,
                         void (*each)(const struct spoor_gpu *gpu, void *data), void *data,
                         struct spoor_error *err)
{
    const struct gpu_vendor *vendors[GPU_VENDORS_MAX];
    struct gpu_inventory inventory;
    const char *unknown;
    unsigned disabled;
    int r = rungs_parse(getenv("SPOOR_DISABLE"), &disabled, &unknown);

    if (r < 0)
        return error_set(err, EINVAL, "SPOOR_DISABLE: there is no source '%s'", unknown);
    r = gpu_inventory_open(&inventory, root, vendors, gpu_vendors_enabled(disabled, vendors),
                           choice);
    if (r == -ENODEV && inventory.refusal_count > 0)
        return error_set(err, inventory.refusals[0].error.code, "%s GPUs: %s",
                         inventory.refusals[0].vendor, inventory.refusals[0].error.message);
    if (r == -ENODEV)
        return 0;
    if (r < 0)
        return error_sys(err, r, "look for GPUs");
    if (inventory.unmatched.code != 0)
        r = error_set(err, inventory.unmatched.code, "%s", inventory.unmatched.message);
    else
        give(inventory.units, inventory.count, each, data);
    gpu_inventory_close(&inventory);
    return r;
}

int spoor_gpu_list(const char *root_path, const char *selection,
                   void (*each)(const struct spoor_gpu *gpu, void *data), void *data,
                   struct spoor_error *err)
{
    struct gpu_choice choice;
    struct root root;
    int r;

    if (selection && gpu_choice_check(selection, err) < 0)
        return -EINVAL;
    r = root_open(root_path, &root);
    if (r < 0)
        return error_sys(err, r, "root folder '%s'", root_path ? root_path : "/");
    r = gpu_choice_init(&choice, selection, environment_own);
    if (r == 0) {
        r = open_and_give(&root, &choice, each, data, err);
        gpu_choice_done(&choice);
    } else {
        (void)error_set(err, ENOMEM, "out of memory");
    }
    root_close(&root);
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
        r = error_set(err, EAGAIN, "the drivers have not told of their GPUs yet");
    pthread_mutex_unlock(&session->mutex);
    return r;
}
