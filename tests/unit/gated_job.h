/* SPDX-License-Identifier: Apache-2.0 */
/* gated_job.h - a process that waits at a gate before it begins its work, for tests of
 * trackers. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

struct gated_job {
    pid_t pid;
    int gate_fd;
};

/* Forks a process that will run `work` and exit with its result: 0 is success. */
void gated_job_start(struct gated_job *job, int (*work)(void));

/* Lets the process run `work`. */
void gated_job_begin(struct gated_job *job);

/* Returns whether the process has exited; does not wait. */
bool gated_job_has_ended(const struct gated_job *job);

/* Waits until the process exits. Fails the test if its status is not 0. */
void gated_job_end(struct gated_job *job);

/* For use in `work`: forks a process that runs `work` and waits for it. Returns 0, or 1 on
 * failure. */
int run_child(int (*work)(void));

/* For use in `work`: does nothing. */
int do_nothing(void);
