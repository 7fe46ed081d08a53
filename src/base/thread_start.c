/* SPDX-License-Identifier: Apache-2.0 */
#include "base/thread_start.h"

#include <signal.h>

#define STACK_BYTES ((size_t)1 << 20)

/* By default a thread's stack is as large as the limit of the main thread's, however small. */
static void set_stack_size(pthread_attr_t *attributes)
{
    size_t size = 0;

    if (pthread_attr_getstacksize(attributes, &size) == 0 && size < STACK_BYTES)
        (void)pthread_attr_setstacksize(attributes, STACK_BYTES); /* above every minimum */
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
