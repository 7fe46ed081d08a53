/* SPDX-License-Identifier: Apache-2.0 */
/*
 * row_requests.h - rows of the tracking file on request: how a code block gets figures even if
 * it is shorter than the interval.
 *
 * A process of the job connects to the abstract Unix socket "gpu-tracker/PID", PID being the
 * main process of the job, and sends one line: 0, if a block is about to start, or the time
 * at which the block that now stops did, in seconds since 1970. A sample is taken. It makes a row,
 * unless there is one already that is later than the time sent and no older than a millisecond.
 * The answer is the time of the latest row. Only processes of the same user, and root, get one.
 */
#ifndef FRONT_GPU_TRACKER_ROW_REQUESTS_H
#define FRONT_GPU_TRACKER_ROW_REQUESTS_H

#include <pthread.h>
#include <stdbool.h>
#include <sys/types.h>

/* Called in a thread of its own: returns the time of the row; NaN: there is none. */
typedef double row_requests_take(void *data, double wanted_after);

/* Zeroed is stopped. */
struct row_requests {
    bool is_running;
    int fd;
    pthread_t thread;
    row_requests_take *take;
    void *data;
};

/* 0 or -errno; -EADDRINUSE: another tracker answers for this process. */
int row_requests_start(struct row_requests *requests, pid_t pid, row_requests_take *take,
                       void *data);

/* Waits for the call of take() that may be under way. */
void row_requests_stop(struct row_requests *requests);

#endif
