/* SPDX-License-Identifier: Apache-2.0 */
/*
 * head_count.h - how many processes and threads of a job lived at once. Pure.
 *
 * What a new process is may be known only a little later: an agent (agents.h) is not part of the
 * job. So the latest changes are kept until they are settled, and a process that turns out not to
 * belong can be taken out of the peaks again.
 */
#ifndef JOB_HEAD_COUNT_H
#define JOB_HEAD_COUNT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct heads {
    uint64_t processes;
    uint64_t main_threads;
    uint64_t descendants_threads;
    uint64_t threads; /* of both */
};

struct head_change {
    pid_t pid, parent_pid; /* the parent only of one that started */
    int processes, threads;
    bool is_main;
};

/* Zeroed is empty. */
struct head_count {
    struct heads now, peak;
    struct heads settled_peak; /* that of processes which are known to belong */

    /* Private. */
    struct heads settled_now;    /* before the changes */
    struct head_change *changes; /* owned */
    size_t count, capacity;
};

void head_count_done(struct head_count *count);

void head_count_change(struct head_count *count, struct head_change change);

/* All processes so far are known to belong. */
void head_count_settle(struct head_count *count);

/* Takes out a process that started since then; and, unless ret_parent_pid is NULL, the one that
 * started it if that did too (the go-between of an agent): *ret_parent_pid is its number, or 0.
 * False: it started earlier, and nothing was changed. */
bool head_count_forget(struct head_count *count, pid_t pid, pid_t *ret_parent_pid);

#endif
