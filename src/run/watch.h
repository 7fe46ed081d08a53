/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch.h - waits until a process that is not our child exits, until all processes of a cgroup
 * have exited, or for a signal.
 *
 * Open the watch before anything else uses the PID: from then on, a new process with the same
 * PID is not mistaken for the watched one.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/root.h"
#include "cgroup/cgroup.h"
#include "spoor/spoor.h"

struct watch {
    pid_t pid;            /* 0: no process */
    int pid_fd;           /* -1: not supported by the kernel, /proc is polled instead */
    int signal_fd;        /* SIGINT, SIGTERM, SIGHUP: blocked while the watch is open */
    int input_fd;         /* another descriptor to wait for, owned by the caller; or -1 */
    int output_fd;        /* a pipe whose reader may close it, owned by the caller; or -1 */
    uint64_t start_ticks; /* used if pid_fd is -1 */
    struct cgroup cgroup; /* used if pid is 0 */
    bool is_inside;       /* we are in that cgroup */
    struct cached_file events; /* cgroup.events of version 2, which can be polled for changes */
    struct root root;
};

#define WATCH_CLOSED                                                    \
    {                                                                   \
        .pid_fd = -1, .signal_fd = -1, .input_fd = -1, .output_fd = -1, \
        .events = CACHED_FILE_CLOSED, .root = ROOT_CLOSED               \
    }

enum watch_end {
    WATCH_PROCESS_ENDED,
    WATCH_TIME_IS_UP,
    WATCH_INTERRUPTED, /* received one of the signals */
    WATCH_INPUT,       /* input_fd is readable, or at end of file */
    WATCH_READER_LEFT, /* the reader closed output_fd */
};

/* Opens a watch of a process or, if `cgroup` is not NULL, of a cgroup: until no process is left
 * in it or below it, except us and agents (spoor.h). `pid` 0 and no cgroup: only signals end the
 * wait. Errors of a cgroup are as for spoor_session_open(); -ESRCH: no such process. Also blocks
 * SIGPIPE permanently. */
int watch_open(pid_t pid, const char *cgroup, struct watch *ret, struct spoor_error *err);
void watch_close(struct watch *watch);

/* Makes the signals no longer end the wait: they stay blocked and are ignored. */
void watch_ignore_signals(struct watch *watch);

/* Records the identity of the process if there is no pid_fd; part of watch_open(). -ESRCH: the
 * process has exited. */
int watch_identify(struct watch *watch);

/* Waits until something happens, for at most `duration_ns`; 0: no limit. */
int watch_wait(struct watch *watch, uint64_t duration_ns, enum watch_end *ret,
               struct spoor_error *err);

/* Returns how the process ended, as wait(2) would report it. Waits a moment for its parent to
 * reap it, because the kernel does not report the status before that. -ENODATA: unknown, as
 * before Linux 6.15. */
int watch_wait_status(const struct watch *watch, int *ret_wait_status);
