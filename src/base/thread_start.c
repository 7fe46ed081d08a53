/* SPDX-License-Identifier: Apache-2.0 */
#include "base/thread_start.h"

#include <signal.h>

int thread_start_quiet(pthread_t *ret, void *(*run)(void *data), void *data)
{
    sigset_t all, before;
    int r;

    (void)sigfillset(&all);
    r = pthread_sigmask(SIG_SETMASK, &all, &before);
    if (r != 0)
        return -r;
    r = pthread_create(ret, NULL, run, data);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return -r;
}
