/* SPDX-License-Identifier: Apache-2.0 */
/*
 * track.h - run a command under a session, from its first moment to its last.
 *
 * What can be refused is refused before the command runs. From then on nothing of ours
 * may fail it: where there can be no session it runs untracked.
 */
#ifndef RUN_TRACK_H
#define RUN_TRACK_H

#include <stdbool.h>
#include <stdint.h>

#include "run/supervise.h"
#include "spoor/spoor.h"

struct track_options {
    char **command;                   /* ended by NULL; found through PATH */
    struct spoor_options session;     /* pid and command are filled in, and flags added to */
    bool waits_for_all;               /* until the last process of the job has ended */
    void (*say)(const char *message); /* told what goes wrong while the job goes on */
    /* Called while the command waits to run, forked already: what is loaded now is no part of
     * its memory. Refuses by failing. NULL: none. */
    int (*prepare)(void *data, struct spoor_error *err);
    void *prepare_data;
};

struct tracked {
    spoor_session *session; /* stopped; the caller closes it. NULL: the job ran untracked */
    struct supervise_end end;
    uint64_t elapsed_ns; /* from when the command could run to its end */
};

enum track_outcome {
    TRACK_RAN,
    TRACK_REFUSED, /* before anything ran; the message says why */
    TRACK_NO_EXEC, /* the command could not be run; the error's code is why */
};

/* Runs a command to its end. *ret is set where it ran. */
enum track_outcome track(struct track_options *options, struct tracked *ret,
                         struct spoor_error *err);

#endif
