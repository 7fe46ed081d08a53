/* SPDX-License-Identifier: Apache-2.0 */
/* thread_start.h - starts the threads of the library, which must not receive signals. */
#ifndef BASE_THREAD_START_H
#define BASE_THREAD_START_H

#include <pthread.h>

/* Starts a thread with all signals blocked, so that the program's own threads handle them.
 * Returns 0 or -errno. */
int thread_start_quiet(pthread_t *ret, void *(*run)(void *data), void *data);

#endif
