/* SPDX-License-Identifier: Apache-2.0 */
/*
 * condition.h - condition variables whose deadlines are on CLOCK_MONOTONIC.
 *
 * pthread_cond_clockwait() would do without this, but needs glibc 2.30; musl does not have it.
 */
#ifndef BASE_CONDITION_H
#define BASE_CONDITION_H

#include <pthread.h>
#include <time.h>

/* Cannot fail on Linux: no memory is allocated. */
static inline void condition_init(pthread_cond_t *condition)
{
    pthread_condattr_t attributes;

    (void)pthread_condattr_init(&attributes);
    (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    (void)pthread_cond_init(condition, &attributes);
    (void)pthread_condattr_destroy(&attributes);
}

#endif
