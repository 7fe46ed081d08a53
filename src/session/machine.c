/* SPDX-License-Identifier: Apache-2.0 */
/* machine.c - describes this machine. */
#include <errno.h>
#include <unistd.h>

#include "base/error.h"
#include "base/root.h"
#include "output/format.h"
#include "record/fill.h"
#include "session/session.h"

/* Lists the GPUs. If none can be listed, or one is missing, view->reason is the reason. Fails
 * if `gpus` matches none of the GPUs. */
static int find_gpus(const struct root *root, const char *gpus, struct gpu_inventory *inventory,
                     struct spoor_error *why, struct gpu_view *view, struct spoor_error *err)
{
    int r = session_find_gpus(root, gpus, inventory, why);

    if (r == -EINVAL)
        return error_set(err, EINVAL, "%s", why->message);
    *view = (struct gpu_view){
        .state = r == -ETIMEDOUT         ? GPU_PENDING
                 : inventory->count == 0 ? GPU_NONE
                                         : GPU_READY,
        .reason = r < 0                          ? why->message
                  : inventory->refusal_count > 0 ? inventory->refusals[0].error.message
                                                 : NULL,
        .units = inventory->units,
        .count = inventory->count,
    };
    return session_refuse_choice(&inventory->unmatched, inventory->units, inventory->count,
                                 err);
}

/* Fills a record of this machine. On success the caller must call record_done(). */
static int describe(const struct root *root, const struct gpu_view *view,
                    const struct spoor_cloud *cloud, struct record *ret)
{
    CLEANUP(server_facts_done) struct server_facts server = { 0 };
    struct host_facts host;
    struct cgroups cgroups;
    struct limits limits;
    int r = server_facts_read(root, environment_own, &server);

    if (r < 0)
        return r;
    host_facts_read(root, &host);
    limits_read(root, getpid(), &host,
                cgroups_read(root, getpid(), &cgroups) == 0 ? &cgroups : NULL, environment_own,
                &limits);
    return record_fill_machine(&host, &limits, view, &server, cloud, ret);
}

static int write_machine(const struct root *root, const char *gpus,
                         const struct spoor_cloud *cloud, enum spoor_format format,
                         const struct format_style *style, struct buffer *out,
                         struct spoor_error *err)
{
    CLEANUP(gpu_inventory_close) struct gpu_inventory inventory = { 0 };
    struct gpu_view view = { 0 };
    struct spoor_error why = { 0 };
    struct record record;
    int r = find_gpus(root, gpus, &inventory, &why, &view, err);

    if (r < 0)
        return r;
    r = describe(root, &view, cloud, &record);
    if (r == 0) {
        if (format == SPOOR_JSON)
            machine_write_json(&record, out);
        else
            machine_write_text(&record, style, out);
        record_done(&record);
    }
    return r < 0 || buffer_error(out) < 0 ? error_set(err, ENOMEM, "out of memory") : 0;
}

int spoor_machine_write(const char *root_path, const char *gpus,
                        const struct spoor_cloud *cloud, enum spoor_format format,
                        unsigned flags, int fd, struct spoor_error *err)
{
    struct format_style style = format_style_for(fd, flags & SPOOR_COLOR);
    CLEANUP(buffer_done) struct buffer text = { 0 };
    CLEANUP(root_close) struct root root = ROOT_CLOSED;
    int r;

    if (format != SPOOR_TEXT && format != SPOOR_JSON)
        return error_set(err, EINVAL,
                         "format %d: the machine can be described as text or JSON only",
                         (int)format);
    if (cloud && cloud->size != sizeof(*cloud))
        return error_set(err, EINVAL, "struct spoor_cloud of %zu bytes: expected %zu",
                         cloud->size, sizeof(*cloud));
    if (gpus && gpu_choice_check(gpus, err) < 0)
        return -EINVAL;
    r = session_open_root(root_path, &root, err);
    if (r < 0)
        return r;
    r = write_machine(&root, gpus, cloud, format, &style, &text, err);
    if (r < 0)
        return r;
    r = buffer_write(&text, fd);
    return r < 0 ? error_sys(err, r, "cannot write the description of the machine") : 0;
}
