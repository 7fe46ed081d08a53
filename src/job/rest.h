/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rest.h - which processes to read, given the CPU time of the whole job. Pure.
 *
 * The job cgroup, or perf, has the CPU time of the job in one number. While that does not change,
 * no process of the job has run, so none has forked, waited, exited, written or grown: what was
 * read before is still valid. There are two exceptions: the kernel may reclaim memory, and the
 * number may miss a process (perf does not follow a set-uid program, and a process may be moved
 * to another cgroup). So all processes are read every ten seconds; and if a process turns out to
 * have run unnoticed, the number is not trusted again.
 */
#ifndef JOB_REST_H
#define JOB_REST_H

#include <stdbool.h>
#include <stdint.h>

/* Zeroed: nothing was read yet. */
struct rest {
    bool has_looked;
    bool is_doubtful;    /* the number was seen to miss a process */
    uint64_t cpu_ns;     /* of the job at the last look; UNKNOWN: there is no such number */
    uint64_t read_at_ns; /* when all processes were last read in full */
};

enum rest_look {
    LOOK_AT_NOBODY,
    LOOK_AT_MOVERS, /* those whose own CPU clock has advanced */
    LOOK_AT_ALL,
};

/* `cpu_ns` is the current CPU time of the job, or UNKNOWN. */
enum rest_look rest_look_at(const struct rest *rest, uint64_t cpu_ns, uint64_t now_ns);

/* The result of a look. */
struct rest_seen {
    uint64_t moved_ns; /* how far the processes' own clocks have advanced since the last look */
    bool is_whole;     /* every process was read in full */
};

/* Records a look; `cpu_ns` was read before it. */
void rest_looked(struct rest *rest, enum rest_look look, uint64_t cpu_ns, uint64_t now_ns,
                 struct rest_seen seen);

/* Something changed that does not show in the CPU time: the next look is at all processes. */
void rest_forget(struct rest *rest);

#endif
