/* SPDX-License-Identifier: Apache-2.0 */
/* thread.h - the thread of a session, which takes its samples. */
#ifndef SESSION_THREAD_H
#define SESSION_THREAD_H

#include "spoor/spoor.h"

/* Starts it. The first sample has been taken. */
int thread_start(spoor_session *session);

/* Ends it and waits for that. */
void thread_stop(spoor_session *session);

#endif
