/* SPDX-License-Identifier: Apache-2.0 */
/* machine.c - what this machine is, and what it lets us measure. */
#include <errno.h>
#include <unistd.h>

#include "base/error.h"
#include "base/root.h"
#include "job/gpu/gpu_view.h"
#include "job/ladder.h"
#include "job/rungs.h"
#include "output/output.h"

int spoor_machine_check(const char *root_path,
                        void (*each)(const struct spoor_rung *rung, void *data), void *data,
                        struct spoor_error *err)
{
    struct root root;
    int r = root_open(root_path, &root);

    if (r < 0)
        return error_sys(err, r, "root folder '%s'", root_path ? root_path : "/");
    ladder_check(&root, each, data);
    root_close(&root);
    return 0;
}

/* Why there is none, or one is missing; NULL: there are some, and none is. */
static const char *why_missing(const struct gpu_inventory *inventory, size_t vendor_count)
{
    if (inventory->refusal_count > 0)
        return inventory->refusals[0].error.message;
    if (inventory->count > 0)
        return NULL;
    if (vendor_count == 0)
        return "switched off (SPOOR_DISABLE)";
    return inventory->absent.code != 0 ? inventory->absent.message : "none";
}

/* Where no GPU can be told of the reason stands for them. */
static int find_gpus(const struct root *root, const char *gpus, struct gpu_inventory *inventory,
                     struct gpu_view *view, struct spoor_error *err)
{
    const struct gpu_vendor *vendors[GPU_VENDORS_MAX];
    struct gpu_choice choice;
    const char *unknown;
    unsigned disabled;
    size_t count;
    int r = rungs_parse(getenv("SPOOR_DISABLE"), &disabled, &unknown);

    if (r < 0)
        return error_set(err, EINVAL, "SPOOR_DISABLE: there is no source '%s'", unknown);
    if (gpu_choice_init(&choice, gpus, environment_own) < 0)
        return error_set(err, ENOMEM, "out of memory");
    count = gpu_vendors_enabled(disabled, vendors);
    r = gpu_inventory_open(inventory, root, vendors, count, &choice);
    gpu_choice_done(&choice);
    if (r < 0 && r != -ENODEV)
        return error_sys(err, r, "look for GPUs");
    view->state = r < 0 ? GPU_NONE : GPU_READY;
    view->reason = why_missing(inventory, count);
    view->units = inventory->units;
    view->count = inventory->count;
    return inventory->unmatched.code == 0
               ? 0
               : error_set(err, inventory->unmatched.code, "%s", inventory->unmatched.message);
}

static int write_machine(const struct root *root, const char *gpus, enum spoor_format format,
                         struct buffer *out, struct spoor_error *err)
{
    struct gpu_inventory inventory = { 0 };
    struct gpu_view view = { 0 };
    struct host_facts host;
    struct cgroups cgroups;
    struct limits limits;
    int r = find_gpus(root, gpus, &inventory, &view, err);

    if (r == 0) {
        host_facts_read(root, &host);
        limits_read(root, getpid(),
                    cgroups_read(root, getpid(), &cgroups) == 0 ? &cgroups : NULL,
                    environment_own, &limits);
        (format == SPOOR_JSON ? machine_write_json : machine_write_text)(&host, &limits, &view,
                                                                         out);
        r = buffer_error(out) < 0 ? error_set(err, ENOMEM, "out of memory") : 0;
    }
    gpu_inventory_close(&inventory);
    return r;
}

int spoor_machine_write(const char *root_path, const char *gpus, enum spoor_format format,
                        int fd, struct spoor_error *err)
{
    CLEANUP(buffer_done) struct buffer text = { 0 };
    struct root root;
    int r;

    if (format != SPOOR_TEXT && format != SPOOR_JSON)
        return error_set(err, EINVAL, "format %d: a machine is told of in text or JSON",
                         (int)format);
    if (gpus && gpu_choice_check(gpus, err) < 0)
        return -EINVAL;
    r = root_open(root_path, &root);
    if (r < 0)
        return error_sys(err, r, "root folder '%s'", root_path ? root_path : "/");
    r = write_machine(&root, gpus, format, &text, err);
    root_close(&root);
    if (r < 0)
        return r;
    r = buffer_write(&text, fd);
    return r < 0 ? error_sys(err, r, "write about the machine") : 0;
}
