/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch.h - wait for the end of a process that is not our child.
 *
 * Open it before anything else looks at the pid: from then on a process that
 * reuses the pid is not taken for the watched one.
 */
#ifndef RUN_WATCH_H
#define RUN_WATCH_H

#include <stdint.h>
#include <sys/types.h>

#include "base/root.h"
#include "spoor/spoor.h"

struct watch {
    pid_t pid;
    int pid_fd;           /* -1: this kernel has none, /proc is asked instead */
    int signal_fd;        /* SIGINT, SIGTERM, SIGHUP: blocked while the watch is open */
    int input_fd;         /* -1, or a descriptor to wait for too; the caller's */
    uint64_t start_ticks; /* where pid_fd is -1 */
    struct root root;
};

enum watch_end {
    WATCH_PROCESS_ENDED,
    WATCH_TIME_IS_UP,
    WATCH_INTERRUPTED, /* by one of the signals */
    WATCH_INPUT,       /* there is something to read, or the end of it */
};

/* -ESRCH: there is no such process. Also blocks SIGPIPE, for good. */
int watch_open(pid_t pid, struct watch *ret, struct spoor_error *err);
void watch_close(struct watch *watch);

/* The signals end nothing any more: they stay blocked, and nobody asks for them. */
void watch_ignore_signals(struct watch *watch);

/* Remembers which process it is where there is no pid_fd; part of watch_open().
 * -ESRCH: it is gone. */
int watch_identify(struct watch *watch);

/* Waits; `duration_ns` 0 is without end. */
int watch_wait(struct watch *watch, uint64_t duration_ns, enum watch_end *ret,
               struct spoor_error *err);

/* How the process ended, as wait(2) would report it. Waits a moment for its parent
 * to reap it, before which the kernel does not tell. -ENODATA: not to be known,
 * as before Linux 6.15. */
int watch_wait_status(const struct watch *watch, int *ret_wait_status);

#endif
