/* SPDX-License-Identifier: Apache-2.0 */
/* thread_start.h - threads of a library, which has no signals of its own. */
#ifndef BASE_THREAD_START_H
#define BASE_THREAD_START_H

#include <pthread.h>

/* Starts a thread with all signals blocked: they are the business of the program's own threads.
 * Returns 0 or -errno. */
int thread_start_quiet(pthread_t *ret, void *(*run)(void *data), void *data);

#endif
