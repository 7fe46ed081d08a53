/* SPDX-License-Identifier: Apache-2.0 */
#include "base/helper.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>

#include "base/clock.h"

/* ---- thread start ---------------------------------------------------------- */

#define STACK_BYTES ((size_t)1 << 20)

/* Enlarges the stack if needed: by default it has the size of RLIMIT_STACK, which may be very
 * small. */
static void set_stack_size(pthread_attr_t *attributes)
{
    size_t size = 0;

    if (pthread_attr_getstacksize(attributes, &size) == 0 && size < STACK_BYTES)
        (void)pthread_attr_setstacksize(attributes, STACK_BYTES); /* cannot fail */
}

int thread_start_quiet(pthread_t *ret, void *(*run)(void *data), void *data)
{
    pthread_attr_t attributes;
    sigset_t all, before;
    int r = pthread_attr_init(&attributes);

    if (r != 0)
        return -r;
    set_stack_size(&attributes);
    (void)sigfillset(&all);
    r = pthread_sigmask(SIG_SETMASK, &all, &before);
    if (r == 0) {
        r = pthread_create(ret, &attributes, run, data);
        (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    }
    (void)pthread_attr_destroy(&attributes);
    return -r;
}

/* ---- helper ---------------------------------------------------------------- */

struct helper {
    const struct helper_work *work;
    void *data;
    pthread_t thread;
    bool has_thread; /* the thread was started */

    pthread_mutex_t mutex; /* never held during a call */
    pthread_cond_t changed;
    bool is_calling;
    bool is_closed;
    bool is_left; /* closed during a call: the thread frees everything when the call returns */
};

static void free_all(struct helper *helper)
{
    helper->work->release(helper->data);
    (void)pthread_mutex_destroy(&helper->mutex);
    (void)pthread_cond_destroy(&helper->changed);
    free(helper);
}

/* The thread: makes each requested call, and waits in between. */
static void *make_calls(void *data)
{
    struct helper *helper = data;
    bool is_left;

    /* The name is optional: ignore failures. */
    (void)pthread_setname_np(pthread_self(), helper->work->name);
    pthread_mutex_lock(&helper->mutex);
    while (helper->is_calling || !helper->is_closed) {
        if (!helper->is_calling) {
            (void)pthread_cond_wait(&helper->changed, &helper->mutex);
            continue;
        }
        pthread_mutex_unlock(&helper->mutex);
        helper->work->call(helper->data);
        pthread_mutex_lock(&helper->mutex);
        helper->is_calling = false;
        (void)pthread_cond_signal(&helper->changed);
    }
    is_left = helper->is_left;
    pthread_mutex_unlock(&helper->mutex);
    if (is_left)
        free_all(helper);
    return NULL;
}

int helper_open(const struct helper_work *work, void *data, struct helper **ret)
{
    struct helper *helper = calloc(1, sizeof(*helper));

    if (!helper)
        return -ENOMEM;
    helper->work = work;
    helper->data = data;
    (void)pthread_mutex_init(&helper->mutex, NULL); /* cannot fail with defaults */
    condition_init(&helper->changed);
    *ret = helper;
    return 0;
}

int helper_start(struct helper *helper)
{
    int r = 0;

    pthread_mutex_lock(&helper->mutex);
    helper->is_calling = true;
    if (helper->has_thread)
        (void)pthread_cond_signal(&helper->changed);
    else
        r = thread_start_quiet(&helper->thread, make_calls, helper);
    helper->has_thread = r == 0;
    helper->is_calling = r == 0;
    pthread_mutex_unlock(&helper->mutex);
    return r;
}

bool helper_wait(struct helper *helper, uint64_t deadline_ns)
{
    struct timespec until = clock_timespec(deadline_ns);
    bool is_calling;
    int r = 0;

    pthread_mutex_lock(&helper->mutex);
    while (helper->is_calling && r != ETIMEDOUT)
        r = pthread_cond_timedwait(&helper->changed, &helper->mutex, &until);
    is_calling = helper->is_calling;
    pthread_mutex_unlock(&helper->mutex);
    return !is_calling;
}

struct helper *helper_close(struct helper *helper)
{
    pthread_t thread;
    bool is_left;

    if (!helper)
        return NULL;
    thread = helper->thread;
    pthread_mutex_lock(&helper->mutex);
    helper->is_closed = true;
    is_left = helper->is_left = helper->is_calling;
    (void)pthread_cond_signal(&helper->changed);
    pthread_mutex_unlock(&helper->mutex);
    if (is_left) {
        (void)pthread_detach(thread); /* the thread frees everything when its call returns */
        return NULL;
    }
    if (helper->has_thread)
        (void)pthread_join(thread, NULL);
    free_all(helper);
    return NULL;
}
