/* SPDX-License-Identifier: Apache-2.0 */
#include "job/gpu/gpu_inquiry.h"

#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/helper.h"

/* A driver that takes longer does not answer. One that does takes 30 ms, or a second where it
 * has to wake its GPUs up. */
#define ANSWER_MOST_NS (2 * NS_PER_SECOND)

const char gpu_inquiry_silence[] = "the GPU driver did not respond within 2 s";

struct inquiry {
    struct root root;
    struct gpu_choice choice;
    const struct gpu_vendor *vendors[GPU_VENDORS_MAX];
    size_t vendor_count;
    int result;
    struct gpu_inventory found;
};

/* The units say all without their drivers. */
static void close_drivers(struct gpu_inventory *inventory)
{
    struct gpu_unit *units = inventory->units;
    size_t count = inventory->count;

    inventory->units = NULL;
    gpu_inventory_close(inventory);
    inventory->units = units;
    inventory->count = count;
}

static void ask(void *data)
{
    struct inquiry *inquiry = data;

    inquiry->result = gpu_inventory_open(&inquiry->found, &inquiry->root, inquiry->vendors,
                                         inquiry->vendor_count, &inquiry->choice);
    close_drivers(&inquiry->found);
}

static void release(void *data)
{
    struct inquiry *inquiry = data;

    gpu_inventory_close(&inquiry->found);
    gpu_choice_done(&inquiry->choice);
    root_close(&inquiry->root);
    free(inquiry);
}

static const struct helper_work work = { "spoor-gpu-list", ask, release };

static int prepare(struct inquiry *inquiry, const struct root *root,
                   const struct gpu_vendor *const *vendors, size_t vendor_count,
                   const char *gpus)
{
    int r = root_copy(root, &inquiry->root);

    if (r < 0)
        return r;
    inquiry->vendor_count = vendor_count < GPU_VENDORS_MAX ? vendor_count : GPU_VENDORS_MAX;
    for (size_t i = 0; i < inquiry->vendor_count; i++)
        inquiry->vendors[i] = vendors[i];
    return gpu_choice_init(&inquiry->choice, gpus, environment_own);
}

int gpu_inquire(const struct root *root, const struct gpu_vendor *const *vendors,
                size_t vendor_count, const char *gpus, struct gpu_inventory *ret)
{
    struct inquiry *inquiry = calloc(1, sizeof(*inquiry));
    struct helper *helper = NULL;
    int r;

    *ret = (struct gpu_inventory){ 0 };
    if (!inquiry)
        return -ENOMEM;
    inquiry->root = (struct root)ROOT_CLOSED;
    r = prepare(inquiry, root, vendors, vendor_count, gpus);
    if (r == 0)
        r = helper_open(&work, inquiry, &helper);
    if (!helper) {
        release(inquiry);
        return r;
    }
    r = helper_start(helper);
    if (r == 0 && !helper_wait(helper, clock_now().monotonic_ns + ANSWER_MOST_NS))
        r = -ETIMEDOUT;
    else if (r == 0) {
        r = inquiry->result;
        *ret = inquiry->found;
        inquiry->found = (struct gpu_inventory){ 0 };
    }
    helper_close(helper);
    return r;
}
