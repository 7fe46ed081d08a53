/* SPDX-License-Identifier: Apache-2.0 */
/* thread.h - the sampling thread of a session. */
#ifndef SESSION_THREAD_H
#define SESSION_THREAD_H

#include <stdbool.h>

#include "base/clock.h"
#include "spoor/spoor.h"

/* A thread that works on one sample for this long hangs: in a file of /proc, or in a
 * callback. The page tables of a process with 1 TB of memory take 8 s. */
#define THREAD_HANGS_NS (10 * NS_PER_SECOND)
#define FOREVER_NS (365 * 24 * 3600 * NS_PER_SECOND)

/* The first sample must have been taken. */
int thread_start(spoor_session *session);

bool thread_hangs(spoor_session *session);

/* Makes the thread take the last sample and end. False: it has not ended yet. */
bool thread_stop(spoor_session *session, uint64_t timeout_ns);

/* Returns whether the thread has ended. Otherwise it frees the session when it does. */
bool thread_leave(spoor_session *session);

#endif
