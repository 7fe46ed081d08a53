/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attachment.h - tracking a process that is not ours, from the first look to the report:
 * the one path of `spoor attach` and of agents.
 */
#ifndef FRONT_COMMON_ATTACHMENT_H
#define FRONT_COMMON_ATTACHMENT_H

#include "front/common/outputs.h"
#include "run/watch.h"
#include "spoor/spoor.h"

struct attachment {
    struct watch watch;
    spoor_session *session;
};

/* Starts tracking options->pid: the first sample is taken when it returns. */
int attachment_open(const struct spoor_options *options, struct attachment *ret,
                    struct spoor_error *err);

/* Takes the last sample. `end` says why: of a process that has ended, the status is asked. */
void attachment_stop(struct attachment *attachment, enum watch_end end);

/* Accepts a zeroed one. */
void attachment_close(struct attachment *attachment);

#endif
