/* SPDX-License-Identifier: Apache-2.0 */
/* process_event.h - a process or thread that started or exited. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum process_event_kind { PROCESS_FORKED, PROCESS_EXITED };

struct process_event {
    enum process_event_kind kind;
    pid_t pid;            /* PID of the process, even if the event is about a thread */
    pid_t parent_pid;     /* of a new process: its creator */
    bool is_thread;       /* not the first thread of its process */
    bool has_wait_status; /* `wait_status` is set */
    int wait_status;      /* as wait(2) reports it */
    uint64_t time_ns;     /* time of the monotonic clock */
};

/* Called for each event, in the order in which the events happened. */
typedef void process_event_seen(const struct process_event *event, void *data);
