/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attachment.h - tracking a process or cgroup that is already running, or the host alone: the path of
 * `spoor attach`, `spoor system` and of agents.
 */
#ifndef FRONT_ATTACHMENT_H
#define FRONT_ATTACHMENT_H

#include "front/program.h"
#include "run/watch.h"
#include "spoor/spoor.h"

struct attachment {
    struct watch watch;
    spoor_session *session;
};

/* Starts tracking options->pid (0: the host), or the cgroup of the options: the first sample is taken
 * when it returns. */
int attachment_open(const struct spoor_options *options, struct attachment *ret,
                    struct spoor_error *err);

/* Takes the last sample. If the process has ended, its exit status is read. */
int attachment_stop(struct attachment *attachment, enum watch_end end, struct spoor_error *err);

/* All of it: opens, waits as watch_wait(), also for the two descriptors (-1: none), and stops. Reports
 * what fails. Returns 0, or the program's failure code if there was nothing to track. */
int attachment_follow(const struct program *program, const struct spoor_options *options,
                      uint64_t duration_ns, int input_fd, int output_fd,
                      struct attachment *ret);

/* Accepts a zeroed one. */
void attachment_close(struct attachment *attachment);

#endif
