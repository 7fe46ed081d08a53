/* SPDX-License-Identifier: Apache-2.0 */
#include "job/gpu/gpu_inquiry.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/thread_start.h"

/* A driver that takes longer does not answer. One that does takes 30 ms, or a second where it
 * has to wake its GPUs up. */
#define ANSWER_MOST_NS (2 * NS_PER_SECOND)

const char gpu_inquiry_silence[] = "the GPU driver did not respond within 2 s";

struct inquiry {
    /* fixed when the thread starts */
    struct root root;
    struct gpu_choice choice;
    const struct gpu_vendor *vendors[GPU_VENDORS_MAX];
    size_t vendor_count;

    pthread_mutex_t mutex; /* never held while a driver is asked */
    pthread_cond_t changed;
    bool has_ended;
    bool is_abandoned; /* the thread frees all */
    int result;        /* once it has ended: */
    struct gpu_inventory found;
};

/* ---- the thread --------------------------------------------------------- */

static void free_all(struct inquiry *inquiry)
{
    (void)pthread_mutex_destroy(&inquiry->mutex);
    (void)pthread_cond_destroy(&inquiry->changed);
    gpu_choice_done(&inquiry->choice);
    root_close(&inquiry->root);
    free(inquiry);
}

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

static void *ask(void *data)
{
    struct inquiry *inquiry = data;
    struct gpu_inventory found;
    bool is_abandoned;
    int r;

    (void)pthread_setname_np(pthread_self(), "spoor-gpu-list"); /* a name more or less */
    r = gpu_inventory_open(&found, &inquiry->root, inquiry->vendors, inquiry->vendor_count,
                           &inquiry->choice);
    close_drivers(&found);
    pthread_mutex_lock(&inquiry->mutex);
    inquiry->result = r;
    inquiry->found = found;
    inquiry->has_ended = true;
    is_abandoned = inquiry->is_abandoned;
    (void)pthread_cond_signal(&inquiry->changed);
    pthread_mutex_unlock(&inquiry->mutex);
    if (is_abandoned) {
        gpu_inventory_close(&found);
        free_all(inquiry);
    }
    return NULL;
}

/* ---- who asks ----------------------------------------------------------- */

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

/* Returns whether it has ended; else it is left behind. */
static bool wait_for_end(struct inquiry *inquiry)
{
    struct timespec until = clock_timespec(clock_now().monotonic_ns + ANSWER_MOST_NS);
    bool has_ended;
    int r = 0;

    pthread_mutex_lock(&inquiry->mutex);
    while (!inquiry->has_ended && r != ETIMEDOUT)
        r = pthread_cond_clockwait(&inquiry->changed, &inquiry->mutex, CLOCK_MONOTONIC, &until);
    has_ended = inquiry->has_ended;
    inquiry->is_abandoned = !has_ended;
    pthread_mutex_unlock(&inquiry->mutex);
    return has_ended;
}

int gpu_inquire(const struct root *root, const struct gpu_vendor *const *vendors,
                size_t vendor_count, const char *gpus, struct gpu_inventory *ret)
{
    struct inquiry *inquiry = calloc(1, sizeof(*inquiry));
    pthread_t thread;
    int r;

    *ret = (struct gpu_inventory){ 0 };
    if (!inquiry)
        return -ENOMEM;
    inquiry->root = (struct root)ROOT_CLOSED;
    (void)pthread_mutex_init(&inquiry->mutex, NULL);  /* cannot fail with defaults */
    (void)pthread_cond_init(&inquiry->changed, NULL); /* likewise */
    r = prepare(inquiry, root, vendors, vendor_count, gpus);
    if (r == 0)
        r = thread_start_quiet(&thread, ask, inquiry);
    if (r != 0) {
        free_all(inquiry);
        return r;
    }
    if (!wait_for_end(inquiry)) {
        (void)pthread_detach(thread);
        return -ETIMEDOUT;
    }
    (void)pthread_join(thread, NULL);
    r = inquiry->result;
    *ret = inquiry->found;
    free_all(inquiry);
    return r;
}
