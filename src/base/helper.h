/* SPDX-License-Identifier: Apache-2.0 */
/*
 * helper.h - makes calls that may hang, such as calls to a GPU driver or a disk that does not
 * respond, in a thread that can be left behind.
 *
 * The helper owns the data of its calls. The caller may use it only while no call is under
 * way.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/* ---- Starts the threads of the library, which must not receive signals ----- */

/* Starts a thread with all signals blocked, so that the program's own threads handle them.
 * Returns 0 or -errno. */
int thread_start_quiet(pthread_t *ret, void *(*run)(void *data), void *data);

/* Condition variables with deadlines on CLOCK_MONOTONIC.
 *
 * pthread_cond_clockwait() would make this unnecessary, but needs glibc 2.30; musl does not
 * have it. */

/* Initializes a condition variable with CLOCK_MONOTONIC. Cannot fail on Linux: no memory is
 * allocated. */
static inline void condition_init(pthread_cond_t *condition)
{
    pthread_condattr_t attributes;

    (void)pthread_condattr_init(&attributes);
    (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    (void)pthread_cond_init(condition, &attributes);
    (void)pthread_condattr_destroy(&attributes);
}

struct helper;

struct helper_work {
    const char *name; /* name of the thread, at most 15 bytes */
    void (*call)(void *data);
    void (*release)(void *data); /* frees the data: when the helper is closed or, if it was left
                                    behind, when its call returns */
};

/* Opens a helper for `data`. On failure the caller keeps the data. */
int helper_open(const struct helper_work *work, void *data, struct helper **ret);

/* Ends the thread, or leaves it behind if a call is under way. Accepts NULL; always returns
 * NULL. */
struct helper *helper_close(struct helper *helper);

/* Starts a call. The previous call must have ended. 0 or -errno. */
int helper_start(struct helper *helper);

/* Waits for the end of the call under way, if any, until `deadline_ns` (monotonic; 0: does not wait).
 * Returns whether no call is under way. */
bool helper_wait(struct helper *helper, uint64_t deadline_ns);
