/* SPDX-License-Identifier: Apache-2.0 */
/* thread.h - the thread of a session, which takes its samples. */
#ifndef SESSION_THREAD_H
#define SESSION_THREAD_H

#include <stdbool.h>

#include "base/clock.h"
#include "spoor/spoor.h"

/* A thread that is at work on one sample for so long hangs: in a file of /proc, or in a callback.
 * The page tables of a process with 1 TB of memory take 8 s. */
#define THREAD_HANGS_NS (10 * NS_PER_SECOND)
#define FOREVER_NS (365 * 24 * 3600 * NS_PER_SECOND)

/* Starts it. The first sample has been taken. */
int thread_start(spoor_session *session);

bool thread_hangs(spoor_session *session);

/* Tells it to take the last sample and end, and waits for that. False: it has not, yet. */
bool thread_stop(spoor_session *session, uint64_t timeout_ns);

/* Returns whether it has ended. Otherwise it frees the session when it does. */
bool thread_leave(spoor_session *session);

#endif
